import { z } from "zod";
import type { AnswerPermissionInput, AnswerPermissionOutput, PendingPermission } from "../wire/coding.ts";
import { codingError } from "./errors.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import type { Caller } from "./ports.ts";

/**
 * `coding_answer_permission`: answers what an agent asks, over the hook that waits for it at the agent's side. Ours.
 *
 * The decision travels over the hook's own connection and no other way; where none waits any longer the agent's dialog has to be
 * answered in its terminal.
 */
export function createAnswer({
  locator,
}: {
  readonly locator: SessionLocator;
}): (input: AnswerPermissionInput, caller: Caller) => Promise<AnswerPermissionOutput> {
  return async (input, caller) => {
    const session = await locator.locate(input.sessionId, caller);
    const permission = findOpen(session, input);
    requireFitting(permission, input);
    const { live } = session;
    const taken = await live?.answerPermission(permission, {
      decision: input.decision,
      message: input.message ?? null,
      answers: input.answers ?? {},
    });
    if (taken !== true) throw notTaken(await locator.locate(input.sessionId, caller), input);
    return locator.summaryOf(await locator.locate(input.sessionId, caller));
  };
}

function findOpen({ live, record }: LocatedSession, { permissionId }: AnswerPermissionInput): PendingPermission {
  const permission = live?.state.permissions.find((open) => open.permissionId === permissionId);
  if (permission !== undefined) return permission;
  throw gone(record.sessionId, permissionId);
}

function gone(sessionId: string, permissionId: string): Error {
  return codingError(
    "permission_gone",
    `Session ${sessionId} does not ask for permission ${permissionId} (any more): it was answered, or its turn was stopped.`,
  );
}

function notTaken({ live, record }: LocatedSession, { permissionId }: AnswerPermissionInput): Error {
  const open = live?.state.permissions.some((permission) => permission.permissionId === permissionId) ?? false;
  if (!open) return gone(record.sessionId, permissionId);
  return codingError(
    "permission_pending",
    `Permission ${permissionId} of session ${record.sessionId} waits in the agent's own dialog by now. Answer it in its terminal, or interrupt the turn.`,
  );
}

const questionsSchema = z.looseObject({ questions: z.array(z.looseObject({ question: z.string() })) });

/** What would be dropped in silence, or leave the agent's dialog open, is refused. @throws PosternError `invalid_request` */
function requireFitting({ kind, input: asked }: PendingPermission, input: AnswerPermissionInput): void {
  const { decision, message, answers } = input;
  if (decision === "allow" && message !== undefined) {
    throw codingError("invalid_request", `"message" goes with a denial. To tell the agent more, ask it afterwards.`);
  }
  if (kind !== "question" || decision === "deny") {
    if (answers !== undefined) {
      throw codingError("invalid_request", `"answers" goes with allowing a question of the agent. Leave it out.`);
    }
    return;
  }
  const questions = questionsSchema.safeParse(asked).data?.questions.map(({ question }) => question) ?? [];
  const missing = questions.filter((question) => answers?.[question] === undefined);
  const unknown = Object.keys(answers ?? {}).filter((question) => !questions.includes(question));
  if (missing.length === 0 && unknown.length === 0) return;
  const [first = ""] = missing.length > 0 ? missing : unknown;
  const words = missing.length > 0 ? "has no answer" : "was not asked";
  throw codingError("invalid_request", `The question "${first}" ${words}. Give "answers" by the questions' texts.`);
}
