/**
 * An error that a caller can act on. `code` is from a closed union of the throwing capability; `http/problem-response` alone decides its
 * HTTP status. `message` says what happened, to what, and what to do next.
 */
export class PosternError<Code extends string = string> extends Error {
  readonly code: Code;
  /** Further facts for the response, such as `sessionId`; never secrets. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: Code,
    message: string,
    options: { readonly cause?: unknown; readonly details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "PosternError";
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** Whether `error` is a {@link PosternError}; unlike a bare `instanceof`, its `code` is then a string and not `any`. */
export function isPosternError(error: unknown): error is PosternError {
  return error instanceof PosternError;
}

/** Whether `error` is a {@link PosternError} with this code. */
export function hasCode(error: unknown, code: string): error is PosternError {
  return error instanceof PosternError && error.code === code;
}

/** Whether `error` has one of these system error codes, for example `ENOENT`. */
export function isErrno(error: unknown, ...names: readonly string[]): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && names.includes(error.code);
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
