export type Headers = Readonly<Record<string, string>>;

/** Options of a single call. */
export interface CallOptions<T = unknown> {
  /** Aborts the call, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Instead of the client's. */
  readonly timeoutMs?: number;
  readonly headers?: Headers;
  /** Checks the answer, for example a zod schema. Without it, the answer is trusted. */
  readonly output?: { parse(answer: unknown): T };
}

/** Its fields also fill the `{placeholders}` of the route. Undefined query parameters are omitted. */
export type RequestInput = { readonly query?: object | undefined } | { readonly body?: object | undefined };

/** How {@link Operations} send a request. */
export interface Send {
  json<T>(route: string, input: RequestInput, options: CallOptions<T> | undefined): Promise<T>;
  /** For answers that are not JSON. */
  raw(route: string, input: RequestInput, options: CallOptions | undefined): Promise<Response>;
}
