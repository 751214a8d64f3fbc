import type { Clock } from "../core/clock.ts";
import { hasCode, isErrno, messageOf, PosternError } from "../core/errors.ts";
import { readLines } from "./json-lines.ts";
import { exchangeMcp, type McpAnswer, type McpReports } from "./mcp-exchange.ts";
import {
  errorLine,
  failureLine,
  headersOf,
  type Message,
  type MessageId,
  messageSchema,
  parseJson,
  refusalLine,
  versionOf,
} from "./mcp-messages.ts";

/** What a bridge connects. */
export interface BridgeOptions {
  readonly socketPath: string;
  readonly token: string;
  readonly clock: Clock;
  readonly input: AsyncIterable<Uint8Array>;
  /** Gets the lines for the client, each with its end; resolves when there is room for the next. */
  readonly write: (line: string) => Promise<void>;
  /** Told of what no answer can say. */
  readonly warn: (text: string) => void;
}

/** As much as a gateway takes at most. */
const maxLineLength = 64 * 1024 * 1024;
const maxRunning = 100;
/** How long a request waits for a gateway that restarts. */
const patienceMs = 15_000;
const firstPauseMs = 200;
const longestPauseMs = 5_000;
const goodbyeMs = 1_000;
/** So long what was asked just before the end is still answered; clients that end a server wait two seconds before they kill it. */
const lastAnswersMs = 1_200;
const cancelledByClient = new PosternError("client_gone", "The client cancelled the call.");
const closedByClient = new PosternError("client_gone", "The client closed its side.");

/**
 * Carries lines of JSON-RPC to the gateway's `/mcp` and its answers back, until the input ends: what is not answered soon after is cancelled.
 * The server is the gateway alone; this only keeps the session that clients of the 2025 specifications have with it, and opens it
 * anew when the gateway has forgotten it.
 */
export async function bridgeMcp(options: BridgeOptions): Promise<void> {
  const bridge = new McpBridge(options);
  try {
    for await (const line of readLines(options.input, { maxLength: maxLineLength })) {
      const message = line.kind === "line" ? messageSchema.safeParse(parseJson(line.text)) : null;
      if (message?.success === true) await bridge.take(message.data);
      else await bridge.refuse();
    }
  } finally {
    await bridge.close();
  }
}

interface Running {
  readonly controller: AbortController;
  readonly modern: boolean;
  /** Whether it may have reached the gateway. */
  isSent: boolean;
  isCancelled: boolean;
}

interface Asking {
  readonly id: MessageId;
  readonly signal: AbortSignal;
  readonly running: Running;
}

/** What it takes to have a session again. */
interface Session {
  readonly sessionId: string;
  readonly version: string;
}

class McpBridge {
  readonly #options: BridgeOptions;
  readonly #ending = new AbortController();
  readonly #running = new Map<MessageId, Running>();
  readonly #answering = new Set<Promise<void>>();
  readonly #subscribed = new Set<string>();
  #initialize: Message | null = null;
  #session: Session | null = null;
  /** While a session is begun, by the client or anew. */
  #opening: Promise<void> | null = null;
  #telling = 0;
  #count = 0;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** What follows a message need not wait for its answer, not even for the gateway: a cancellation has to come through. */
  async take(message: Message): Promise<void> {
    const { id, method } = message;
    if (method === "notifications/cancelled" && this.#cancelHere(message)) return;
    if (id === undefined || method === undefined) {
      if (this.#telling < maxRunning) void this.#tell(message);
      else this.#options.warn(`${method ?? "an answer"} is dropped: ${maxRunning} wait for the gateway.`);
    } else if (this.#running.size >= maxRunning) {
      await this.#write(
        errorLine(id, { code: -32_000, message: `${maxRunning} calls are under way, the most allowed.` }),
      );
    } else if (method === "initialize") {
      this.#initialize = message;
      void this.#open(this.#answer(message, id));
    } else {
      void this.#answer(message, id);
    }
  }

  async #answer(message: Message, id: MessageId): Promise<void> {
    const answering = this.#ask(message, id);
    this.#answering.add(answering);
    await answering.finally(() => this.#answering.delete(answering));
  }

  refuse(): Promise<void> {
    return this.#write(errorLine(null, { code: -32_700, message: "This line is no JSON-RPC message." }));
  }

  async close(): Promise<void> {
    const { clock } = this.#options;
    const late = clock.sleep(lastAnswersMs, this.#ending.signal).catch(() => undefined); // it is over then
    await Promise.race([Promise.allSettled(this.#answering), late]);
    this.#ending.abort(closedByClient);
    if (this.#session === null) return;
    const call = { method: "DELETE" as const, headers: this.#sessionHeaders(), body: null };
    // It would end by itself, later.
    await this.#exchange({ ...call, signal: AbortSignal.timeout(goodbyeMs) }).catch(() => undefined);
  }

  /** In the newer specification a call is cancelled by ending its connection. What waits to be sent is not sent in either. */
  #cancelHere({ params }: Message): boolean {
    const requestId = params?.["requestId"];
    if (typeof requestId !== "string" && typeof requestId !== "number") return false;
    const running = this.#running.get(requestId);
    if (running === undefined) return false;
    running.isCancelled = true;
    if (running.isSent && !running.modern) return false;
    running.controller.abort(cancelledByClient);
    return true;
  }

  /** A notification, or an answer to the server. */
  async #tell(message: Message): Promise<void> {
    const { signal } = this.#ending;
    this.#telling += 1;
    try {
      await this.#haveSession(message, signal);
      const answer = await this.#post(message, signal);
      if (answer.status >= 400)
        this.#options.warn(`The gateway did not take ${message.method ?? "an answer"}: ${answer.status}`);
    } catch (error) {
      if (!signal.aborted) this.#options.warn(messageOf(error));
    } finally {
      this.#telling -= 1;
    }
    if (message.method === "notifications/initialized" && this.#session !== null) void this.#listen(this.#session);
  }

  async #ask(message: Message, id: MessageId): Promise<void> {
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, this.#ending.signal]);
    const running = { controller, modern: versionOf(message) !== null, isSent: false, isCancelled: false };
    this.#running.set(id, running);
    try {
      await this.#askAgain(message, { id, signal, running });
    } catch (error) {
      if (!signal.aborted) await this.#write(failureLine(id, error));
    } finally {
      this.#running.delete(id);
    }
  }

  async #askAgain(message: Message, { id, signal, running }: Asking): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      await this.#haveSession(message, signal);
      const session = this.#session;
      let answered = false;
      const reports: McpReports = {
        onMessage: (text) => {
          answered ||= this.#isAnswer(text, { to: id, message });
          return this.#write(text);
        },
      };
      const send = (): Promise<McpAnswer> => this.#send(message, { signal, running, reports });
      const answer = await this.#whenThere(send, signal);
      if (message.method === "initialize") this.#begun(answer);
      if (answer.status === 404 && session !== null && !running.modern && attempt === 1) {
        this.#forget(session);
        running.isSent = false;
        if (running.isCancelled) running.controller.abort(cancelledByClient);
        continue;
      }
      if (answer.status >= 400) await this.#write(refusalLine(id, answer));
      else if (answer.text !== "") await this.#write(answer.text);
      else if (!answered) throw new PosternError("gateway_not_running", "The gateway went away before it answered.");
      if (answer.status < 400) this.#remember(message);
      return;
    }
  }

  /** One attempt. What was cancelled meanwhile, and did not reach the gateway, is not tried again. */
  async #send(
    message: Message,
    { signal, running, reports }: Pick<Asking, "signal" | "running"> & { readonly reports: McpReports },
  ): Promise<McpAnswer> {
    running.isSent = true;
    try {
      return await this.#post(message, signal, reports);
    } catch (error) {
      running.isSent = !isUnsent(error);
      if (running.isCancelled && !running.isSent) running.controller.abort(cancelledByClient);
      throw error;
    }
  }

  #isAnswer(text: string, { to, message }: { readonly to: MessageId; readonly message: Message }): boolean {
    const parsed = messageSchema.safeParse(parseJson(text));
    if (!parsed.success || parsed.data.id !== to || parsed.data.method !== undefined) return false;
    const { result } = parsed.data;
    if (
      message.method === "initialize" &&
      typeof result === "object" &&
      result !== null &&
      "protocolVersion" in result
    ) {
      this.#negotiated = String(result.protocolVersion);
    }
    return true;
  }

  #negotiated = "2025-11-25";

  #begun({ sessionId }: McpAnswer): void {
    if (sessionId !== null) this.#session = { sessionId, version: this.#negotiated };
  }

  #remember({ method, params }: Message): void {
    const uri = params?.["uri"];
    if (typeof uri !== "string") return;
    if (method === "resources/subscribe") this.#subscribed.add(uri);
    if (method === "resources/unsubscribe") this.#subscribed.delete(uri);
  }

  /** While a gateway restarts, what has not been sent waits for it. */
  async #whenThere<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { clock } = this.#options;
    const deadline = clock.now() + patienceMs;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      try {
        return await attempt();
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (!isUnsent(error) || clock.now() + pauseMs > deadline) throw error;
        await clock.sleep(pauseMs, signal);
      }
    }
  }

  /** It was restarted, or the session was left for long. The client need not know: what it sends next begins another. */
  #forget(lost: Session): void {
    if (this.#session === lost) this.#session = null;
  }

  #open(work: Promise<void>): Promise<void> {
    const opening: Promise<void> = work.finally(() => {
      if (this.#opening === opening) this.#opening = null;
    });
    opening.catch(() => undefined); // told to those who wait for it
    this.#opening = opening;
    return opening;
  }

  /** What belongs to a session waits for it, and begins it when it is gone, also after that failed before. */
  async #haveSession(message: Message, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (versionOf(message) !== null || message.method === "initialize") return;
    if (this.#opening !== null) await abortable(this.#opening, signal);
    else if (this.#session === null && this.#initialize !== null) await abortable(this.#open(this.#begin()), signal);
  }

  async #begin(): Promise<void> {
    const { signal } = this.#ending;
    const initialize = { ...this.#initialize, jsonrpc: "2.0" as const, id: this.#ownId() };
    const answer = await this.#whenThere(() => this.#post(initialize, signal), signal);
    this.#begun(answer);
    const session = this.#session;
    if (session === null) return; // what is asked next is answered with the reason
    try {
      await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" }, signal);
      for (const uri of this.#subscribed) {
        await this.#post({ jsonrpc: "2.0", id: this.#ownId(), method: "resources/subscribe", params: { uri } }, signal);
      }
    } catch (error) {
      this.#forget(session); // half of one is none
      throw error;
    }
    void this.#listen(session);
  }

  #ownId(): string {
    this.#count += 1;
    return `postern-mcp-${this.#count}`;
  }

  /** What the server says by itself, for as long as the session is there. */
  async #listen(session: Session): Promise<void> {
    const { signal } = this.#ending;
    let lastEventId: string | null = null;
    for (
      let pauseMs = firstPauseMs;
      this.#session === session && !signal.aborted;
      pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    ) {
      const resume = lastEventId === null ? {} : { "last-event-id": lastEventId };
      const reports: McpReports = {
        onMessage: (text) => {
          pauseMs = firstPauseMs;
          return this.#write(text);
        },
        onEventId: (eventId) => {
          lastEventId = eventId;
        },
      };
      try {
        const call = { method: "GET" as const, headers: { ...this.#sessionHeaders(), ...resume }, body: null, signal };
        const { status } = await this.#exchange(call, reports);
        if (status === 404) {
          this.#forget(session);
          return await this.#haveSession({ jsonrpc: "2.0" }, signal);
        }
        if (status === 400 && lastEventId !== null) {
          lastEventId = null; // it is no longer kept: what comes from now on is heard
          continue;
        }
        if (status >= 400 && status < 500 && status !== 409 && status !== 429) return;
      } catch {
        // Away: it is called again until it is back, and then it has forgotten the session.
      }
      await this.#options.clock.sleep(pauseMs, signal).catch(() => undefined); // the loop sees the signal
    }
  }

  #post(message: Message, signal: AbortSignal, reports?: McpReports): Promise<McpAnswer> {
    const version = versionOf(message);
    const headers =
      version !== null ? headersOf(message, version) : message.method === "initialize" ? {} : this.#sessionHeaders();
    return this.#exchange({ method: "POST", headers, body: JSON.stringify(message), signal }, reports);
  }

  #exchange(
    call: Parameters<typeof exchangeMcp>[1],
    reports: McpReports = { onMessage: async () => undefined },
  ): Promise<McpAnswer> {
    return exchangeMcp(this.#options, call, reports);
  }

  #sessionHeaders(): Readonly<Record<string, string>> {
    if (this.#session === null) return {};
    return { "mcp-session-id": this.#session.sessionId, "mcp-protocol-version": this.#session.version };
  }

  async #write(text: string): Promise<void> {
    if (!this.#ending.signal.aborted) await this.#options.write(`${text}\n`);
  }
}

/** Nobody was there to take it. */
function isUnsent(error: unknown): boolean {
  return hasCode(error, "gateway_not_running") && isErrno(error.cause, "ECONNREFUSED", "ENOENT");
}

/** @throws the signal's reason as soon as it is aborted; the work goes on */
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
