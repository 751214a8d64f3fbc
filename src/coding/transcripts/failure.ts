import { z } from "zod";

/** What has to happen before another turn can succeed: a log-in, or the end of a limit. */
export type FailureNeeds = "login" | "limit_reset";

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

const codexErrorSchema = z.object({
  codex_error_info: z.union([
    z.string(),
    z.record(z.string(), z.object({ http_status_code: z.number().nullish() }).catch({})),
  ]),
});

/** By the error of a turn in a rollout of Codex (measured). */
export function codexNeeds(error: unknown): FailureNeeds | undefined {
  const info = codexErrorSchema.safeParse(error).data?.codex_error_info;
  if (info === undefined) return undefined;
  if (typeof info !== "string") {
    return Object.values(info).some(({ http_status_code }) => http_status_code === 401) ? "login" : undefined;
  }
  if (info === "unauthorized") return "login";
  return info === "usage_limit_exceeded" ? "limit_reset" : undefined;
}

/** The readable part of an error: the API's own message where Codex quotes its JSON. */
export function codexErrorMessage(error: unknown): string {
  const text = typeof error === "string" ? error : messageIn(error);
  try {
    return messageIn(JSON.parse(text)) || text;
  } catch {
    return text; // not JSON, so it is the message itself
  }
}

function messageIn(error: unknown): string {
  if (typeof error !== "object" || error === null) return "The turn failed.";
  if ("error" in error) return messageIn(error.error);
  return "message" in error && typeof error.message === "string" ? error.message : "The turn failed.";
}

const codexWindowSchema = z.object({ used_percent: z.number(), resets_at: z.number() }).nullish().catch(null);
const codexLimitsSchema = z.object({
  rate_limits: z.object({ primary: codexWindowSchema, secondary: codexWindowSchema }),
});

/** When the limits that are used up end, by the newest token count of a rollout; null when it does not tell. */
export function codexResetsAt(tokenCount: unknown): string | null {
  const limits = codexLimitsSchema.safeParse(tokenCount).data?.rate_limits;
  const full = [limits?.primary, limits?.secondary].filter((window) => (window?.used_percent ?? 0) >= 100);
  return isoSeconds(
    full.reduce<number | undefined>((latest, window) => Math.max(latest ?? 0, window?.resets_at ?? 0), undefined),
  );
}

// The last second that a date can name.
const lastSecond = 8_640_000_000_000;

function isoSeconds(seconds: number | undefined): string | null {
  if (seconds === undefined || !(seconds > 0 && seconds <= lastSecond)) return null;
  return new Date(seconds * 1000).toISOString();
}
