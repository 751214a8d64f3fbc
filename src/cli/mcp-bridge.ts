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
  /** Gets the lines for the client, each with its end. */
  readonly write: (line: string) => void;
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
const closedByClient = new PosternError("client_gone", "The client closed its side.");

/**
 * Carries lines of JSON-RPC to the gateway's `/mcp` and its answers back, until the input ends: then what is still under way is cancelled.
 * The server is the gateway alone; this only keeps the session that clients of the 2025 specifications have with it, and opens it
 * anew when the gateway has forgotten it.
 */
export async function bridgeMcp(options: BridgeOptions): Promise<void> {
  const bridge = new McpBridge(options);
  try {
    for await (const line of readLines(options.input, { maxLength: maxLineLength })) {
      const message = line.kind === "line" ? messageSchema.safeParse(parseJson(line.text)) : null;
      if (message?.success === true) await bridge.take(message.data);
      else bridge.refuse();
    }
  } finally {
    await bridge.close();
  }
}

interface Running {
  readonly controller: AbortController;
  readonly modern: boolean;
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
  readonly #subscribed = new Set<string>();
  #initialize: Message | null = null;
  #session: Session | null = null;
  #reopening: Promise<void> | null = null;
  #count = 0;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** Resolves when the next message may be taken: what follows a request need not wait for its answer. */
  async take(message: Message): Promise<void> {
    const { id, method } = message;
    if (method === "notifications/cancelled" && this.#cancelHere(message)) return;
    if (id === undefined || method === undefined) {
      await this.#tell(message);
    } else if (method === "initialize") {
      this.#initialize = message;
      await this.#ask(message, id);
    } else if (this.#running.size >= maxRunning) {
      this.#write(errorLine(id, { code: -32_000, message: `${maxRunning} calls are under way, the most allowed.` }));
    } else {
      void this.#ask(message, id);
    }
  }

  refuse(): void {
    this.#write(errorLine(null, { code: -32_700, message: "This line is no JSON-RPC message." }));
  }

  async close(): Promise<void> {
    this.#ending.abort(closedByClient);
    if (this.#session === null) return;
    const call = { method: "DELETE" as const, headers: this.#sessionHeaders(), body: null };
    // It would end by itself, later.
    await this.#exchange({ ...call, signal: AbortSignal.timeout(goodbyeMs) }).catch(() => undefined);
  }

  /** In the newer specification a call is cancelled by ending its connection. */
  #cancelHere({ params }: Message): boolean {
    const requestId = params?.["requestId"];
    if (typeof requestId !== "string" && typeof requestId !== "number") return false;
    const running = this.#running.get(requestId);
    if (running?.modern !== true) return false;
    running.controller.abort(new PosternError("client_gone", "The client cancelled the call."));
    return true;
  }

  /** A notification, or an answer to the server. */
  async #tell(message: Message): Promise<void> {
    try {
      const answer = await this.#post(message, this.#ending.signal);
      if (answer.status >= 400)
        this.#options.warn(`The gateway did not take ${message.method ?? "an answer"}: ${answer.status}`);
    } catch (error) {
      if (!this.#ending.signal.aborted) this.#options.warn(messageOf(error));
    }
    if (message.method === "notifications/initialized" && this.#session !== null) void this.#listen(this.#session);
  }

  async #ask(message: Message, id: MessageId): Promise<void> {
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, this.#ending.signal]);
    this.#running.set(id, { controller, modern: versionOf(message) !== null });
    try {
      await this.#askAgain(message, { id, signal });
    } catch (error) {
      if (!signal.aborted) this.#write(failureLine(id, error));
    } finally {
      this.#running.delete(id);
    }
  }

  async #askAgain(
    message: Message,
    { id, signal }: { readonly id: MessageId; readonly signal: AbortSignal },
  ): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const session = this.#session;
      let answered = false;
      const reports: McpReports = {
        onMessage: (text) => {
          answered ||= this.#isAnswer(text, { to: id, message });
          this.#write(text);
        },
      };
      const answer = await this.#whenThere(() => this.#post(message, signal, reports), signal);
      if (message.method === "initialize") this.#begun(answer);
      if (answer.status === 404 && session !== null && versionOf(message) === null && attempt === 1) {
        await this.#reopen(session);
        continue;
      }
      if (answer.status >= 400) this.#write(refusalLine(id, answer));
      else if (answer.text !== "") this.#write(answer.text);
      else if (!answered) throw new PosternError("gateway_not_running", "The gateway went away before it answered.");
      if (answer.status < 400) this.#remember(message);
      return;
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
        const unsent = hasCode(error, "gateway_not_running") && isErrno(error.cause, "ECONNREFUSED", "ENOENT");
        if (!unsent || clock.now() + pauseMs > deadline) throw error;
        await clock.sleep(pauseMs, signal);
      }
    }
  }

  /** The gateway has forgotten the session: it was restarted, or the session was left for long. The client need not know. */
  async #reopen(lost: Session): Promise<void> {
    if (this.#session !== lost) return this.#reopening ?? undefined;
    this.#session = null;
    this.#reopening = this.#begin().finally(() => {
      this.#reopening = null;
    });
    return this.#reopening;
  }

  async #begin(): Promise<void> {
    if (this.#initialize === null) return;
    const { signal } = this.#ending;
    const answer = await this.#whenThere(
      () => this.#post({ ...this.#initialize, jsonrpc: "2.0", id: this.#ownId() }, signal),
      signal,
    );
    this.#begun(answer);
    const session = this.#session;
    if (session === null) return; // what is asked next is answered with the reason
    await this.#post({ jsonrpc: "2.0", method: "notifications/initialized" }, signal);
    for (const uri of this.#subscribed) {
      await this.#post({ jsonrpc: "2.0", id: this.#ownId(), method: "resources/subscribe", params: { uri } }, signal);
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
          this.#write(text);
        },
        onEventId: (eventId) => {
          lastEventId = eventId;
        },
      };
      try {
        const call = { method: "GET" as const, headers: { ...this.#sessionHeaders(), ...resume }, body: null, signal };
        const { status } = await this.#exchange(call, reports);
        if (status === 404) return await this.#reopen(session);
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
    reports: McpReports = { onMessage: () => undefined },
  ): Promise<McpAnswer> {
    return exchangeMcp(this.#options, call, reports);
  }

  #sessionHeaders(): Readonly<Record<string, string>> {
    if (this.#session === null) return {};
    return { "mcp-session-id": this.#session.sessionId, "mcp-protocol-version": this.#session.version };
  }

  #write(text: string): void {
    if (!this.#ending.signal.aborted) this.#options.write(`${text}\n`);
  }
}
