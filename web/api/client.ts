import { useSyncExternalStore } from "react";
import type { z } from "zod";
import { browserKeyHeader } from "../../src/wire/sign-in.ts";
import { ApiError, errorOfAnswer } from "./api-error.ts";

export interface ApiCall {
  /** GET when there is no body, else POST. */
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  /** Undefined values are omitted. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Set by reads. Without a signal the request changes something, and has a time limit. */
  readonly signal?: AbortSignal | undefined;
}

/** The slowest request, starting a session, times out after half of this. */
const maxActMs = 120_000;

// Whether the network was lost since the gateway last answered. `navigator.onLine` is not enough: it is false without any network,
// though a gateway on the same machine is still reachable. (Unit tests have no window.)
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

/** Calls the API and parses the answer. @throws ApiError */
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

/** Calls the API and ignores the answer's body. @throws ApiError */
export async function sendApi(path: string, call: ApiCall): Promise<void> {
  await fetchApi(path, call);
}

/** Calls a coding tool. @throws ApiError */
export function callTool<Answer extends z.ZodType>(
  tool: string,
  answer: Answer,
  call: { readonly input: unknown; readonly signal?: AbortSignal | undefined },
): Promise<z.infer<Answer>> {
  return callApi(`/api/coding/${tool}`, answer, { body: call.input, signal: call.signal });
}

/** Returns the raw response, for answers that are not JSON. @throws ApiError */
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

/** Aborts a change when the network is lost, or when its answer is long overdue. */
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
    return undefined; // not JSON: the caller reports it as unreadable
  }
}

const storageName = "postern.key";

/** The key of this browser's session, in the storage of this origin: pages on other ports cannot read it. */
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

function noteReachable(next: boolean): void {
  if (next === reachable) return;
  reachable = next;
  for (const listener of listeners) listener();
}

export function useReachable(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => reachable,
  );
}
