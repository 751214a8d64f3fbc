import { type AgentTemplate, toHookDecision } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { PendingPermissions } from "./pending-permissions.ts";
import type { StandingRules } from "./ports.ts";
import type { AskedPermission, RuleRequestOf } from "./rule-requests.ts";
import type { SessionRecord } from "./session-store.ts";

export interface RuleAnswersDeps {
  readonly rules?: StandingRules;
  readonly ruleRequestOf?: RuleRequestOf;
  readonly clock: Clock;
  readonly log: Log;
}

// A store that does not respond must not hide a permission request.
const lookupMs = 2_000;

/**
 * Answers permission requests by standing rules, before they are shown.
 * @returns the answer that the agent accepted; undefined if the request must be shown, including after any failure
 */
export function createRuleAnswers(
  { rules, ruleRequestOf, clock, log }: RuleAnswersDeps,
  session: {
    readonly template: AgentTemplate;
    readonly record: () => SessionRecord;
    readonly pending: Pick<PendingPermissions, "awaitHook" | "decideUnshown">;
  },
): (asked: AskedPermission) => Promise<"allow" | "deny" | undefined> {
  const { template, pending } = session;

  async function answer(asked: AskedPermission): Promise<"allow" | "deny" | undefined> {
    const { permissionId } = asked;
    const look = async () => {
      const request = await ruleRequestOf?.(asked, { template, record: session.record() });
      const verdict = request && (await rules?.verdictOn(request));
      return request && verdict ? { request, verdict } : null;
    };
    if ((await inTime(look(), clock)) === null || !(await pending.awaitHook(permissionId))) return undefined;
    // Checked again, because the rule may have been removed. Nothing is awaited between this and the decision.
    const found = await inTime(look(), clock);
    if (found === null) return undefined;
    const { effect, message } = found.verdict;
    const decision = toHookDecision("permission", { decision: effect, message, answers: {} });
    if (!(await pending.decideUnshown(permissionId, decision))) return undefined;
    void rules?.noteUse(found.verdict, found.request); // never throws, and the agent does not wait for it
    return effect;
  }

  return async (asked) => {
    if (rules === undefined || asked.asks !== "permission") return undefined;
    try {
      return await answer(asked);
    } catch (error) {
      log.warn({ sessionId: session.record().sessionId, error }, "cannot look up standing rules");
      return undefined;
    }
  };
}

/** Null if it takes too long. */
function inTime<T>(task: Promise<T>, clock: Clock): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(lookupMs, () => resolve(null));
    task.then(resolve, reject).finally(cancel);
  });
}
