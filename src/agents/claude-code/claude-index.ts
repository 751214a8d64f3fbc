import { z } from "zod";
import {
  createTurnLog,
  cut,
  type Fields,
  failedTurn,
  fieldsAt,
  listAt,
  markSchema,
  parseLine,
  pathAt,
  readLine,
  type SavedIndexer,
  savedIndexerSchema,
  stringAt,
  type TurnIndexer,
  type TurnMark,
  type TurnState,
  timeOf,
} from "../../transcripts/index.ts";
import {
  type ClaudeLineKind,
  claudeLineKind,
  claudeNeeds,
  claudeResetsAt,
  claudeText,
  isClaudeAnswer,
  isClaudeFiller,
  readClaudeQueued,
  readClaudeUser,
} from "./claude-lines.ts";

/** Enough of a command for a title. */
const commandCharacters = 1_000;

const textSchema = z.string().nullable();

const savedSchema = savedIndexerSchema.extend({
  format: z.literal("claude"),
  titles: z.object({ custom: textSchema, ai: textSchema, summary: textSchema }),
  command: z.object({ mark: markSchema, text: z.string() }).nullable(),
});

/** Lines that do not belong to a turn. */
const notOfTurns: ReadonlySet<ClaudeLineKind> = new Set(["title", "command_end", "other", "unreadable"]);

/** Finds turns and facts in a transcript of Claude Code, from its start or from a saved state. */
export function createClaudeIndexer(saved?: SavedIndexer): TurnIndexer {
  const from = savedSchema.safeParse(saved).data ?? null;
  const log = createTurnLog(from);
  const { marks, facts } = log;
  const titles = { ...(from?.titles ?? { custom: null, ai: null, summary: null }) };
  /** A command of the user, which becomes a turn if the model answers it. */
  let command: { readonly mark: TurnMark; readonly text: string } | null = from?.command ?? null;
  /** Assistant lines and tool results that are not parsed yet: only the last readable lines matter. */
  let putOff: { readonly kind: "assistant" | "tool_result"; readonly bytes: Buffer; readonly line?: Fields }[] = [];

  function beginUser(mark: Omit<TurnMark, "role">, text: string): void {
    log.prompt(mark, text);
    command = null;
  }

  function user(line: Fields, mark: TurnMark): void {
    const said = readClaudeUser(line);
    if (said.kind === "command_end") command = null;
    if (said.kind === "none" || said.kind === "command_end") return;
    settle();
    absorb(line);
    if (said.kind === "prompt") beginUser(mark, said.text);
    else if (said.kind === "command") command = { mark, text: said.text };
    else if (marks.length > 0) {
      facts.lastTurn = { kind: "aborted" };
      log.interrupt();
    }
  }

  function queued(line: Fields, mark: TurnMark): void {
    const text = readClaudeQueued(line);
    if (text === null) return;
    settle();
    absorb(line);
    beginUser(mark, text);
  }

  function firstAnswer(line: Fields, bytes: Buffer, offset: number): void {
    if (isClaudeFiller(line)) settleOpen("aborted"); // a resumed session records that the previous turn never ended
    if (!isClaudeAnswer(line)) return;
    settle();
    if (command !== null) beginUser(command.mark, command.text);
    log.answer({ start: offset, firstLineBytes: bytes.length });
    absorb(line);
    putOff.push({ kind: "assistant", bytes, line });
  }

  function title(line: Fields): void {
    titles.custom = stringAt(line, "customTitle") ?? titles.custom;
    titles.ai = stringAt(line, "aiTitle") ?? titles.ai;
    titles.summary = stringAt(line, "summary") ?? titles.summary;
    facts.ownTitle = titles.custom ?? titles.ai ?? titles.summary;
  }

  function absorb(line: Fields): void {
    facts.agentSessionId ??= stringAt(line, "sessionId");
    facts.cwd ??= pathAt(line, "cwd");
    const branch = stringAt(line, "gitBranch");
    if (branch !== null && branch !== "") facts.branch = branch === "HEAD" ? null : branch; // `HEAD`: no branch
    log.seen(timeOf(line));
  }

  /** Parses the pending lines from the end until state, time and model are known. */
  function settle(): void {
    const lines = putOff;
    putOff = [];
    let state: TurnState | null = null;
    let time: string | null = null;
    let model: string | null = null;
    let filled = false;
    for (const { kind, bytes, line: parsed } of lines.toReversed()) {
      if (state !== null && time !== null && (model !== null || kind === "tool_result")) continue;
      const line = parsed ?? parseLine(bytes);
      if (line === null || line["isSidechain"] === true) continue;
      if (kind === "assistant" && !isClaudeAnswer(line)) {
        filled ||= state === null && isClaudeFiller(line);
        continue;
      }
      state ??= kind === "assistant" ? stateAfter(line) : { kind: "open" };
      time ??= timeOf(line);
      if (kind === "assistant") model ??= modelOf(line);
    }
    facts.lastTurn = state ?? facts.lastTurn;
    facts.updatedAt = time ?? facts.updatedAt;
    facts.model = model ?? facts.model;
    if (filled && facts.lastTurn.kind === "open") facts.lastTurn = { kind: "aborted" };
  }

  function settleOpen(kind: "ended" | "aborted"): void {
    settle();
    if (facts.lastTurn.kind === "open") facts.lastTurn = { kind };
  }

  return {
    ...log,
    save: () => ({
      ...log.saved("claude"),
      titles: { ...titles },
      command: command === null ? null : { mark: command.mark, text: cut(command.text, commandCharacters) },
    }),
    line(bytes, offset) {
      const kind = claudeLineKind(bytes);
      if (!notOfTurns.has(kind)) facts.turnLines++;
      const mark = (): TurnMark => ({ role: "user", start: offset, firstLineBytes: bytes.length });
      switch (kind) {
        case "user":
          return readLine(bytes, (line) => user(line, mark()));
        case "queued_prompt":
          return readLine(bytes, (line) => queued(line, mark()));
        case "assistant":
          if (command !== null || log.lastRole() !== "assistant")
            return readLine(bytes, (line) => firstAnswer(line, bytes, offset));
          putOff.push({ kind, bytes });
          return true;
        case "tool_result":
          if (log.lastRole() === "assistant") putOff.push({ kind, bytes });
          return true;
        case "title":
          return readLine(bytes, title);
        case "command_end":
          command = null;
          return true;
        case "turn_end":
          settleOpen("ended");
          return true;
        case "other":
          return true;
        case "unreadable":
          return false;
      }
    },
    pause: settle,
  };
}

function modelOf(line: Fields): string | null {
  const model = stringAt(fieldsAt(line, "message"), "model");
  return model === "<synthetic>" ? null : model;
}

/**
 * The turn's state after this assistant line. Each block of a message has its own line, and in recent versions every line carries the message's stop
 * reason: such a message continues after its thinking. Without a stop reason (older versions), text ends the turn and a tool call does not.
 */
function stateAfter(line: Fields): TurnState {
  const message = fieldsAt(line, "message");
  if (line["isApiErrorMessage"] === true) {
    return failedTurn(claudeText(message["content"]) ?? "The model's API answered with an error.", {
      needs: claudeNeeds(line["error"]),
      resetsAt: claudeResetsAt(line),
    });
  }
  if (line["isAbortedMidStream"] === true) return { kind: "aborted" };
  const stopReason = stringAt(message, "stop_reason");
  if (stopReason === "tool_use" || stopReason === "pause_turn") return { kind: "open" };
  const last = listAt(message, "content").at(-1)?.["type"];
  return last === "text" || typeof message["content"] === "string" ? { kind: "ended" } : { kind: "open" };
}
