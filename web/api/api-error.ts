import { z } from "zod";
import { type ProblemCode, problemCodes } from "../../src/wire/problem.ts";

/** The gateway's codes, plus ours for a request without an answer and for an answer we cannot parse. */
export type ApiErrorCode = ProblemCode | "unreachable" | "unreadable_answer";

// Another version of the gateway may use other codes, and a proxy answers in its own way.
const problemSchema = z.object({
  detail: z.string(),
  code: z.enum(problemCodes),
  sessionId: z.string().optional(),
  draft: z.string().optional(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** 0 without an answer. */
  readonly status: number;
  /** Invalid fields of the request body. */
  readonly fields: readonly { readonly path: string; readonly message: string }[];

  /** The session that a failed start created; it can be read. */
  readonly sessionId: string | null;
  /** With `composer_not_empty`: the text in the terminal's composer. */
  readonly draft: string | null;

  constructor(
    code: ApiErrorCode,
    message: string,
    options: {
      status?: number;
      fields?: ApiError["fields"];
      sessionId?: string | undefined;
      draft?: string | undefined;
    } = {},
  ) {
    super(message);
    this.code = code;
    this.status = options.status ?? 0;
    this.fields = options.fields ?? [];
    this.sessionId = options.sessionId ?? null;
    this.draft = options.draft ?? null;
  }
}

export function errorOfAnswer(status: number, body: unknown): ApiError {
  const problem = problemSchema.safeParse(body);
  if (!problem.success) {
    return new ApiError("unreadable_answer", `Unexpected response from the gateway (status ${status}).`, {
      status,
    });
  }
  const { code, detail, sessionId, draft, errors = [] } = problem.data;
  return new ApiError(code, detail, { status, fields: errors, sessionId, draft });
}

/** Whether the gateway reports a memory entry as missing. A proxy's 404 does not count. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === "log_not_found";
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The error of one form field; undefined when the error is not about it. */
export function fieldError(error: unknown, path: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  return error.fields.find((field) => field.path === path)?.message;
}
