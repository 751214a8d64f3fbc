import { z } from "zod";
import type { Turn } from "../wire/turn.ts";
import { type Fields, parseLine } from "./json-fields.ts";
import { cut } from "./turn-parts.ts";

const textSchema = z.string().nullable();

/** The form in which a transcript holds messages, oldest first: versions of one agent differ. */
export const messageFormSchema = z.enum(["responses", "events", "items"]);

/** @see messageFormSchema */
export type MessageForm = z.infer<typeof messageFormSchema>;

/** Where a turn begins. Its lines go on to the next mark; of a user turn only the first line counts. */
export const markSchema = z.object({
  role: z.enum(["user", "assistant"]),
  /** Offset of its first line. */
  start: z.int(),
  /** Bytes of its first line, without the newline. */
  firstLineBytes: z.int(),
  /** What was known when an assistant turn began and its own lines do not say. */
  before: z
    .object({
      agentSessionId: textSchema,
      model: textSchema,
      /** The newest form of messages that the file had so far. */
      form: messageFormSchema,
      /** The session's token total: a repeated count is known by it. */
      totalTokens: z.number().nullable(),
    })
    .exactOptional(),
  /** The user stopped the turn. */
  interrupted: z.literal(true).exactOptional(),
});

/** @see markSchema */
export type TurnMark = Readonly<z.infer<typeof markSchema>>;

/** How the last turn of a transcript stands, as far as its lines say. */
const turnStateSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.enum(["none", "open", "ended", "aborted"]) }),
  z.object({
    kind: z.literal("failed"),
    message: z.string(),
    /** What has to happen before another turn can succeed. */
    needs: z.enum(["login", "limit_reset"]).exactOptional(),
    /** When the limit that was reached ends, where the agent says so. */
    resetsAt: z.string().exactOptional(),
  }),
]);

/** @see turnStateSchema */
export type TurnState = Readonly<z.infer<typeof turnStateSchema>>;

/** What has to happen before another turn can succeed: a log-in, or the end of a limit. */
export type FailureNeeds = "login" | "limit_reset";

/** A turn that failed, with what the agent says of the reason. */
export function failedTurn(
  message: string,
  { needs, resetsAt }: { readonly needs?: FailureNeeds | undefined; readonly resetsAt?: string | null } = {},
): TurnState {
  return {
    kind: "failed",
    message,
    ...(needs === undefined ? {} : { needs }),
    ...(needs === "limit_reset" && typeof resetsAt === "string" ? { resetsAt } : {}),
  };
}

/** What the lines say besides the turns. */
const factsSchema = z.object({
  agentSessionId: textSchema,
  cwd: textSchema,
  branch: textSchema,
  model: textSchema,
  /** The title that the agent gave. */
  ownTitle: textSchema,
  /** Its beginning. */
  firstPrompt: textSchema,
  createdAt: textSchema,
  updatedAt: textSchema,
  lastTurn: turnStateSchema,
  /** Lines so far that may say something of a turn. */
  turnLines: z.int(),
});

/** @see factsSchema */
export type TranscriptFacts = z.infer<typeof factsSchema>;

/** What every format's indexer knows between two lines: the newest turns, how many there were before them, and the facts. */
export const savedIndexerSchema = z.looseObject({
  format: z.string(),
  turnsBefore: z.int(),
  marks: z.array(markSchema),
  facts: factsSchema,
});

/** The state of an indexer, saved so that another one can continue; about a kilobyte as JSON. Each format extends it. */
export type SavedIndexer = z.infer<typeof savedIndexerSchema>;

/**
 * Finds the turns of a transcript, line by line in file order. It parses only lines that may begin a turn, and the last line that says
 * something before each `pause`; of all others a few bytes are enough.
 */
export interface TurnIndexer {
  readonly marks: readonly TurnMark[];
  /** Turns in front of the first mark: 0, except for an indexer that continues where another one stood. */
  readonly turnsBefore: number;
  readonly facts: Readonly<TranscriptFacts>;
  /** @returns false when the line is no line of this format: to be counted as skipped. */
  line(bytes: Buffer, offset: number): boolean;
  /** The bytes of the lines so far go away: parse what had been put off. */
  pause(): void;
  /** What is needed to continue from here, right after a `pause`; null when that is too much to save. */
  save(): SavedIndexer | null;
}

/** Marks and facts of a transcript, as an indexer collects them. */
export interface TurnLog {
  readonly marks: TurnMark[];
  readonly turnsBefore: number;
  readonly facts: TranscriptFacts;
  /** The role of the newest turn. */
  lastRole(): Turn["role"] | undefined;
  /** Notes a prompt as the newest turn, and as open. `promptCharacters` of the first one are kept: a title is made of it. */
  prompt(mark: Omit<TurnMark, "role">, text: string): void;
  answer(mark: Omit<TurnMark, "role">): void;
  /** Notes that the user stopped the newest turn. A prompt that was stopped before any answer stays as it was: it may have been read. */
  interrupt(): void;
  /** The time of a line that counts. */
  seen(time: string | null): void;
  /** What every format saves: the facts, and these last marks. */
  saved<Format extends string>(format: Format, kept?: readonly TurnMark[]): SavedIndexer & { readonly format: Format };
}

/** Enough of the first prompt to make a title of it. */
const defaultPromptCharacters = 1_000;

/** An empty log, or one that continues from what another one saved. */
export function createTurnLog(from: SavedIndexer | null, { promptCharacters = defaultPromptCharacters } = {}): TurnLog {
  const marks: TurnMark[] = [...(from?.marks ?? [])];
  const turnsBefore = from?.turnsBefore ?? 0;
  const facts: TranscriptFacts = { ...(from?.facts ?? noFacts) };
  return {
    marks,
    turnsBefore,
    facts,
    lastRole: () => marks.at(-1)?.role,
    prompt(mark, text) {
      marks.push({ role: "user", ...mark });
      facts.firstPrompt ??= cut(text, promptCharacters);
      facts.lastTurn = { kind: "open" };
    },
    answer: (mark) => void marks.push({ role: "assistant", ...mark }),
    interrupt() {
      const last = marks.at(-1);
      if (last?.role !== "assistant" || last.interrupted === true) return;
      marks[marks.length - 1] = { ...last, interrupted: true };
    },
    seen(time) {
      facts.createdAt ??= time;
      facts.updatedAt = time ?? facts.updatedAt;
    },
    saved(format, kept = marks.slice(-1)) {
      const before = turnsBefore + marks.length - kept.length;
      return { format, turnsBefore: before, marks: [...kept], facts: { ...facts } };
    },
  };
}

const noFacts: TranscriptFacts = {
  agentSessionId: null,
  cwd: null,
  branch: null,
  model: null,
  ownTitle: null,
  firstPrompt: null,
  createdAt: null,
  updatedAt: null,
  lastTurn: { kind: "none" },
  turnLines: 0,
};

/** Parses a line for `read`. @returns false when it cannot be parsed: to be counted as skipped */
export function readLine(bytes: Buffer, read: (line: Fields) => void): boolean {
  const line = parseLine(bytes);
  if (line !== null) read(line);
  return line !== null;
}

/**
 * Shows parsed lines, the newest first, until `read` returns true. For lines that were put off: only the last ones say something new.
 */
export function readNewestFirst(lines: readonly Buffer[], read: (line: Fields) => boolean): void {
  for (const bytes of lines.toReversed()) {
    const line = parseLine(bytes);
    if (line !== null && read(line)) return;
  }
}
