import type { Command } from "commander";
import { messageOf, PosternError } from "../core/errors.ts";
import { createGatewayClient, parseJson } from "./gateway-client.ts";
import {
  BridgeSession,
  type GatewayPlace,
  isUnsent,
  listen,
  type Sending,
  type Session,
} from "./mcp-bridge-session.ts";
import {
  errorLine,
  failureLine,
  type McpAnswer,
  type McpReports,
  type Message,
  type MessageId,
  messageSchema,
  readLines,
  refusalLine,
  versionOf,
} from "./mcp-exchange.ts";
import { plainLine } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

/** The two sides of a bridge. */
export interface BridgeOptions extends GatewayPlace {
  readonly input: AsyncIterable<Uint8Array>;
  /** Receives each line for the client, with its newline; resolves when there is room for the next. */
  readonly write: (line: string) => Promise<void>;
  /** Called with messages that cannot be part of a response. */
  readonly warn: (text: string) => void;
}

/** The longest message that a gateway accepts. */
const maxLineLength = 64 * 1024 * 1024;
const maxRunning = 100;
/** How long requests sent just before the input ends are still answered. Clients wait two seconds before they kill a server. */
const lastAnswersMs = 1_200;
const cancelledByClient = new PosternError("client_gone", "The client cancelled the call.");
const closedByClient = new PosternError("client_gone", "The client closed the connection.");

/**
 * Forwards lines of JSON-RPC to the gateway's `/mcp`, and the answers back, until the input ends. Requests still unanswered shortly after
 * its end are cancelled. The gateway is the only server; the bridge just keeps the session of clients of the 2025 specifications, and reopens
 * it if the gateway has dropped it.
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
  /** Whether the request may have reached the gateway. */
  isSent: boolean;
  isCancelled: boolean;
}

interface Asking {
  readonly id: MessageId;
  readonly signal: AbortSignal;
  readonly running: Running;
}

class McpBridge {
  readonly #options: BridgeOptions;
  readonly #ending = new AbortController();
  readonly #running = new Map<MessageId, Running>();
  readonly #answering = new Set<Promise<void>>();
  readonly #session: BridgeSession;
  #notifying = 0;

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#session = new BridgeSession(options, this.#ending.signal, (session) => this.#listen(session));
  }

  /** Later messages do not wait until this one is accepted or answered, so that a cancellation is sent immediately. */
  async take(message: Message): Promise<void> {
    const { id, method } = message;
    if (method === "notifications/cancelled" && this.#cancelHere(message)) return;
    if (id === undefined || method === undefined) {
      if (this.#notifying < maxRunning) void this.#notify(message);
      else
        this.#options.warn(`${method ?? "an answer"} was dropped: ${maxRunning} are already waiting for the gateway.`);
    } else if (this.#running.size >= maxRunning) {
      await this.#write(errorLine(id, { code: -32_000, message: `${maxRunning} calls are in progress, the maximum.` }));
    } else if (method === "initialize") {
      this.#session.openFor(message, () => this.#answer(message, id));
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
    return this.#write(errorLine(null, { code: -32_700, message: "This line is not a JSON-RPC message." }));
  }

  async close(): Promise<void> {
    const { clock } = this.#options;
    const late = clock.sleep(lastAnswersMs, this.#ending.signal).catch(() => undefined); // it is over then
    await Promise.race([Promise.allSettled(this.#answering), late]);
    this.#ending.abort(closedByClient);
    await this.#session.end();
  }

  /** In the newer specification, a call is cancelled by ending its connection. In both specifications, unsent messages are dropped. */
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
  async #notify(message: Message): Promise<void> {
    const { signal } = this.#ending;
    this.#notifying += 1;
    try {
      const session = await this.#session.have(message, signal);
      const answer = await this.#session.post(message, { session, signal });
      if (answer.status >= 400)
        this.#options.warn(`The gateway refused ${message.method ?? "a response"} with status ${answer.status}`);
    } catch (error) {
      if (!signal.aborted) this.#options.warn(messageOf(error));
    } finally {
      this.#notifying -= 1;
    }
    const { current } = this.#session;
    if (message.method === "notifications/initialized" && current !== null) this.#listen(current);
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
      let answered = false;
      const reports: McpReports = {
        onMessage: (text) => {
          answered ||= this.#isAnswer(text, { to: id, message });
          return this.#write(text);
        },
      };
      // At each attempt, because the session may have been lost in between.
      const { session, answer } = await this.#session.whenThere(async () => {
        const current = await this.#session.have(message, signal);
        return { session: current, answer: await this.#send(message, { session: current, signal, reports }, running) };
      }, signal);
      if (message.method === "initialize") this.#session.begun(answer);
      if (answer.status === 404 && session !== null && !running.modern && attempt === 1) {
        this.#session.forget(session);
        running.isSent = false;
        if (running.isCancelled) running.controller.abort(cancelledByClient);
        continue;
      }
      if (answer.status >= 400) await this.#write(refusalLine(id, answer));
      else if (answer.text !== "") await this.#write(answer.text);
      else if (!answered) throw new PosternError("gateway_not_running", "The gateway stopped before it responded.");
      if (answer.status < 400) this.#session.remember(message);
      return;
    }
  }

  /** One attempt. A call that was cancelled before it reached the gateway is not retried. */
  async #send(message: Message, sending: Sending, running: Running): Promise<McpAnswer> {
    running.isSent = true;
    try {
      return await this.#session.post(message, sending);
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
      this.#session.negotiated(String(result.protocolVersion));
    }
    return true;
  }

  #listen(session: Session): void {
    const { clock } = this.#options;
    const write = (text: string): Promise<void> => this.#write(text);
    void listen(session, { inSession: this.#session, clock, write, signal: this.#ending.signal });
  }

  async #write(text: string): Promise<void> {
    if (!this.#ending.signal.aborted) await this.#options.write(`${text}\n`);
  }
}

const example = "postern token create --name mcp --scopes coding:read,coding:write";

/** `postern mcp`: the running gateway's tools for an MCP client that starts its servers itself. */
export function addMcpCommand(program: Command, context: CliContext): void {
  program
    .command("mcp")
    .description("connect an MCP client to the gateway over standard input and output")
    .addHelpText(
      "after",
      `
Uses the token in POSTERN_TOKEN, with its scopes.

Examples:
  $ claude mcp add postern --env POSTERN_TOKEN=pst_… -- postern mcp
  $ codex mcp add postern --env POSTERN_TOKEN=pst_… -- postern mcp`,
    )
    .action(async () => {
      const token = await context.ports.token();
      if (token === null) {
        throw new PosternError("unauthenticated", `POSTERN_TOKEN is not set. Create a token with \`${example}\`.`);
      }
      const socketPath = await context.ports.socketPath();
      await createGatewayClient(socketPath).health();
      const { stdin: input, stderr, clock } = context;
      const write = async (line: string): Promise<void> => {
        context.stdout(line);
        await context.stdoutTaken();
      };
      const warn = (text: string): void => stderr(`postern mcp: ${plainLine(text)}\n`);
      await bridgeMcp({ socketPath, token, clock, input, write, warn });
    });
}
