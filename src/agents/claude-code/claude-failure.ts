import { z } from "zod";
import { type FailureNeeds, isoSeconds } from "../../transcripts/index.ts";

const loginErrors = ["authentication_failed", "oauth_org_not_allowed", "verification_required"];
const limitErrors = ["rate_limit", "billing_error", "account_on_hold"];

/** By the code that Claude Code gives a failed turn, in its hook and in its transcript (measured). */
export function claudeNeeds(code: unknown): FailureNeeds | undefined {
  if (typeof code !== "string") return undefined;
  if (loginErrors.includes(code)) return "login";
  return limitErrors.includes(code) ? "limit_reset" : undefined;
}

const claudeLimitSchema = z.object({ resetsAt: z.number() });
const claudeLineSchema = z.object({
  quotaLimits: claudeLimitSchema.nullish().catch(null),
  apiErrorParams: z.object({ rate_limit_info: claudeLimitSchema }).nullish().catch(null),
});

/** When the limit ends, as ISO 8601, by the line of a failed turn; null when Claude Code does not tell, as without a subscription. */
export function claudeResetsAt(line: unknown): string | null {
  const { data } = claudeLineSchema.safeParse(line);
  return isoSeconds(data?.quotaLimits?.resetsAt ?? data?.apiErrorParams?.rate_limit_info.resetsAt);
}
