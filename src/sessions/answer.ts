import { z } from "zod";
import type { Caller } from "../wire/caller.ts";
import type { AnswerPermissionInput, AnswerPermissionOutput, PendingPermission } from "../wire/coding.ts";
import type { PermissionRulesPreview, PreviewPermissionRulesInput, RuledRequest } from "../wire/permission-rules.ts";
import { dialogAsked } from "./dialog-desk.ts";
import { sessionError } from "./errors.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import type { StandingRules } from "./ports.ts";
import type { RuleRequestOf } from "./rule-requests.ts";

export interface AnswerDeps {
  readonly locator: SessionLocator;
  readonly rules?: StandingRules;
  readonly ruleRequestOf?: RuleRequestOf;
}

/**
 * `coding_answer_permission`: answers what an agent asks, through the agent's hook that waits for the decision. Not in the specification.
 *
 * The decision travels only over the hook's own connection. If no hook waits any longer, the agent's dialog must be answered in its
 * terminal.
 */
export function createAnswer(
  deps: AnswerDeps,
): (input: AnswerPermissionInput, caller: Caller) => Promise<AnswerPermissionOutput> {
  const { locator } = deps;
  return async (input, caller) => {
    const session = await locator.locate(input.sessionId, caller);
    const permission = findOpen(session, input);
    const forget = await remember(deps, session, { permission, input, caller });
    const taken = await (permission.kind === "dialog"
      ? answerDialog(session, permission, input)
      : answerPermission(session, permission, input)
    ).catch(async (error: unknown) => {
      await forget();
      throw error;
    });
    if (!taken) {
      await forget();
      throw notTaken(await locator.locate(input.sessionId, caller), input);
    }
    return locator.summaryOf(await locator.locate(input.sessionId, caller));
  };
}

/** Adds the rules before the answer, so that they apply to the agent's next request. @returns a function that removes them again */
async function remember(
  deps: AnswerDeps,
  session: LocatedSession,
  asked: { readonly permission: PendingPermission; readonly input: AnswerPermissionInput; readonly caller: Caller },
): Promise<() => Promise<void>> {
  const { permission, input, caller } = asked;
  const { decision: effect, remember: wanted } = input;
  if (wanted === undefined) return async () => undefined;
  const request = await ruleRequest(deps, session, permission);
  if (request === null || effect === undefined || deps.rules === undefined) {
    throw sessionError("invalid_request", `${notRememberable} Answer it without "remember".`);
  }
  return deps.rules.remember(request, { effect, remember: wanted }, caller);
}

const notRememberable =
  "This request cannot be remembered: standing rules cover only shell commands and access to single files.";

/** An open permission as rules see it; null if they cannot answer it. */
async function ruleRequest(
  { ruleRequestOf }: AnswerDeps,
  { live, template, record }: LocatedSession,
  { permissionId }: PendingPermission,
): Promise<RuledRequest | null> {
  const open = live?.state.permissions.find((permission) => permission.permissionId === permissionId);
  if (open === undefined || ruleRequestOf === undefined) return null;
  return ruleRequestOf({ ...open, asks: open.kind }, { template, record: live?.record ?? record });
}

/** Describes the rules that an answer would add. Nothing is stored. */
export function createRulePreview(
  deps: AnswerDeps,
): (input: PreviewPermissionRulesInput, caller: Caller) => Promise<PermissionRulesPreview> {
  return async ({ sessionId, permissionId, effect = "allow", remember: wanted }, caller) => {
    const session = await deps.locator.locate(sessionId, caller);
    const permission = findOpen(session, { sessionId, permissionId });
    const request = await ruleRequest(deps, session, permission);
    if (request === null || deps.rules === undefined) {
      return { rules: [], undriven: false, covers: false, refusal: notRememberable };
    }
    return deps.rules.preview(request, { effect, remember: wanted });
  };
}

async function answerPermission(
  { live }: LocatedSession,
  permission: PendingPermission,
  input: AnswerPermissionInput,
): Promise<boolean> {
  const { decision, choice, message, answers } = input;
  if (decision === undefined || choice !== undefined) {
    throw sessionError("invalid_request", `Answer a ${permission.kind} with "decision", not with "choice".`);
  }
  requireFitting(permission, { decision, message, answers });
  const answer = { decision, message: message ?? null, answers: answers ?? {} };
  return (await live?.answerPermission(permission, answer)) ?? false;
}

async function answerDialog(
  { live }: LocatedSession,
  { permissionId, choices = [] }: PendingPermission,
  { choice, decision, message, answers }: AnswerPermissionInput,
): Promise<boolean> {
  const offered = choices.map(({ choiceId, label }) => `${choiceId} (${label})`).join(", ");
  if (choice === undefined || decision !== undefined || message !== undefined || answers !== undefined) {
    throw sessionError("invalid_request", `Answer a dialog with "choice" only. It offers: ${offered}.`);
  }
  if (!choices.some(({ choiceId }) => choiceId === choice)) {
    throw sessionError("invalid_request", `The dialog has no choice ${JSON.stringify(choice)}. It offers: ${offered}.`);
  }
  return (await live?.answerDialog(permissionId, choice)) ?? false;
}

function findOpen({ live, record }: LocatedSession, input: AnswerPermissionInput): PendingPermission {
  const open = isOpen(live, input);
  if (open !== null) return open;
  throw gone(record.sessionId, input.permissionId);
}

function isOpen(live: LocatedSession["live"], { permissionId }: AnswerPermissionInput): PendingPermission | null {
  if (live === null) return null;
  const dialog = dialogAsked(live.state);
  const open = [...live.state.permissions, ...(dialog === null ? [] : [dialog])];
  return open.find((permission) => permission.permissionId === permissionId) ?? null;
}

function gone(sessionId: string, permissionId: string): Error {
  return sessionError(
    "permission_gone",
    `Session ${sessionId} has no open permission request ${permissionId}: it was answered, or its turn was stopped.`,
  );
}

function notTaken({ live, record }: LocatedSession, input: AnswerPermissionInput): Error {
  const { permissionId } = input;
  const open = isOpen(live, input);
  if (open === null) return gone(record.sessionId, permissionId);
  if (open.kind === "dialog") {
    return sessionError(
      "permission_pending",
      `The dialog of session ${record.sessionId} did not accept the choice. Try again, or answer it in its terminal.`,
    );
  }
  return sessionError(
    "permission_pending",
    `Permission ${permissionId} of session ${record.sessionId} is now shown in the agent's own dialog, where this answer cannot be given. Answer it in the agent's terminal, or interrupt the turn.`,
  );
}

const questionsSchema = z.looseObject({ questions: z.array(z.looseObject({ question: z.string() })) });

/** Refuses an answer that the agent would silently drop, or that would leave its dialog open. @throws PosternError `invalid_request` */
function requireFitting(
  { kind, input: asked }: PendingPermission,
  input: Pick<AnswerPermissionInput, "decision" | "message" | "answers">,
): void {
  const { decision, message, answers } = input;
  if (decision === "allow" && message !== undefined) {
    throw sessionError(
      "invalid_request",
      `"message" can only be sent with a denial. To add instructions, send the agent a prompt afterwards.`,
    );
  }
  if (kind !== "question" || decision === "deny") {
    if (answers !== undefined) {
      throw sessionError("invalid_request", `"answers" goes with allowing a question of the agent. Leave it out.`);
    }
    return;
  }
  const questions = questionsSchema.safeParse(asked).data?.questions.map(({ question }) => question) ?? [];
  const missing = questions.filter((question) => answers?.[question] === undefined);
  const unknown = Object.keys(answers ?? {}).filter((question) => !questions.includes(question));
  if (missing.length === 0 && unknown.length === 0) return;
  const [first = ""] = missing.length > 0 ? missing : unknown;
  const problem = missing.length > 0 ? "has no answer" : "was not asked";
  throw sessionError("invalid_request", `The question "${first}" ${problem}. Give "answers" by the questions' texts.`);
}
