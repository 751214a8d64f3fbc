import { z } from "zod";
import type { PendingPermission } from "../wire/coding.ts";

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

/** What a hook is told to pass on, in its agent's own form. */
export interface HookDecision {
  readonly decision: Readonly<Record<string, unknown>>;
  /** Laid over the call's own input, for what an agent allows only with more than it had (the answers to a question). */
  readonly input?: Readonly<Record<string, unknown>>;
}

const wantedSchema = z.strictObject({ permissionId: z.string().regex(/^[0-9a-f]{32}$/) });
const takenSchema = z.strictObject({ taken: z.literal(true) });

/** What a hook asks for; null for anything that is not of the hook script's form. */
export function parseWanted(line: string): string | null {
  return parse(wantedSchema, line)?.permissionId ?? null;
}

/** Whether a hook says that it passed the decision on to its agent. */
export function parseTaken(line: string): boolean {
  return parse(takenSchema, line) !== null;
}

function parse<T>(schema: z.ZodType<T>, line: string): T | null {
  try {
    return schema.safeParse(JSON.parse(line)).data ?? null;
  } catch {
    return null; // not a message: it asks nothing
  }
}
