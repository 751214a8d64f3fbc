import type { PendingPermission } from "../wire/coding.ts";
import type { HookDecision } from "./permission-messages.ts";

/** What somebody decided on a permission. */
export interface PermissionAnswer {
  readonly decision: "allow" | "deny";
  /** Told to the agent with a denial. */
  readonly message: string | null;
  /** To a question: the answer to each, by the question's text. */
  readonly answers: Readonly<Record<string, string>>;
}

const noReason = "The user does not allow this.";

/**
 * An answer as a PermissionRequest hook gives it, in both agents (measured). Claude Code takes an answered question and an approved plan
 * only with the call's input, into which the answers go; a bare "allow" leaves the dialog open.
 */
export function toHookDecision(asks: PendingPermission["kind"], answer: PermissionAnswer): HookDecision {
  const { decision: behavior, message, answers } = answer;
  if (behavior === "deny") return { decision: { behavior, message: message ?? noReason } };
  if (asks === "permission") return { decision: { behavior } };
  return { decision: { behavior }, input: asks === "question" ? { answers } : {} };
}
