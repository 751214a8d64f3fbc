import { useSyncExternalStore } from "react";
import { createClient, type FetchInit, type PosternClient, PosternClientError } from "../../src/client/index.ts";
import { browserKeyHeader } from "../../src/wire/sign-in.ts";

/** The slowest request, starting a session, times out after half of this. */
const timeoutMs = 120_000;

// Whether the network was lost since the gateway last answered. `navigator.onLine` is not enough: it is false without any network,
// though a gateway on the same machine is still reachable. (Unit tests have no window.)
let linkLost = false;
/** Aborted when the network is lost. */
let link = new AbortController();
if (typeof window !== "undefined")
  window.addEventListener("offline", () => {
    linkLost = true;
    link.abort();
    link = new AbortController();
  });

/** Called when the gateway no longer knows this browser. */
let onSignedOut: () => void = () => undefined;

export function whenSignedOut(handler: () => void): void {
  onSignedOut = handler;
}

/** For reads, which can be repeated. */
export const reading = clientFor("reading");

/** For changes. They end when the network is lost, and the user decides whether to send them again. */
export const acting = clientFor("acting");

function clientFor(purpose: "reading" | "acting"): PosternClient {
  return createClient({ baseUrl: "", timeoutMs, headers, fetch: (path, init) => fetchApi(path, init, purpose) });
}

function headers(): Readonly<Record<string, string>> {
  const key = storedKey();
  return key === null ? {} : { [browserKeyHeader]: key };
}

async function fetchApi(path: string, init: FetchInit, purpose: "reading" | "acting"): Promise<Response> {
  const wasOffline = !navigator.onLine && linkLost;
  let response: Response;
  try {
    const signal = purpose === "acting" ? AbortSignal.any([init.signal, link.signal]) : init.signal;
    response = await fetch(path, { ...init, signal });
  } catch (error) {
    if (init.signal.aborted) throw error;
    noteReachable(false);
    throw new PosternClientError("unreachable", unreachableWords(wasOffline, purpose), { cause: error });
  }
  linkLost = false;
  noteReachable(true);
  if (response.status === 401) onSignedOut();
  return response;
}

function unreachableWords(wasOffline: boolean, purpose: "reading" | "acting"): string {
  if (purpose === "reading") return "The gateway cannot be reached. It may be stopped, or the network is down.";
  return wasOffline
    ? "You are offline. Nothing was sent, and nothing will be sent later."
    : "The gateway did not respond. It may have received the request: check before you try again.";
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
