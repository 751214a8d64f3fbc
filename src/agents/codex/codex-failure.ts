import { z } from "zod";
import { type FailureNeeds, isoSeconds } from "../../transcripts/index.ts";

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
