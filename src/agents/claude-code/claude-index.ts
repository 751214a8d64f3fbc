import { z } from "zod";
import type { TurnState } from "../../transcripts/index.ts";
import {
  cut,
  type Fields,
  fieldsAt,
  interruptLast,
  listAt,
  markSchema,
  noFacts,
  parseLine,
  pathAt,
  type SavedIndexer,
  savedIndexerSchema,
  stringAt,
  type TranscriptFacts,
  type TurnIndexer,
  type TurnMark,
  timeOf,
} from "../../transcripts/index.ts";
import { claudeNeeds, claudeResetsAt } from "./claude-failure.ts";
import {
  type ClaudeLineKind,
  claudeLineKind,
  claudeText,
  isClaudeAnswer,
  isClaudeFiller,
  readClaudeQueued,
  readClaudeUser,
} from "./claude-lines.ts";

/** Enough of the first prompt to make a title of it. */
const promptCharacters = 1_000;

const textSchema = z.string().nullable();

const savedSchema = savedIndexerSchema.extend({
  format: z.literal("claude"),
  titles: z.object({ custom: textSchema, ai: textSchema, summary: textSchema }),
  command: z.object({ mark: markSchema, text: z.string() }).nullable(),
});

type SavedClaude = z.infer<typeof savedSchema>;

const noTitles: SavedClaude["titles"] = { custom: null, ai: null, summary: null };

/** Lines that say nothing of a turn. */
const beside: ReadonlySet<ClaudeLineKind> = new Set(["title", "command_end", "other", "unreadable"]);

/** Finds turns and facts in a transcript of Claude Code, from its beginning or from where another one stood. */
export function createClaudeIndexer(saved?: SavedIndexer): TurnIndexer {
  const from = savedSchema.safeParse(saved).data ?? null;
  const marks: TurnMark[] = [...(from?.marks ?? [])];
  const turnsBefore = from?.turnsBefore ?? 0;
  const facts = { ...(from?.facts ?? noFacts()) };
  const titles = { ...(from?.titles ?? noTitles) };
  /** A command of the user that becomes a turn if the model answers it. */
  let command: { readonly mark: TurnMark; readonly text: string } | null = from?.command ?? null;
  /** Assistant lines and tool results since the last pause, not parsed: only the last readable ones say something new. */
  let putOff: { readonly kind: "assistant" | "tool_result"; readonly bytes: Buffer; readonly line?: Fields }[] = [];

  function beginUser(mark: TurnMark, text: string): void {
    marks.push(mark);
    facts.firstPrompt ??= cut(text, promptCharacters);
    facts.lastTurn = { kind: "open" };
    command = null;
  }

  function user(bytes: Buffer, offset: number): boolean {
    const line = parseLine(bytes);
    if (line === null) return false;
    const said = readClaudeUser(line);
    if (said.kind === "command_end") command = null;
    if (said.kind === "none" || said.kind === "command_end") return true;
    settle();
    absorb(facts, line);
    const mark: TurnMark = { role: "user", start: offset, firstLineBytes: bytes.length };
    if (said.kind === "prompt") beginUser(mark, said.text);
    else if (said.kind === "command") command = { mark, text: said.text };
    else interrupted();
    return true;
  }

  function queued(bytes: Buffer, offset: number): boolean {
    const line = parseLine(bytes);
    if (line === null) return false;
    const text = readClaudeQueued(line);
    if (text === null) return true;
    settle();
    absorb(facts, line);
    beginUser({ role: "user", start: offset, firstLineBytes: bytes.length }, text);
    return true;
  }

  function assistant(bytes: Buffer, offset: number): boolean {
    if (command === null && marks.at(-1)?.role === "assistant") {
      putOff.push({ kind: "assistant", bytes });
      return true;
    }
    const line = parseLine(bytes);
    if (line === null) return false;
    if (isClaudeFiller(line)) cutOff();
    if (!isClaudeAnswer(line)) return true;
    settle();
    if (command !== null) beginUser(command.mark, command.text);
    marks.push({ role: "assistant", start: offset, firstLineBytes: bytes.length });
    absorb(facts, line);
    putOff.push({ kind: "assistant", bytes, line });
    return true;
  }

  function title(bytes: Buffer): boolean {
    const line = parseLine(bytes);
    if (line === null) return false;
    titles.custom = stringAt(line, "customTitle") ?? titles.custom;
    titles.ai = stringAt(line, "aiTitle") ?? titles.ai;
    titles.summary = stringAt(line, "summary") ?? titles.summary;
    facts.ownTitle = titles.custom ?? titles.ai ?? titles.summary;
    return true;
  }

  /** Reads the put-off lines from the end until state, time and model are known, as if each had been read in its turn. */
  function settle(): void {
    const lines = putOff;
    putOff = [];
    const found: { state: TurnState | null; time: string | null; model: string | null } = {
      state: null,
      time: null,
      model: null,
    };
    let filled = false;
    for (const { kind, bytes, line: parsed } of lines.toReversed()) {
      if (found.state !== null && found.time !== null && (found.model !== null || kind === "tool_result")) continue;
      const line = parsed ?? parseLine(bytes);
      if (line === null || line["isSidechain"] === true) continue;
      if (kind === "assistant" && !isClaudeAnswer(line)) {
        filled ||= found.state === null && isClaudeFiller(line);
        continue;
      }
      found.state ??= kind === "assistant" ? stateAfter(line) : { kind: "open" };
      found.time ??= timeOf(line);
      if (kind === "assistant") found.model ??= modelOf(line);
    }
    facts.lastTurn = found.state ?? facts.lastTurn;
    facts.updatedAt = found.time ?? facts.updatedAt;
    facts.model = found.model ?? facts.model;
    if (filled && facts.lastTurn.kind === "open") facts.lastTurn = { kind: "aborted" };
  }

  function interrupted(): void {
    if (marks.length === 0) return;
    facts.lastTurn = { kind: "aborted" };
    interruptLast(marks);
  }

  /** A resumed session says that the turn before it never ended. */
  function cutOff(): void {
    settle();
    if (facts.lastTurn.kind === "open") facts.lastTurn = { kind: "aborted" };
  }

  function save(): SavedClaude {
    const kept = marks.slice(-1);
    return {
      format: "claude",
      turnsBefore: turnsBefore + marks.length - kept.length,
      marks: kept,
      facts: { ...facts },
      titles: { ...titles },
      command: command === null ? null : { mark: command.mark, text: cut(command.text, promptCharacters) },
    };
  }

  return {
    marks,
    turnsBefore,
    facts,
    save,
    line(bytes, offset) {
      const kind = claudeLineKind(bytes);
      if (!beside.has(kind)) facts.turnLines++;
      switch (kind) {
        case "user":
          return user(bytes, offset);
        case "queued_prompt":
          return queued(bytes, offset);
        case "assistant":
          return assistant(bytes, offset);
        case "tool_result":
          if (marks.at(-1)?.role === "assistant") putOff.push({ kind: "tool_result", bytes });
          return true;
        case "title":
          return title(bytes);
        case "command_end":
          command = null;
          return true;
        case "turn_end":
          settle();
          if (facts.lastTurn.kind === "open") facts.lastTurn = { kind: "ended" };
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

function absorb(facts: TranscriptFacts, line: Fields): void {
  const timestamp = timeOf(line);
  facts.agentSessionId ??= stringAt(line, "sessionId");
  facts.cwd ??= pathAt(line, "cwd");
  const branch = stringAt(line, "gitBranch");
  if (branch !== null && branch !== "") facts.branch = branch === "HEAD" ? null : branch; // `HEAD`: on no branch
  facts.createdAt ??= timestamp;
  facts.updatedAt = timestamp ?? facts.updatedAt;
}

function modelOf(line: Fields): string | null {
  const model = stringAt(fieldsAt(line, "message"), "model");
  return model === "<synthetic>" ? null : model;
}

/**
 * How the turn stands after this assistant line. Each block of a message is a line of its own, and in recent versions all of them
 * carry the message's stop reason: a message that ends the turn goes on after its thinking. Older versions write no stop reason; then
 * text ends the turn and a tool call does not.
 */
function stateAfter(line: Fields): TurnState {
  const message = fieldsAt(line, "message");
  if (line["isApiErrorMessage"] === true) {
    const needs = claudeNeeds(line["error"]);
    const resetsAt = needs === "limit_reset" ? claudeResetsAt(line) : null;
    return {
      kind: "failed",
      message: claudeText(message["content"]) ?? "The model's API answered with an error.",
      ...(needs === undefined ? {} : { needs }),
      ...(resetsAt === null ? {} : { resetsAt }),
    };
  }
  if (line["isAbortedMidStream"] === true) return { kind: "aborted" };
  const stopReason = stringAt(message, "stop_reason");
  if (stopReason === "tool_use" || stopReason === "pause_turn") return { kind: "open" };
  const last = listAt(message, "content").at(-1)?.["type"];
  return last === "text" || typeof message["content"] === "string" ? { kind: "ended" } : { kind: "open" };
}
