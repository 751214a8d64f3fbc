import { z } from "zod";
import { splitAttached } from "./attached-files.ts";
import { type Fields, parseLine } from "./json-fields.ts";
import { cut } from "./turn-parts.ts";

const textSchema = z.string().nullable();

/** The form of messages in a transcript, oldest first; it differs between an agent's versions. */
export const messageFormSchema = z.enum(["responses", "events", "items"]);

export type MessageForm = z.infer<typeof messageFormSchema>;

/** The start of a turn. Its lines extend to the next mark; a user turn has only the first line. */
export const markSchema = z.object({
  role: z.enum(["user", "assistant"]),
  /** Offset of its first line. */
  start: z.int(),
  /** Bytes of its first line, without the newline. */
  firstLineBytes: z.int(),
  /** The state at the start of an assistant turn that its own lines do not contain. */
  before: z
    .object({
      agentSessionId: textSchema,
      model: textSchema,
      /** The newest form of messages so far. */
      form: messageFormSchema,
      /** The session's token total, to detect a repeated count. */
      totalTokens: z.number().nullable(),
    })
    .exactOptional(),
  /** The user stopped the turn. */
  interrupted: z.literal(true).exactOptional(),
});

export type TurnMark = Readonly<z.infer<typeof markSchema>>;

/** The state of a transcript's last turn. */
const turnStateSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.enum(["none", "open", "ended", "aborted"]) }),
  z.object({
    kind: z.literal("failed"),
    message: z.string(),
    /** What has to happen before another turn can succeed. */
    needs: z.enum(["login", "limit_reset"]).exactOptional(),
    /** When the limit resets, if known. */
    resetsAt: z.string().exactOptional(),
  }),
]);

export type TurnState = Readonly<z.infer<typeof turnStateSchema>>;

/** What has to happen before another turn can succeed: a login, or the reset of a limit. */
export type FailureNeeds = "login" | "limit_reset";

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

/** Facts besides the turns. */
const factsSchema = z.object({
  agentSessionId: textSchema,
  cwd: textSchema,
  branch: textSchema,
  model: textSchema,
  /** The agent's title. */
  ownTitle: textSchema,
  /** The start of the first prompt. */
  firstPrompt: textSchema,
  createdAt: textSchema,
  updatedAt: textSchema,
  lastTurn: turnStateSchema,
  /** Number of lines so far that may belong to a turn. */
  turnLines: z.int(),
});

export type TranscriptFacts = z.infer<typeof factsSchema>;

/** The saved state of any indexer: the newest marks, the number of turns before them, and the facts. */
export const savedIndexerSchema = z.looseObject({
  format: z.string(),
  turnsBefore: z.int(),
  marks: z.array(markSchema),
  facts: factsSchema,
});

/** The saved state of an indexer, to continue later; about a kilobyte of JSON. Each format extends it. */
export type SavedIndexer = z.infer<typeof savedIndexerSchema>;

/**
 * Finds the turns of a transcript, line by line. It parses only lines that may start a turn, and the last relevant line before each
 * `pause`; for others the first bytes are enough.
 */
export interface TurnIndexer {
  readonly marks: readonly TurnMark[];
  /** The number of turns before the first mark: 0 unless it continues a saved state. */
  readonly turnsBefore: number;
  readonly facts: Readonly<TranscriptFacts>;
  /** @returns false if the line is invalid, to be counted as skipped */
  line(bytes: Buffer, offset: number): boolean;
  /** The bytes of the lines so far become invalid, so parse pending ones now. */
  pause(): void;
  /** The state to continue from, right after a `pause`; null if it is too large. */
  save(): SavedIndexer | null;
}

/** Enough for a title. */
const defaultPromptCharacters = 1_000;

/** Marks and facts as an indexer collects them, from the start or from a saved state. `promptCharacters` of the first prompt are kept for a title. */
export function createTurnLog(from: SavedIndexer | null, { promptCharacters = defaultPromptCharacters } = {}) {
  const marks: TurnMark[] = [...(from?.marks ?? [])];
  const turnsBefore = from?.turnsBefore ?? 0;
  const facts: TranscriptFacts = { ...(from?.facts ?? noFacts) };
  return {
    marks,
    turnsBefore,
    facts,
    lastRole: (): TurnMark["role"] | undefined => marks.at(-1)?.role,
    prompt(mark: Omit<TurnMark, "role">, text: string): void {
      marks.push({ role: "user", ...mark });
      facts.firstPrompt ??= cut(splitAttached(text).text, promptCharacters);
      facts.lastTurn = { kind: "open" };
    },
    answer: (mark: Omit<TurnMark, "role">): void => void marks.push({ role: "assistant", ...mark }),
    /** Marks the newest turn as stopped by the user. A prompt that was stopped before any answer is unchanged: it may have been read. */
    interrupt(): void {
      const last = marks.at(-1);
      if (last?.role !== "assistant" || last.interrupted === true) return;
      marks[marks.length - 1] = { ...last, interrupted: true };
    },
    seen(time: string | null): void {
      facts.createdAt ??= time;
      facts.updatedAt = time ?? facts.updatedAt;
    },
    saved<Format extends string>(format: Format, kept: readonly TurnMark[] = marks.slice(-1)) {
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

/** Parses a line for `read`. @returns false if it cannot be parsed, to be counted as skipped */
export function readLine(bytes: Buffer, read: (line: Fields) => void): boolean {
  const line = parseLine(bytes);
  if (line !== null) read(line);
  return line !== null;
}

/** Passes parsed lines, newest first, until `read` returns true. */
export function readNewestFirst(lines: readonly Buffer[], read: (line: Fields) => boolean): void {
  for (const bytes of lines.toReversed()) {
    const line = parseLine(bytes);
    if (line !== null && read(line)) return;
  }
}
