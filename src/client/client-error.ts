import type { Problem } from "./operations.ts";

/** The gateway's codes, those of this client, and codes of newer gateways. */
export type ClientErrorCode = Problem["code"] | "unreachable" | "timeout" | "unreadable_answer" | (string & {});

/** A call that failed. */
export class PosternClientError extends Error {
  override readonly name = "PosternClientError";
  /**
   * The gateway's code, or `unreachable` (no connection), `timeout` (no answer in time), `unreadable_answer` (not the gateway's: perhaps
   * a proxy's, or another version's).
   */
  readonly code: ClientErrorCode;
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  /** When to try again, from `Retry-After`; null if the gateway does not say. */
  readonly retryAfterMs: number | null;
  /** Invalid fields of the request. */
  readonly fields: readonly { readonly path: string; readonly message: string }[];
  /** Further facts, such as `sessionId` or `lastScreen`. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ClientErrorCode,
    detail: string,
    options: {
      readonly status?: number;
      readonly retryAfterMs?: number | null;
      readonly fields?: PosternClientError["fields"];
      readonly details?: PosternClientError["details"];
      readonly cause?: unknown;
    } = {},
  ) {
    super(detail, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? 0;
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.fields = options.fields ?? [];
    this.details = options.details ?? {};
  }

  /** What happened, to what, and what to do next: the message. */
  get detail(): string {
    return this.message;
  }
}

/** The error in an answer with this status and body. @see RFC 9457 section 3 */
export function errorOfAnswer(
  status: number,
  body: unknown,
  { retryAfter = null }: { readonly retryAfter?: string | null } = {},
): PosternClientError {
  const retryAfterMs = millisecondsOf(retryAfter);
  if (!isRecord(body) || typeof body["code"] !== "string" || typeof body["detail"] !== "string") {
    const message = `Unexpected response from the gateway (status ${status}).`;
    return new PosternClientError("unreadable_answer", message, { status, retryAfterMs });
  }
  const { code, detail, errors, type: _type, title: _title, status: _status, ...details } = body;
  const fields = Array.isArray(errors) ? errors.filter(isField) : [];
  return new PosternClientError(code, detail, { status, retryAfterMs, fields, details });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function isField(value: unknown): value is PosternClientError["fields"][number] {
  return isRecord(value) && typeof value["path"] === "string" && typeof value["message"] === "string";
}

/** Seconds, or a date. @see RFC 9110 section 10.2.3 */
function millisecondsOf(retryAfter: string | null): number | null {
  if (retryAfter === null) return null;
  const delayMs = /^\d+$/.test(retryAfter) ? Number(retryAfter) * 1000 : Date.parse(retryAfter) - Date.now();
  return Number.isNaN(delayMs) ? null : Math.max(0, delayMs);
}
