import { onTestFinished } from "vitest";
import { z } from "zod";

const messageSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
});

/** A stream of server-sent events, as far as it has come. */
export interface RawStream {
  readonly status: number;
  readonly headers: Headers;
  readonly messages: readonly z.infer<typeof messageSchema>[];
  readonly lastEventId: string | null;
  /** The whole text. */
  readonly text: string;
  readonly ended: boolean;
  /** Ends the connection, as a network does. */
  cut(): void;
}

/** A client of the 2025 specifications that does nothing automatically. */
export interface RawMcpClient {
  sessionId: string | null;
  /** Sends a message and reads the answer in the background. */
  post(message: unknown, headers?: Readonly<Record<string, string>>): Promise<RawStream>;
  get(headers?: Readonly<Record<string, string>>): Promise<RawStream>;
  delete(): Promise<RawStream>;
  /** `initialize`, which gives the session its id. */
  initialize(): Promise<RawStream>;
  /** `tools/call`, under this id. */
  call(id: number, name: string, args?: object): Promise<RawStream>;
}

/** @param sessionId continues a session, also another caller's */
export function createRawMcpClient(url: string, token: string | null, sessionId: string | null = null): RawMcpClient {
  async function send(method: string, body: unknown, more: Readonly<Record<string, string>>): Promise<RawStream> {
    const cutting = new AbortController();
    onTestFinished(() => cutting.abort());
    const response = await fetch(url, {
      method,
      signal: cutting.signal,
      headers: {
        accept: "application/json, text/event-stream",
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(client.sessionId === null
          ? {}
          : { "mcp-session-id": client.sessionId, "mcp-protocol-version": "2025-11-25" }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...more,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    return read(response, cutting);
  }

  const client: RawMcpClient = {
    sessionId,
    post: (message, headers = {}) => send("POST", message, headers),
    get: (headers = {}) => send("GET", undefined, headers),
    delete: () => send("DELETE", undefined, {}),
    async initialize() {
      const clientInfo = { name: "raw", version: "0" };
      const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
      const answer = await client.post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
      client.sessionId = answer.headers.get("mcp-session-id");
      return answer;
    },
    call: (id, name, args = {}) =>
      client.post({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } }),
  };
  return client;
}

function read(response: Response, cutting: AbortController): RawStream {
  let text = "";
  let ended = false;
  async function readAll(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    } catch {
      // Cut off: what came so far counts.
    }
    ended = true;
  }
  void readAll();
  const lines = (field: string): readonly string[] =>
    text.split("\n").flatMap((line) => (line.startsWith(`${field}: `) ? [line.slice(field.length + 2)] : []));
  return {
    status: response.status,
    headers: response.headers,
    get messages() {
      return lines("data")
        .filter((data) => data !== "")
        .map((data) => messageSchema.parse(JSON.parse(data)));
    },
    get lastEventId() {
      return lines("id").at(-1) ?? null;
    },
    get text() {
      return text;
    },
    get ended() {
      return ended;
    },
    cut: () => cutting.abort(),
  };
}
