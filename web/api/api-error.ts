import { PosternClientError } from "../../src/client/index.ts";

/** Whether the gateway reports a memory entry as missing. A proxy's 404 does not count. */
export function isGone(error: unknown): boolean {
  return hasCode(error, "log_not_found");
}

export function hasCode(error: unknown, code: PosternClientError["code"]): error is PosternClientError {
  return error instanceof PosternClientError && error.code === code;
}

export function messageOf(error: unknown): string {
  if (hasCode(error, "unreadable_answer") && error.status < 400)
    return "This page does not understand the gateway's response. Reload it.";
  if (hasCode(error, "timeout"))
    return "The gateway did not respond. It may have received the request: check before you try again.";
  return error instanceof Error ? error.message : String(error);
}

/** The error of one form field; undefined when the error is not about it. */
export function fieldError(error: unknown, path: string): string | undefined {
  if (!(error instanceof PosternClientError)) return undefined;
  return error.fields.find((field) => field.path === path)?.message;
}

/**
 * An additional field of an error, or null: `sessionId` (the session that a failed start created), `scriptId` (the run of a script)
 * or `draft` (the text in the terminal's composer).
 */
export function detailOf(error: unknown, name: "sessionId" | "draft" | "scriptId"): string | null {
  const detail = error instanceof PosternClientError ? error.details[name] : undefined;
  return typeof detail === "string" ? detail : null;
}
