import { z } from "zod";
import {
  createTurnLog,
  type Fields,
  failedTurn,
  fieldsAt,
  messageFormSchema,
  parseLine,
  pathAt,
  readLine,
  readNewestFirst,
  type SavedIndexer,
  savedIndexerSchema,
  stringAt,
  type TurnIndexer,
  type TurnState,
  timeOf,
} from "../../transcripts/index.ts";
import {
  type CodexForm,
  type CodexLine,
  codexEnding,
  codexErrorMessage,
  codexFormRank,
  codexLineKind,
  codexNeeds,
  codexPayload,
  codexPromptText,
  codexResetsAt,
  codexTotalTokens,
  isOfOtherThread,
  isUsersOwnAction,
} from "./codex-lines.ts";

/** A state with more marks is not saved: such a file is read from its start again when it grows. */
const maxSavedMarks = 1_000;
const maxSavedCharacters = 50_000;

const savedSchema = savedIndexerSchema.extend({
  format: z.literal("codex"),
  form: messageFormSchema,
  unanswered: z.object({ form: messageFormSchema, text: z.string() }).nullable(),
  tellsTurns: z.boolean(),
  // This field is missing in states that older versions saved.
  turnIsOver: z.boolean().default(false),
  hasMeta: z.boolean(),
  totalTokens: z.number().nullable(),
  usageStart: z.int().nullable(),
});

/** Lines that do not belong to a turn. */
const notOfTurns: ReadonlySet<CodexLine["kind"]> = new Set(["meta", "context", "other", "unreadable"]);

/** Finds turns and facts in a rollout of Codex, from its start or from a saved state. */
export function createCodexIndexer(saved?: SavedIndexer): TurnIndexer {
  const from = savedSchema.safeParse(saved).data ?? null;
  const log = createTurnLog(from);
  const { marks, facts } = log;
  /** The newest form of a prompt or answer so far. */
  let form: CodexForm = from?.form ?? "responses";
  /** The last prompt, until it is answered. */
  let unanswered: { readonly form: CodexForm; readonly text: string } | null = from?.unanswered ?? null;
  /** Whether the file records the start and end of turns; older ones do not. */
  let tellsTurns = from?.tellsTurns ?? false;
  /** Whether the last turn was recorded as ended. A command that outlives its turn is written after that, and does not start a turn. */
  let turnIsOver = from?.turnIsOver ?? false;
  let hasMeta = from?.hasMeta ?? false;
  /** Unparsed lines since the last pause: only the last readable one of each kind matters. */
  let outputs: Buffer[] = [];
  let contexts: Buffer[] = [];
  let usages: Buffer[] = [];
  /** The newest token count, and its rate limits once that count has been parsed. */
  let newestUsage: Buffer | null = null;
  let limitEnds: string | null = null;
  let totalTokens: number | null = from?.totalTokens ?? null;
  /** Offset of the first token count after the last prompt: older versions write it before the answer that it counts. */
  let usageStart: number | null = from?.usageStart ?? null;

  function meta(line: Fields): void {
    hasMeta = true;
    settle();
    const payload = codexPayload(line);
    facts.agentSessionId = stringAt(payload, "id");
    facts.cwd = pathAt(payload, "cwd");
    facts.branch = stringAt(fieldsAt(payload, "git"), "branch");
    facts.createdAt = timeOf(payload) ?? timeOf(line);
    facts.updatedAt = facts.createdAt;
    if (payload["history_mode"] === "paginated") form = "items";
    if (payload["history_mode"] === "legacy") form = "events";
  }

  function prompt(of: CodexForm, line: Fields, at: { readonly start: number; readonly firstLineBytes: number }): void {
    const payload = codexPayload(line);
    if (isOfOtherThread(payload, facts.agentSessionId)) return;
    const text = codexPromptText(payload);
    if (text === null) {
      if (of === "responses") facts.cwd ??= /<cwd>([^<]+)<\/cwd>/.exec(JSON.stringify(payload))?.[1] ?? null;
      return;
    }
    const newer = codexFormRank[of] > codexFormRank[form];
    if (newer) form = of;
    if (unanswered !== null && unanswered.form !== of) {
      if (newer && unanswered.form === "responses") dropUnanswered();
      else if (unanswered.text === text) return;
    }
    if (marks.length === 0) facts.firstPrompt = null;
    settle();
    log.prompt(at, text);
    usageStart = null;
    unanswered = { form: of, text };
    turnIsOver = false;
    log.seen(timeOf(line));
  }

  /** Removes prompts that were guessed from the model's input, once a line of a newer form contains the real prompt. */
  function dropUnanswered(): void {
    while (log.lastRole() === "user") marks.pop();
  }

  function output(bytes: Buffer, offset: number, ends: boolean): boolean {
    if (log.lastRole() !== "assistant") {
      const line = parseLine(bytes);
      if (line === null) return false;
      const payload = codexPayload(line);
      if (isOfOtherThread(payload, facts.agentSessionId) || isUsersOwnAction(payload)) return true;
      settle();
      const { agentSessionId, model } = facts;
      const before = { agentSessionId, model, form, totalTokens };
      log.answer({ start: usageStart ?? offset, firstLineBytes: bytes.length, before });
      log.seen(timeOf(line));
    }
    unanswered = null;
    usageStart = null;
    putOff(bytes);
    if (!turnIsOver) facts.lastTurn = { kind: ends && !tellsTurns ? "ended" : "open" };
    return true;
  }

  function failure(error: unknown): TurnState {
    readLimits();
    return failedTurn(codexErrorMessage(error), { needs: codexNeeds(error), resetsAt: limitEnds });
  }

  function readLimits(): void {
    const line = newestUsage === null ? null : parseLine(newestUsage);
    if (line !== null) limitEnds = codexResetsAt(codexPayload(line));
    newestUsage = null;
  }

  function usage(bytes: Buffer, offset: number): void {
    newestUsage = bytes;
    if (log.lastRole() === "user") usageStart ??= offset;
    else usages.push(bytes);
  }

  function complete(bytes: Buffer): boolean {
    const ending = codexEnding(bytes);
    const line = ending === "error" ? parseLine(bytes) : null;
    if (ending === "error" && line === null) return false;
    tellsTurns = true;
    turnIsOver = true;
    putOff(bytes);
    if (line !== null) facts.lastTurn = failure(codexPayload(line)["error"]);
    else if (facts.lastTurn.kind === "open") {
      // Versions before 0.14x write no error, but leave the prompt unanswered.
      const unansweredEnd = ending === "silent" && log.lastRole() === "user";
      facts.lastTurn = unansweredEnd ? failedTurn("The turn ended without an answer.") : { kind: "ended" };
    }
    return true;
  }

  function mark(bytes: Buffer, kind: "open" | "aborted"): boolean {
    tellsTurns = true;
    turnIsOver = kind === "aborted";
    putOff(bytes);
    if (marks.length > 0) facts.lastTurn = { kind };
    if (kind === "aborted" && isInterruption(bytes)) log.interrupt();
    return true;
  }

  /** Keeps a line only for its time; in the oldest files, lines have no time. */
  function putOff(bytes: Buffer): void {
    if (bytes.includes('"timestamp"')) outputs.push(bytes);
  }

  function settle(): void {
    facts.model = lastOf(contexts, (line) => stringAt(codexPayload(line), "model")) ?? facts.model;
    facts.updatedAt = lastOf(outputs, timeOf) ?? facts.updatedAt;
    totalTokens = lastOf(usages, (line) => codexTotalTokens(codexPayload(line))) ?? totalTokens;
    outputs = [];
    contexts = [];
    usages = [];
  }

  return {
    ...log,
    save() {
      // The last prompts can still be removed, down to the answer before them.
      const lastAnswer = marks.findLastIndex(({ role }) => role === "assistant");
      const kept = marks.slice(Math.max(0, lastAnswer));
      if (kept.length > maxSavedMarks || (unanswered?.text.length ?? 0) > maxSavedCharacters) return null;
      const own = { form, unanswered, tellsTurns, turnIsOver, hasMeta, totalTokens, usageStart };
      return { ...log.saved("codex", kept), ...own };
    },
    line(bytes, offset) {
      const line = codexLineKind(bytes);
      if (!notOfTurns.has(line.kind)) facts.turnLines++;
      switch (line.kind) {
        case "meta":
          return hasMeta || readLine(bytes, meta); // a fork also contains its parent's `meta` line
        case "prompt":
          if (line.form === "responses" && form !== "responses") return true;
          return readLine(bytes, (read) => prompt(line.form, read, { start: offset, firstLineBytes: bytes.length }));
        case "answer":
        case "thinking":
          // A line of an older form repeats a line of the newer form, or a compaction's summary.
          return codexFormRank[line.form] < codexFormRank[form] || output(bytes, offset, line.kind === "answer");
        case "plan":
          return output(bytes, offset, true);
        case "call":
        case "action":
          return output(bytes, offset, false);
        case "result":
          if (log.lastRole() === "assistant") putOff(bytes);
          return true;
        case "context":
          contexts.push(bytes);
          return true;
        case "started":
          return mark(bytes, "open");
        case "aborted":
          return mark(bytes, "aborted");
        case "error":
          return readLine(bytes, (read) => {
            putOff(bytes);
            if (marks.length > 0) facts.lastTurn = failure(codexPayload(read));
          });
        case "complete":
          return complete(bytes);
        case "usage":
          usage(bytes, offset);
          return true;
        case "other":
          return true;
        case "unreadable":
          return false;
      }
    },
    pause() {
      settle();
      readLimits();
    },
  };
}

/** Whether the user interrupted the turn: a turn also aborts at the end of a review, or when another turn replaces it. */
function isInterruption(bytes: Buffer): boolean {
  const line = parseLine(bytes);
  return line !== null && (stringAt(codexPayload(line), "reason") ?? "interrupted") === "interrupted";
}

function lastOf<T>(lines: readonly Buffer[], read: (line: Fields) => T | null): T | null {
  let said: T | null = null;
  readNewestFirst(lines, (line) => {
    said = read(line);
    return said !== null;
  });
  return said;
}
