import type { Clock } from "../core/clock.ts";
import { hasCode, isErrno } from "../core/errors.ts";
import { exchangeMcp, headersOf, type McpAnswer, type McpReports, type Message, versionOf } from "./mcp-exchange.ts";

/** The gateway's address and the credential. */
export interface GatewayPlace {
  readonly socketPath: string;
  readonly token: string;
  readonly clock: Clock;
}

/** The data needed to reopen a session. */
export interface Session {
  readonly sessionId: string;
  readonly version: string;
}

/** How a message is sent. */
export interface Sending {
  /** Null for a message that belongs to no session. */
  readonly session: Session | null;
  readonly signal: AbortSignal;
  readonly reports?: McpReports;
}

/** Pauses between attempts to reach a gateway; each is twice as long as the previous one. */
export const pauses = { firstMs: 200, longestMs: 5_000 };
/** How long a request waits for a gateway that restarts. */
const patienceMs = 15_000;
const goodbyeMs = 1_000;

/**
 * The session of a client of the 2025 specifications with the gateway, and its messages. It is reopened if the gateway has dropped it.
 */
export class BridgeSession {
  readonly #place: GatewayPlace;
  readonly #ending: AbortSignal;
  readonly #onOpenedAnew: (session: Session) => void;
  readonly #subscribed = new Set<string>();
  #initialize: Message | null = null;
  #current: Session | null = null;
  /** Settles when the session that is being opened is ready; null otherwise. */
  #opening: Promise<void> | null = null;
  #negotiated = "2025-11-25";
  #count = 0;

  constructor(place: GatewayPlace, ending: AbortSignal, onOpenedAnew: (session: Session) => void) {
    this.#place = place;
    this.#ending = ending;
    this.#onOpenedAnew = onOpenedAnew;
  }

  get current(): Session | null {
    return this.#current;
  }

  /** Opens the client's session; later messages wait for the answer. */
  openFor(initialize: Message, answer: () => Promise<void>): void {
    this.#initialize = initialize;
    void this.#open(answer());
  }

  /** The values that the gateway chose. */
  negotiated(version: string): void {
    this.#negotiated = version;
  }

  begun({ sessionId }: McpAnswer): void {
    if (sessionId !== null) this.#current = { sessionId, version: this.#negotiated };
  }

  /** The granted subscriptions that the next session has to request again. */
  remember({ method, params }: Message): void {
    const uri = params?.["uri"];
    if (typeof uri !== "string") return;
    if (method === "resources/subscribe") this.#subscribed.add(uri);
    if (method === "resources/unsubscribe") this.#subscribed.delete(uri);
  }

  /** Retries while a gateway restarts, so that unsent messages wait for it. */
  async whenThere<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock } = this.#place;
    const deadline = clock.now() + patienceMs;
    for (let pauseMs = pauses.firstMs; ; pauseMs = Math.min(pauseMs * 2, pauses.longestMs)) {
      try {
        return await attempt();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!isUnsent(error) || clock.now() + pauseMs > deadline) throw error;
        await clock.sleep(pauseMs, signal);
      }
    }
  }

  /** Drops a session that the gateway no longer has; the next message opens another. */
  forget(lost: Session): void {
    if (this.#current === lost) this.#current = null;
  }

  /**
   * Waits for the session of a message, and opens one if needed.
   * @returns null for a message without a session, or when none could be opened
   */
  async have(message: Message, signal: AbortSignal): Promise<Session | null> {
    signal.throwIfAborted();
    if (versionOf(message) !== null || message.method === "initialize") return null;
    if (this.#opening !== null) await abortable(this.#opening, signal);
    else if (this.#current === null && this.#initialize !== null) await abortable(this.#open(this.#begin()), signal);
    return this.#current;
  }

  /** Sends a message in the session from {@link have}, even if it has been dropped since. */
  post(message: Message, { session, signal, reports }: Sending): Promise<McpAnswer> {
    const version = versionOf(message);
    const headers = version !== null ? headersOf(message, version) : sessionHeaders(session);
    return this.exchange({ method: "POST", headers, body: JSON.stringify(message), signal }, reports);
  }

  exchange(
    call: Parameters<typeof exchangeMcp>[1],
    reports: McpReports = { onMessage: async () => undefined },
  ): Promise<McpAnswer> {
    return exchangeMcp(this.#place, call, reports);
  }

  /** Ends the session at the gateway now, rather than by its timeout. */
  async end(): Promise<void> {
    if (this.#current === null) return;
    const call = { method: "DELETE" as const, headers: sessionHeaders(this.#current), body: null };
    await this.exchange({ ...call, signal: AbortSignal.timeout(goodbyeMs) }).catch(() => undefined);
  }

  #open(work: Promise<void>): Promise<void> {
    const opening: Promise<void> = work.finally(() => {
      if (this.#opening === opening) this.#opening = null;
    });
    opening.catch(() => undefined); // reported to its waiters
    this.#opening = opening;
    return opening;
  }

  async #begin(): Promise<void> {
    const signal = this.#ending;
    const initialize = { ...this.#initialize, jsonrpc: "2.0" as const, id: this.#ownId() };
    const answer = await this.whenThere(() => this.post(initialize, { session: null, signal }), signal);
    this.begun(answer);
    const session = this.#current;
    if (session === null) return; // the next request's error response has the reason
    try {
      const sending = { session, signal };
      await this.post({ jsonrpc: "2.0", method: "notifications/initialized" }, sending);
      for (const uri of this.#subscribed) {
        await this.post({ jsonrpc: "2.0", id: this.#ownId(), method: "resources/subscribe", params: { uri } }, sending);
      }
    } catch (error) {
      this.forget(session); // the session is not usable
      throw error;
    }
    this.#onOpenedAnew(session);
  }

  #ownId(): string {
    this.#count += 1;
    return `postern-mcp-${this.#count}`;
  }
}

/** The headers of requests in a session. */
export function sessionHeaders(session: Session | null): Readonly<Record<string, string>> {
  if (session === null) return {};
  return { "mcp-session-id": session.sessionId, "mcp-protocol-version": session.version };
}

/** Whether the message did not reach any gateway. */
export function isUnsent(error: unknown): boolean {
  return hasCode(error, "gateway_not_running") && isErrno(error.cause, "ECONNREFUSED", "ENOENT");
}

/** @throws the signal's reason as soon as it is aborted; the work continues */
async function abortable(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Receives messages that the server sends without a request, while the session exists. */
export async function listen(
  session: Session,
  {
    inSession,
    clock,
    write,
    signal,
  }: {
    readonly inSession: BridgeSession;
    readonly clock: Clock;
    readonly write: (text: string) => Promise<void>;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  let lastEventId: string | null = null;
  for (
    let pauseMs = pauses.firstMs;
    inSession.current === session && !signal.aborted;
    pauseMs = Math.min(pauseMs * 2, pauses.longestMs)
  ) {
    const resume = lastEventId === null ? {} : { "last-event-id": lastEventId };
    const reports: McpReports = {
      onMessage: (text) => {
        pauseMs = pauses.firstMs;
        return write(text);
      },
      onEventId: (eventId) => {
        lastEventId = eventId;
      },
    };
    try {
      const call = { method: "GET" as const, headers: { ...sessionHeaders(session), ...resume }, body: null, signal };
      const { status } = await inSession.exchange(call, reports);
      if (status === 404) {
        inSession.forget(session);
        return void (await inSession.have({ jsonrpc: "2.0" }, signal));
      }
      if (status === 400 && lastEventId !== null) {
        lastEventId = null; // the position is no longer kept: continue from now
        continue;
      }
      if (status >= 400 && status < 500 && status !== 409 && status !== 429) return;
    } catch {
      // The gateway is unreachable. Retries until it is back; by then it has dropped the session.
    }
    await clock.sleep(pauseMs, signal).catch(() => undefined); // the loop sees the signal
  }
}
