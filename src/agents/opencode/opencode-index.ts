import { z } from "zod";
import {
  createTurnLog,
  type Fields,
  fieldsAt,
  pathAt,
  readLine,
  type SavedIndexer,
  savedIndexerSchema,
  type TurnIndexer,
  timeOf,
} from "../../transcripts/index.ts";
import { eventAddressBytes } from "./opencode-database.ts";
import {
  openCodeId,
  openCodeInfo,
  openCodeLineKind,
  openCodeModel,
  openCodePart,
  openCodePrompt,
  openCodeState,
  openCodeTime,
  openCodeTitle,
} from "./opencode-events.ts";

/** A first prompt is kept as far as a title and a preview need it. */
const promptCharacters = 2_000;

const savedSchema = savedIndexerSchema.extend({
  format: z.literal("opencode"),
  userMessage: z.string(),
  awaitsPrompt: z.boolean(),
});

/**
 * Finds the turns in a session's log of OpenCode, or continues where another one stood. What is taken out of the history (undo) was said
 * and stays a turn; what the agent says for the user (a summary, "go on") is part of its own turn.
 */
export function createOpenCodeIndexer(saved?: SavedIndexer): TurnIndexer {
  const from = savedSchema.safeParse(saved).data ?? null;
  const log = createTurnLog(from, { promptCharacters });
  const { facts } = log;
  /** The newest message of the user; its prompt comes after it. */
  let userMessage = from?.userMessage ?? "";
  let awaitsPrompt = from?.awaitsPrompt ?? false;

  // A mark ends in front of the next event, however long its own is.
  const markAt = (start: number) => ({ start, firstLineBytes: eventAddressBytes - 1 });

  function message(line: Fields, offset: number): void {
    const info = openCodeInfo(line);
    const id = openCodeId(info);
    if (info["role"] === "user") {
      if (id === userMessage) return;
      userMessage = id;
      awaitsPrompt = true;
    } else if (info["role"] === "assistant" && log.marks.length > 0) {
      if (log.lastRole() === "user") log.answer(markAt(offset));
      facts.model = openCodeModel(info) ?? facts.model;
      facts.lastTurn = info["summary"] === true ? { kind: "open" } : openCodeState(info);
      if (facts.lastTurn.kind === "aborted") log.interrupt();
    }
    facts.updatedAt = timeOf(line) ?? facts.updatedAt;
  }

  function part(line: Fields, offset: number): void {
    const said = openCodePart(line);
    if (openCodeId(said, "messageID") !== userMessage) return;
    const prompt = openCodePrompt(said);
    if (prompt === null) return;
    awaitsPrompt = false;
    log.prompt(markAt(offset), prompt);
    facts.updatedAt = timeOf(line) ?? facts.updatedAt;
  }

  function session(line: Fields): void {
    const info = openCodeInfo(line);
    facts.agentSessionId ??= openCodeId(info) || null;
    facts.cwd = pathAt(info, "directory") ?? facts.cwd;
    facts.ownTitle = openCodeTitle(info) ?? facts.ownTitle;
    facts.createdAt ??= openCodeTime(fieldsAt(info, "time")["created"]);
  }

  return {
    ...log,
    save: () => ({ ...log.saved("opencode"), userMessage, awaitsPrompt }),
    line(bytes, offset) {
      const kind = openCodeLineKind(bytes);
      if (kind === "other") return true;
      if (kind !== "session") facts.turnLines++;
      // Parts are long, and but for a prompt only the turns need them.
      if (kind === "part" && !awaitsPrompt) return true;
      const read = { message, part, session }[kind];
      return readLine(bytes, (line) => read(line, offset));
    },
    pause: () => undefined,
  };
}
