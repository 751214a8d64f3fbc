import { z } from "zod";
import { type ProblemCode, problemCodes } from "../../src/wire/problem.ts";

/** The codes of a gateway, and ours for what never became an answer: no connection, and an answer that cannot be read. */
export type ApiErrorCode = ProblemCode | "unreachable" | "unreadable_answer";

// A gateway of another version may know other codes, and a proxy in front answers in its own way.
const problemSchema = z.object({
  detail: z.string(),
  code: z.enum(problemCodes),
  sessionId: z.string().optional(),
  draft: z.string().optional(),
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

/** Why a call of the API failed; `message` is for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ApiErrorCode;
  /** 0 when there was no answer. */
  readonly status: number;
  /** Of a body that does not fit: which field, by its path, and why. */
  readonly fields: readonly { readonly path: string; readonly message: string }[];

  /** Of a session that came to be before it failed, and can be read. */
  readonly sessionId: string | null;
  /** Of `composer_not_empty`: what was typed in the terminal. */
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

/** Whether an entry of the memory is not there, as the gateway itself reports it: an answer of a proxy says nothing. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === "log_not_found";
}

/** What to show of something that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** What is wrong with one field of a form; undefined when the error is not about it. */
export function fieldError(error: unknown, path: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  return error.fields.find((field) => field.path === path)?.message;
}
