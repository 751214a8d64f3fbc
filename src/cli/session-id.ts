import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import { listOutputSchema } from "../wire/session-lists.ts";
import { connect } from "./context.ts";
import { ageText, count, cutEnd, plainLine } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

/** The description of a session argument. */
export const sessionIdHelp = "session ID, its first characters (at least 4), or `last`";

/** Stands for the most recently updated session. The IDs of all agents are longer. */
const lastWord = "last";
const minPrefix = 4;
/** The number of sessions listed in an error about an ambiguous prefix. */
const shownCandidates = 5;
/** An ID in the usual form. */
const wholeUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** IDs in other forms are at least this long (measured: 30). */
const minOtherId = 28;

/**
 * Expands short session IDs in the argument `sessionId` and the option `--session` of a command, before it runs.
 * @throws PosternError `usage` for an ambiguous prefix
 */
export async function resolveSessionIds(command: Command, context: CliContext): Promise<void> {
  const at = command.registeredArguments.findIndex((argument) => argument.name() === "sessionId");
  const argument: unknown = command.processedArgs[at];
  if (typeof argument === "string") command.processedArgs[at] = await sessionIdOf(argument, context);
  const option: unknown = command.opts()["session"];
  if (typeof option === "string") command.setOptionValue("session", await sessionIdOf(option, context));
}

/** The ID that `given` stands for. If no session matches, returns `given`: the gateway reports unknown IDs, and memory has other IDs. */
async function sessionIdOf(given: string, context: CliContext): Promise<string> {
  if (given === lastWord) return lastSession(context);
  if (given.length < minPrefix || isWhole(given)) return given;
  const input = { idPrefix: given, limit: shownCandidates };
  const { sessions, total } = await (await connect(context)).codingListSessions(input, { output: listOutputSchema });
  const [first] = sessions;
  if (first === undefined || sessions.some(({ sessionId }) => sessionId === given)) return given;
  if (total === 1) return first.sessionId;
  const candidates = sessions.map(({ sessionId, title, updatedAt }) => {
    const age = ageText(context.clock.now() - Date.parse(updatedAt));
    return `${sessionId} (${cutEnd(plainLine(title ?? "no title"), 40)}, ${age})`;
  });
  const more = total > sessions.length ? `; and ${total - sessions.length} more` : "";
  throw new PosternError(
    "usage",
    `"${plainLine(given)}" is the start of ${count(total, "session ID")}: ${candidates.join("; ")}${more}. Add characters until it is unique.`,
  );
}

async function lastSession(context: CliContext): Promise<string> {
  const { sessions } = await (await connect(context)).codingListSessions({ limit: 1 }, { output: listOutputSchema });
  const [newest] = sessions;
  if (newest !== undefined) return newest.sessionId;
  throw new PosternError(
    "session_not_found",
    "There are no sessions yet. Start one with `postern coding ask <prompt>`.",
  );
}

function isWhole(id: string): boolean {
  return wholeUuid.test(id) || (id.length >= minOtherId && !/^[0-9a-f-]+$/i.test(id));
}
