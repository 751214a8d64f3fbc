import type { z } from "zod";
import { browserKeyHeader } from "../../src/wire/sign-in.ts";
import { ApiError, errorOfAnswer } from "./api-error.ts";
import { storedKey } from "./key.ts";

/** A call of the API. */
export interface ApiCall {
  /** GET when there is no body, else POST. */
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Left out of the address where undefined. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** Told when the gateway does not know this browser any more. */
let onSignedOut: () => void = () => undefined;

export function whenSignedOut(handler: () => void): void {
  onSignedOut = handler;
}

/**
 * Asks the gateway, and parses its answer.
 * @throws ApiError
 */
export async function callApi<Answer extends z.ZodType>(
  path: string,
  answer: Answer,
  call: ApiCall = {},
): Promise<z.infer<Answer>> {
  const response = await fetchApi(path, call);
  const parsed = answer.safeParse(await bodyOf(response));
  if (parsed.success) return parsed.data;
  throw new ApiError(
    "unreadable_answer",
    "The gateway answered in a way that this page does not know. Load it again.",
    {
      status: response.status,
    },
  );
}

/**
 * Asks the gateway where nothing of the answer matters.
 * @throws ApiError
 */
export async function sendApi(path: string, call: ApiCall): Promise<void> {
  await fetchApi(path, call);
}

/**
 * One of the coding tools.
 * @throws ApiError
 */
export function callTool<Answer extends z.ZodType>(
  tool: string,
  answer: Answer,
  call: { readonly input: unknown; readonly signal?: AbortSignal | undefined },
): Promise<z.infer<Answer>> {
  return callApi(`/api/coding/${tool}`, answer, { body: call.input, signal: call.signal });
}

/**
 * An answer as it comes, for what is not JSON.
 * @throws ApiError
 */
export async function fetchApi(path: string, call: ApiCall): Promise<Response> {
  const { body, signal, query = {}, method = body === undefined ? "GET" : "POST" } = call;
  const key = storedKey();
  const headers = {
    ...call.headers,
    ...(key === null ? {} : { [browserKeyHeader]: key }),
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  const address = given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
  const response = await fetch(address, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  }).catch((error: unknown) => {
    if (signal?.aborted === true) throw error;
    throw new ApiError("unreachable", "The gateway cannot be reached. It may be stopped, or the network is gone.");
  });
  if (response.ok) return response;
  const error = errorOfAnswer(response.status, await bodyOf(response));
  if (error.status === 401) onSignedOut();
  throw error;
}

async function bodyOf(response: Response): Promise<unknown> {
  try {
    const body: unknown = await response.json();
    return body;
  } catch {
    return undefined; // no JSON: the caller says that it cannot be read
  }
}
