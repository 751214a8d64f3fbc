import { z } from "zod";
import type { TurnState } from "../../transcripts/index.ts";
import {
  cut,
  fieldsAt,
  interruptLast,
  listAt,
  noFacts,
  parseLine,
  type SavedIndexer,
  savedIndexerSchema,
  stringAt,
  type TranscriptFacts,
  type TurnIndexer,
  type TurnMark,
  timeOf,
} from "../../transcripts/index.ts";
import {
  geminiDir,
  geminiLineKind,
  geminiText,
  isGeminiAnswer,
  isGeminiCancelled,
  readGeminiUser,
} from "./gemini-lines.ts";

/** Enough of the first prompt to make a title of it. */
const promptCharacters = 1_000;

const savedSchema = savedIndexerSchema.extend({ format: z.literal("gemini"), copying: z.boolean() });

type SavedGemini = z.infer<typeof savedSchema>;

/**
 * Finds turns and facts in a transcript of Gemini CLI, from its beginning or from where another one stood. What the agent takes out of
 * its history (a rewind, a prompt that was cancelled) was said and stays a turn.
 */
export function createGeminiIndexer(saved?: SavedIndexer): TurnIndexer {
  const from = savedSchema.safeParse(saved).data ?? null;
  const marks: TurnMark[] = [...(from?.marks ?? [])];
  const turnsBefore = from?.turnsBefore ?? 0;
  const facts = { ...(from?.facts ?? noFacts()) };
  /** Inside of a copy of the history. */
  let copying = from?.copying ?? false;
  /** The newest answer, not parsed: the one before it says nothing more. */
  let putOff: Buffer[] = [];

  function user(bytes: Buffer, offset: number): boolean {
    const line = parseLine(bytes);
    if (line === null) return false;
    const said = readGeminiUser(line);
    if (said.kind === "context") copying = true;
    if (said.kind !== "prompt" || copying) return true;
    settle();
    absorbTime(facts, timeOf(line));
    marks.push({ role: "user", start: offset, firstLineBytes: bytes.length });
    facts.firstPrompt ??= cut(said.text, promptCharacters);
    facts.lastTurn = { kind: "open" };
    return true;
  }

  function answer(bytes: Buffer, offset: number): boolean {
    if (copying || marks.length === 0) return true;
    if (marks.at(-1)?.role === "user") {
      const line = parseLine(bytes);
      if (line === null) return false;
      if (!isGeminiAnswer(line)) return true;
      marks.push({ role: "assistant", start: offset, firstLineBytes: bytes.length });
    }
    putOff.push(bytes);
    return true;
  }

  /** Reads the put-off answers from the end, until they told how the turn stands, the model and the time: all are in each real line. */
  function settle(): void {
    const lines = putOff;
    putOff = [];
    let turn: TurnState | null = null;
    let model: string | null = null;
    let time: string | null = null;
    for (const bytes of lines.toReversed()) {
      const line = parseLine(bytes);
      if (line === null || !isGeminiAnswer(line)) continue;
      const ended = listAt(line, "toolCalls").length === 0 && geminiText(line["content"]) !== "";
      turn ??= ended ? { kind: "ended" } : { kind: "open" };
      model ??= stringAt(line, "model");
      time ??= timeOf(line);
      if (model !== null && time !== null) break;
    }
    facts.lastTurn = turn ?? facts.lastTurn;
    facts.model = model ?? facts.model;
    facts.updatedAt = time ?? facts.updatedAt;
  }

  /** The turn is over, in this way. */
  function end(bytes: Buffer, state: TurnState): void {
    settle();
    if (marks.length > 0) facts.lastTurn = state;
    const line = parseLine(bytes);
    if (line !== null) absorbTime(facts, timeOf(line));
  }

  function told(bytes: Buffer): boolean {
    const line = parseLine(bytes);
    if (line === null) return false;
    if (!isGeminiCancelled(line)) return true;
    end(bytes, { kind: "aborted" });
    interruptLast(marks);
    return true;
  }

  function failed(bytes: Buffer): boolean {
    const line = parseLine(bytes);
    if (line === null) return false;
    end(bytes, { kind: "failed", message: geminiText(line["content"]) || "The model's API answered with an error." });
    return true;
  }

  function head(bytes: Buffer): boolean {
    const line = parseLine(bytes);
    if (line === null) return false;
    copying = false;
    facts.agentSessionId ??= stringAt(line, "sessionId");
    facts.createdAt ??= stringAt(line, "startTime");
    facts.ownTitle = stringAt(line, "summary") ?? facts.ownTitle;
    return true;
  }

  function history(bytes: Buffer): boolean {
    copying = false;
    if (facts.cwd !== null) return true;
    const line = parseLine(bytes);
    if (line === null) return false;
    facts.cwd = geminiDir(line);
    return true;
  }

  function title(bytes: Buffer): boolean {
    const line = parseLine(bytes);
    if (line === null) return false;
    facts.ownTitle = stringAt(fieldsAt(line, "$set"), "summary") ?? facts.ownTitle;
    return true;
  }

  function save(): SavedGemini {
    const kept = marks.slice(-1);
    const before = turnsBefore + marks.length - kept.length;
    return { format: "gemini", turnsBefore: before, marks: kept, facts: { ...facts }, copying };
  }

  return {
    marks,
    turnsBefore,
    facts,
    save,
    line(bytes, offset) {
      const kind = geminiLineKind(bytes);
      if (turnKinds.has(kind)) facts.turnLines++;
      switch (kind) {
        case "head":
          return head(bytes);
        case "user":
          return user(bytes, offset);
        case "answer":
          return answer(bytes, offset);
        case "told":
          return told(bytes);
        case "error":
          return failed(bytes);
        case "history":
          return history(bytes);
        case "facts":
          return title(bytes);
        case "rewound":
          end(bytes, { kind: "aborted" });
          return true;
        case "tool_result":
        case "other":
          return true;
        case "unreadable":
          return false;
      }
    },
    pause: settle,
  };
}

/** Lines that may say something of a turn. */
const turnKinds: ReadonlySet<string> = new Set(["user", "answer", "told", "error", "rewound"]);

function absorbTime(facts: TranscriptFacts, time: string | null): void {
  facts.createdAt ??= time;
  facts.updatedAt = time ?? facts.updatedAt;
}
