import type { CallOptions, Headers, RequestInput, Send } from "./call.ts";
import { errorOfAnswer, PosternClientError } from "./client-error.ts";
import { type EventsOptions, followEvents, type OpenStream, type StreamReset, textOf } from "./event-stream.ts";
import {
  createOperations,
  type Operations,
  type SessionEvent,
  type TerminalTicket,
  type TerminalTicketInput,
} from "./operations.ts";

export interface ClientOptions {
  /** The gateway's address, such as `http://localhost:7177`. Empty on the gateway's own pages. */
  readonly baseUrl: string;
  /** A personal token, or an app's access token. */
  readonly token?: string;
  /** Sent with each request. A function is called for each one. */
  readonly headers?: Headers | (() => Headers);
  /** Sends the requests. Defaults to the global `fetch`. */
  readonly fetch?: (url: string, init: FetchInit) => Promise<Response>;
  /** Limit for a call, on top of its `waitMs`. Defaults to a minute. */
  readonly timeoutMs?: number;
  /** Replaces what methods throw, for example by an error of your application. */
  readonly mapError?: (error: unknown) => unknown;
}

/** What {@link ClientOptions.fetch} gets. */
export interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** A client of a gateway: a method for each tool and route, and its events. Methods throw {@link PosternClientError}. */
export interface PosternClient extends Operations {
  /** Calls any route, for example one that only a newer gateway has: `request("GET /api/news/{id}", { query: { id } })`. */
  request<T = unknown>(route: string, input?: RequestInput, options?: CallOptions<T>): Promise<T>;
  /**
   * Follows the events of sessions. Reconnects after the last event, until `signal` aborts or the loop ends.
   * @throws PosternClientError when the gateway refuses
   */
  events(options?: EventsOptions): AsyncGenerator<SessionEvent | StreamReset, void, undefined>;
  /**
   * Opens the live terminal of a session. Its messages are the output as text, and at the end the exit as JSON. Send it input as text, or
   * `{ kind: "resize", cols, rows }` as JSON. It does not reconnect.
   */
  openTerminal(terminal: TerminalTicketInput, options?: CallOptions<TerminalTicket>): Promise<WebSocket>;
}

const defaultTimeoutMs = 60_000;
/** A timer with a longer time ends at once. */
const maxTimerMs = 2 ** 31 - 1;
/** More than a response with 1,000 turns needs. Larger responses are refused. */
const maxAnswerLength = 64 * 1024 * 1024;

/** Creates a client. It keeps no connection open. */
export function createClient(options: ClientOptions): PosternClient {
  const exchange = createSend(options);
  const fail = (error: unknown): never => {
    throw options.mapError === undefined ? error : options.mapError(error);
  };
  const send: Send = {
    json: (...request) => exchange.json(...request).catch(fail),
    raw: (...request) => exchange.raw(...request).catch(fail),
  };
  const operations = createOperations(send);
  return {
    ...operations,
    request: (route, input = {}, call?) => send.json(route, input, call),
    async *events(events = {}) {
      const query = { sessionId: events.sessionId };
      const open: OpenStream = (call) => exchange.raw("GET /api/coding/events", { query }, call);
      try {
        yield* followEvents(open, events);
      } catch (error) {
        fail(error);
      }
    },
    async openTerminal({ sessionId, mode }, call) {
      const { ticket } = await operations.createTerminalTicket({ sessionId, mode }, call);
      const base = options.baseUrl === "" ? location.origin : options.baseUrl.replace(/\/$/, "");
      const query = new URLSearchParams({ session_id: sessionId, ticket });
      return new WebSocket(`${base.replace(/^http/, "ws")}/api/coding/coding_xterm_session?${query.toString()}`);
    },
  };
}

function createSend(client: ClientOptions): Send {
  const { baseUrl, token, fetch: fetcher = (url, init) => fetch(url, init) } = client;

  /** Sends the request, and reads its answer before the time is over. */
  async function exchange<T, Output>(
    { route, input, options = {} }: { route: string; input: RequestInput; options: CallOptions<Output> | undefined },
    read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { method, path, body } = requestOf(route, input);
    const timeoutMs = options.timeoutMs ?? waitMsOf(input) + (client.timeoutMs ?? defaultTimeoutMs);
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), Math.min(timeoutMs, maxTimerMs));
    try {
      const response = await fetcher(`${baseUrl.replace(/\/$/, "")}${path}`, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(typeof client.headers === "function" ? client.headers() : client.headers),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...options.headers,
        },
        ...(body === undefined ? {} : { body }),
        signal: options.signal === undefined ? late.signal : AbortSignal.any([options.signal, late.signal]),
      });
      if (response.ok) return await read(response);
      const problem = parseJson(await wholeText(response));
      throw errorOfAnswer(response.status, problem, { retryAfter: response.headers.get("retry-after") });
    } catch (error) {
      options.signal?.throwIfAborted();
      if (late.signal.aborted)
        throw new PosternClientError("timeout", `The gateway did not respond within ${timeoutMs / 1000} s.`, {
          cause: error,
        });
      if (error instanceof PosternClientError) throw error;
      // A failed connection. Some runtimes report an error other than a TypeError, and another `fetch` has other errors.
      if (client.fetch !== undefined && !(error instanceof TypeError)) throw error;
      throw new PosternClientError("unreachable", `Cannot reach the gateway at ${baseUrl}: ${reasonOf(error)}`, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    json: <T>(route: string, input: RequestInput, options: CallOptions<T> | undefined) =>
      exchange({ route, input, options }, async (response) => {
        const text = await wholeText(response);
        const body = text === "" ? undefined : parseJson(text);
        try {
          if (text !== "" && body === undefined) throw new Error("It is not JSON.");
          if (options?.output !== undefined) return options.output.parse(body);
        } catch (error) {
          const message = `The gateway's answer to ${route} does not match. Do client and gateway have the same version?`;
          throw new PosternClientError("unreadable_answer", message, { status: response.status, cause: error });
        }
        trust(body, options);
        return body;
      }),
    raw: (route, input, options) => exchange({ route, input, options }, async (response) => response),
  };
}

function requestOf(route: string, input: RequestInput): { method: string; path: string; body?: string } {
  const [method = "GET", template = ""] = route.split(" ");
  const rest: Record<string, unknown> = { ...("body" in input ? input.body : "query" in input ? input.query : {}) };
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name];
    delete rest[name];
    // Such a segment would turn it into the address of another route.
    if (typeof value !== "string" || /^\.{0,2}$/.test(value))
      throw new PosternClientError("invalid_request", `Not a ${name}: ${JSON.stringify(value)}.`);
    return encodeURIComponent(value);
  });
  if ("body" in input) return { method, path, body: JSON.stringify(rest) };
  const query = Object.entries(rest).flatMap(([name, value]) =>
    typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? [[name, `${value}`]] : [],
  );
  return { method, path: query.length === 0 ? path : `${path}?${new URLSearchParams(query).toString()}` };
}

function waitMsOf(input: RequestInput): number {
  const body = "body" in input ? input.body : undefined;
  return body !== undefined && "waitMs" in body && typeof body.waitMs === "number" ? body.waitMs : 0;
}

async function wholeText(response: Response): Promise<string> {
  let whole = "";
  for await (const text of textOf(response)) {
    whole += text;
    if (whole.length > maxAnswerLength)
      throw new PosternClientError("too_large", "The gateway's answer is too large.", { status: response.status });
  }
  return whole;
}

/** Node says "fetch failed", and the reason in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}

/** Undefined for invalid JSON. */
function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined; // the caller reports it as unreadable
  }
}

/** Without a check, a caller trusts the gateway to respond according to its schemas. */
function trust<T>(_answer: unknown, _options: CallOptions<T> | undefined): asserts _answer is T {
  // Nothing to check.
}
