import { z } from "zod";
import {
  cut,
  type Fields,
  fieldsAt,
  interruptLast,
  noFacts,
  parseLine,
  pathAt,
  type SavedIndexer,
  savedIndexerSchema,
  type TurnIndexer,
  type TurnMark,
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

type SavedOpenCode = z.infer<typeof savedSchema>;

/**
 * Finds the turns in a session's log of OpenCode, or goes on from where another one stood. What is taken out of the history (undo) was said and stays a
 * turn; what the agent says for the user (a summary, "go on") is part of its own turn.
 */
export function createOpenCodeIndexer(saved?: SavedIndexer): TurnIndexer {
  const from = savedSchema.safeParse(saved).data ?? null;
  const marks: TurnMark[] = [...(from?.marks ?? [])];
  const turnsBefore = from?.turnsBefore ?? 0;
  const facts = { ...(from?.facts ?? noFacts()) };
  /** The newest message of the user; its prompt comes after it. */
  let userMessage = from?.userMessage ?? "";
  let awaitsPrompt = from?.awaitsPrompt ?? false;

  function begin(role: TurnMark["role"], offset: number): void {
    // A mark ends in front of the next event, however long its own is.
    marks.push({ role, start: offset, firstLineBytes: eventAddressBytes - 1 });
  }

  function message(line: Fields, offset: number): void {
    const info = openCodeInfo(line);
    const id = openCodeId(info);
    if (info["role"] === "user") {
      if (id === userMessage) return;
      userMessage = id;
      awaitsPrompt = true;
    } else if (info["role"] === "assistant" && marks.length > 0) {
      if (marks.at(-1)?.role === "user") begin("assistant", offset);
      facts.model = openCodeModel(info) ?? facts.model;
      facts.lastTurn = info["summary"] === true ? { kind: "open" } : openCodeState(info);
      if (facts.lastTurn.kind === "aborted") interruptLast(marks);
    }
    touch(line);
  }

  function part(line: Fields, offset: number): void {
    const said = openCodePart(line);
    if (openCodeId(said, "messageID") !== userMessage) return;
    const prompt = openCodePrompt(said);
    if (prompt === null) return;
    awaitsPrompt = false;
    begin("user", offset);
    facts.firstPrompt ??= cut(prompt, promptCharacters);
    facts.lastTurn = { kind: "open" };
    touch(line);
  }

  function session(line: Fields): void {
    const info = openCodeInfo(line);
    facts.agentSessionId ??= openCodeId(info) || null;
    facts.cwd = pathAt(info, "directory") ?? facts.cwd;
    facts.ownTitle = openCodeTitle(info) ?? facts.ownTitle;
    facts.createdAt ??= openCodeTime(fieldsAt(info, "time")["created"]);
  }

  function touch(line: Fields): void {
    facts.updatedAt = timeOf(line) ?? facts.updatedAt;
  }

  function save(): SavedOpenCode {
    const kept = marks.slice(-1);
    const before = turnsBefore + marks.length - kept.length;
    return { format: "opencode", turnsBefore: before, marks: kept, facts: { ...facts }, userMessage, awaitsPrompt };
  }

  return {
    marks,
    turnsBefore,
    facts,
    save,
    line(bytes, offset) {
      const kind = openCodeLineKind(bytes);
      if (kind === "other") return true;
      if (kind !== "session") facts.turnLines++;
      // Parts are long, and but for a prompt only the turns need them.
      if (kind === "part" && !awaitsPrompt) return true;
      const line = parseLine(bytes);
      if (line === null) return false;
      if (kind === "message") message(line, offset);
      else if (kind === "part") part(line, offset);
      else session(line);
      return true;
    },
    pause: () => undefined,
  };
}
