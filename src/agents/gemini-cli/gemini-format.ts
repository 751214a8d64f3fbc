import { z } from "zod";
import {
  countAt,
  createFormat,
  createTurnLog,
  type Fields,
  failedTurn,
  fieldsAt,
  isFields,
  listAt,
  parseLine,
  readLine,
  readNewestFirst,
  type SavedIndexer,
  savedIndexerSchema,
  stringAt,
  type TurnDraft,
  type TurnIndexer,
  type TurnState,
  timeOf,
  toolInput,
  toolResult,
} from "../../transcripts/index.ts";
import type { Usage } from "../../wire/turn.ts";
import {
  geminiCalls,
  geminiDir,
  geminiId,
  geminiLineKind,
  geminiText,
  isGeminiAnswer,
  isGeminiCancelled,
  readGeminiUser,
} from "./gemini-lines.ts";

/** Reads `<home>/.gemini/tmp/<project>/chats/session-<time>-<first 8 digits of the id>.jsonl` of Gemini CLI 0.61. */
export const geminiFormat = createFormat({
  createIndexer: createGeminiIndexer,
  promptOf(line) {
    const said = readGeminiUser(line);
    return said.kind === "prompt" ? said.text : null;
  },
  picturesOf: ({ content }) =>
    (Array.isArray(content) ? content : [content])
      .filter(isFields)
      .map((part) => stringAt(fieldsAt(part, "inlineData"), "data")),
  createAnswer,
  /** `command` contains the newest answer's id: an answer is written again when its calls have ended. */
  readAnswerText(bytes, memory, turn) {
    if (turn?.mark.role !== "assistant" || geminiLineKind(bytes) !== "answer") return;
    const line = parseLine(bytes);
    if (line === null || !isGeminiAnswer(line)) return;
    const id = geminiId(line);
    if (memory.command === id && !turn.begins) return;
    memory.command = id;
    turn.say(geminiText(line["content"]));
  },
  // A resume creates another file of the same session, to which no turn is ever written (measured).
  isPart: () => true,
  sessionOnceTurn: true,
});

function createAnswer(draft: TurnDraft): (bytes: Buffer) => boolean {
  /** The newest answer; it is written again when its calls have ended. */
  let newest: string | null = null;

  function answer(line: Fields): void {
    if (!isGeminiAnswer(line)) return;
    const id = geminiId(line);
    draft.touch(timeOf(line));
    draft.model = stringAt(line, "model") ?? draft.model;
    const usage = usageOf(fieldsAt(line, "tokens"));
    if (usage !== null) draft.usages.set(id, usage);
    if (newest !== id) {
      newest = id;
      for (const thought of listAt(line, "thoughts")) {
        const text = [stringAt(thought, "subject"), stringAt(thought, "description")].filter(Boolean).join("\n");
        draft.addText(text, "thinking");
      }
      draft.addText(geminiText(line["content"]));
    }
    for (const { id: callId, name, input, result } of geminiCalls(line)) {
      const shown = result === null ? null : toolResult(result.ok, result.text);
      draft.putCall({ id: callId, name, input: toolInput(input), result: shown });
    }
    for (const call of listAt(line, "toolCalls")) draft.touch(timeOf(call));
  }

  return (bytes) => geminiLineKind(bytes) !== "answer" || readLine(bytes, answer);
}

/** As in Gemini's own count, `inputTokens` include cached tokens. */
function usageOf(tokens: Fields): Usage | null {
  if (!("input" in tokens) && !("output" in tokens)) return null;
  return {
    inputTokens: countAt(tokens, "input"),
    outputTokens: countAt(tokens, "output") + countAt(tokens, "thoughts"),
    cacheReadTokens: countAt(tokens, "cached"),
  };
}

const savedSchema = savedIndexerSchema.extend({ format: z.literal("gemini"), copying: z.boolean() });

/** Lines that may belong to a turn. */
const turnKinds: ReadonlySet<string> = new Set(["user", "answer", "info", "error", "rewound"]);

/**
 * Finds turns and facts in a transcript of Gemini CLI, from its start or from a saved state. Turns that the agent removes from its history (a
 * rewind, a cancelled prompt) are kept.
 */
function createGeminiIndexer(saved?: SavedIndexer): TurnIndexer {
  const from = savedSchema.safeParse(saved).data ?? null;
  const log = createTurnLog(from);
  const { marks, facts } = log;
  /** Whether the lines are a copy of the history. */
  let copying = from?.copying ?? false;
  /** Lines that are not parsed yet: only the newest answers matter. */
  let putOff: Buffer[] = [];

  function user(line: Fields, start: number, firstLineBytes: number): void {
    const said = readGeminiUser(line);
    if (said.kind === "context") copying = true;
    if (said.kind !== "prompt" || copying) return;
    settle();
    log.seen(timeOf(line));
    log.prompt({ start, firstLineBytes }, said.text);
  }

  function answer(bytes: Buffer, offset: number): boolean {
    if (copying || marks.length === 0) return true;
    if (log.lastRole() === "user") {
      const line = parseLine(bytes);
      if (line === null) return false;
      if (!isGeminiAnswer(line)) return true;
      log.answer({ start: offset, firstLineBytes: bytes.length });
    }
    putOff.push(bytes);
    return true;
  }

  /** Parses the pending answers from the end until state, model and time are known. */
  function settle(): void {
    const lines = putOff;
    putOff = [];
    const found: { turn?: TurnState; model?: string | null; time?: string | null } = {};
    readNewestFirst(lines, (line) => {
      if (!isGeminiAnswer(line)) return false;
      const ended = listAt(line, "toolCalls").length === 0 && geminiText(line["content"]) !== "";
      found.turn ??= { kind: ended ? "ended" : "open" };
      found.model ??= stringAt(line, "model");
      found.time ??= timeOf(line);
      return found.model !== null && found.time !== null;
    });
    facts.lastTurn = found.turn ?? facts.lastTurn;
    facts.model = found.model ?? facts.model;
    facts.updatedAt = found.time ?? facts.updatedAt;
  }

  function end(line: Fields | null, state: TurnState): void {
    settle();
    if (marks.length > 0) facts.lastTurn = state;
    if (line !== null) log.seen(timeOf(line));
  }

  function head(line: Fields): void {
    copying = false;
    facts.agentSessionId ??= stringAt(line, "sessionId");
    facts.createdAt ??= stringAt(line, "startTime");
    facts.ownTitle = stringAt(line, "summary") ?? facts.ownTitle;
  }

  return {
    ...log,
    save: () => ({ ...log.saved("gemini"), copying }),
    line(bytes, offset) {
      const kind = geminiLineKind(bytes);
      if (turnKinds.has(kind)) facts.turnLines++;
      switch (kind) {
        case "head":
          return readLine(bytes, head);
        case "user":
          return readLine(bytes, (line) => user(line, offset, bytes.length));
        case "answer":
          return answer(bytes, offset);
        case "info":
          return readLine(bytes, (line) => {
            if (!isGeminiCancelled(line)) return;
            end(line, { kind: "aborted" });
            log.interrupt();
          });
        case "error":
          return readLine(bytes, (line) =>
            end(line, failedTurn(geminiText(line["content"]) || "The model's API answered with an error.")),
          );
        case "history":
          copying = false;
          if (facts.cwd !== null) return true;
          return readLine(bytes, (line) => {
            facts.cwd = geminiDir(line);
          });
        case "facts":
          return readLine(bytes, (line) => {
            facts.ownTitle = stringAt(fieldsAt(line, "$set"), "summary") ?? facts.ownTitle;
          });
        case "rewound":
          end(parseLine(bytes), { kind: "aborted" });
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
