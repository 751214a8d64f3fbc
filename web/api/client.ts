import { useSyncExternalStore } from "react";
import type { z } from "zod";
import { browserKeyHeader } from "../../src/wire/sign-in.ts";
import { ApiError, errorOfAnswer } from "./api-error.ts";

export interface ApiCall {
  /** GET when there is no body, else POST. */
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Left out of the address where undefined. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Given by what only reads. Without one the request changes something, and ends when its answer cannot be expected anymore. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer that takes longer was lost on the way: the slowest request, a session's start, gives up after half of this. */
const maxActMs = 120_000;

// Whether the network went away since the gateway last answered. `navigator.onLine` alone proves nothing: without any network it is false,
// and a gateway on the same machine is reached all the same. (Unit tests have no window.)
let linkLost = false;
if (typeof window !== "undefined")
  window.addEventListener("offline", () => {
    linkLost = true;
  });

/** Called when the gateway no longer knows this browser. */
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
  throw new ApiError("unreadable_answer", "This page does not understand the gateway's response. Reload it.", {
    status: response.status,
  });
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
  const wasOffline = !navigator.onLine && linkLost;
  const ending = signal === undefined ? endOfAct() : null;
  let response: Response;
  try {
    response = await fetch(address, {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal ?? ending?.signal ?? null,
    });
  } catch (error) {
    if (signal?.aborted === true) throw error;
    noteReachable(false);
    throw new ApiError("unreachable", unreachableWords(wasOffline, ending !== null));
  } finally {
    ending?.clear();
  }
  linkLost = false;
  noteReachable(true);
  if (response.ok) return response;
  const error = errorOfAnswer(response.status, await bodyOf(response));
  if (error.status === 401) onSignedOut();
  throw error;
}

interface ActEnd {
  readonly signal: AbortSignal;
  clear(): void;
}

/** Ends a request that changes something as soon as the network is gone, or when its answer is long overdue. */
function endOfAct(): ActEnd {
  const ending = new AbortController();
  const end = (): void => ending.abort();
  const timer = setTimeout(end, maxActMs);
  window.addEventListener("offline", end);
  return {
    signal: ending.signal,
    clear() {
      clearTimeout(timer);
      window.removeEventListener("offline", end);
    },
  };
}

function unreachableWords(wasOffline: boolean, changes: boolean): string {
  if (!changes) return "The gateway cannot be reached. It may be stopped, or the network is down.";
  return wasOffline
    ? "You are offline. Nothing was sent, and nothing will be sent later."
    : "The gateway did not respond. It may have received the request: check before you try again.";
}

async function bodyOf(response: Response): Promise<unknown> {
  try {
    const body: unknown = await response.json();
    return body;
  } catch {
    return undefined; // no JSON: the caller says that it cannot be read
  }
}

const storageName = "postern.key";

/** The key of this browser's session: it lies in the storage of this origin alone, where pages of other ports cannot read it. */
export function storedKey(): string | null {
  return localStorage.getItem(storageName);
}

export function storeKey(key: string): void {
  localStorage.setItem(storageName, key);
}

export function forgetKey(): void {
  localStorage.removeItem(storageName);
}

let reachable = true;
const listeners = new Set<() => void>();

/** Notes whether the last request reached the gateway. */
function noteReachable(next: boolean): void {
  if (next === reachable) return;
  reachable = next;
  for (const listener of listeners) listener();
}

/** Whether the gateway answered the last request. */
export function useReachable(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => reachable,
  );
}
