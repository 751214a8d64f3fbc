import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { messagesRequest, readMessages, writeMessages, writeMessagesError } from "./anthropic-messages.ts";
import { type Conversation, type FailureCount, type Reply, replyTo } from "./conversation.ts";
import { contentPath, contentRequest, readContent, writeContent, writeContentError } from "./gemini-content.ts";
import { completionsRequest, readCompletions, writeCompletions } from "./openai-completions.ts";
import { readResponses, responsesRequest, writeResponses, writeResponsesError } from "./openai-responses.ts";

/** One request that an agent made, or the gateway itself. */
export interface RecordedRequest {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** `turn`: a model call of the conversation; `side`: what an agent asks for itself (a title); `other`: no model call. */
  readonly kind: "turn" | "side" | "other";
  readonly model: string | null;
  readonly systemPrompt: string | null;
  /** The last thing the user said, byte for byte, without what the agent injected. */
  readonly prompt: string | null;
  /** What the server answered in the conversation's terms. */
  readonly reply: Reply | null;
  /** The body as text, decompressed. */
  readonly body: string;
  /** Whether the client left before the answer. */
  wasCutOff(): boolean;
}

/** A running scripted model server. */
export interface ModelServer {
  /** `http://127.0.0.1:<port>`; the OpenAI base URL is this plus `/v1`. */
  readonly url: string;
  /** The newest requests, oldest first; the array is live and keeps at most 500. */
  readonly requests: readonly RecordedRequest[];
  /** Ends open streams too. Idempotent. */
  close(): Promise<void>;
}

export interface ModelServerOptions {
  readonly port?: number;
  /** Answers in place of the words of the prompt, for pictures; null leaves it to them. */
  reply?(conversation: Conversation): Reply | null;
}

/** Bounds memory: an agent's request carries 100 to 200 KB of instructions and tools. */
const keptRequests = 500;
const maxBodyBytes = 32 * 1024 * 1024;

const decoders = new Map<string, (body: Buffer) => Promise<Buffer>>([
  ["gzip", (body) => promisify(gunzip)(body)],
  ["deflate", (body) => promisify(inflate)(body)],
  ["br", (body) => promisify(brotliDecompress)(body)],
  ["zstd", (body) => promisify(zstdDecompress)(body)],
]);

/**
 * Starts the scripted model that both agents talk to in tests: the Anthropic Messages API and the OpenAI Responses API on one
 * port of the loopback. Words in the prompt drive it, see the README of this folder.
 */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: RecordedRequest[] = [];
  const failures = new Map<string, number>();
  const countFailure: FailureCount = (prompt) => {
    const count = (failures.get(prompt) ?? 0) + 1;
    failures.set(prompt, count);
    return count;
  };
  const replyOf = (conversation: Conversation): Reply =>
    options.reply?.(conversation) ?? replyTo(conversation, countFailure);
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) writeMessagesError(response, { status: 500, message: String(error) });
      else response.destroy();
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    let cutOff = false;
    response.once("close", () => (cutOff = !response.writableFinished));
    const record = (known: { readonly conversation: Conversation; readonly reply: Reply } | null): void => {
      requests.push({
        at: Date.now(),
        method: request.method ?? "GET",
        path: request.url ?? "/",
        headers: Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)])),
        kind: known?.conversation.kind ?? "other",
        model: known?.conversation.model ?? null,
        systemPrompt: known?.conversation.systemPrompt ?? null,
        prompt: known?.conversation.prompt ?? null,
        reply: known?.reply ?? null,
        body,
        wasCutOff: () => cutOff,
      });
      requests.splice(0, requests.length - keptRequests);
    };
    if (request.method === "POST" && path.endsWith("/messages")) {
      const parsed = messagesRequest.safeParse(JSON.parse(body));
      if (!parsed.success) {
        record(null);
        writeMessagesError(response, { status: 400, message: parsed.error.message });
        return;
      }
      const conversation = readMessages(parsed.data);
      const reply = replyOf(conversation);
      record({ conversation, reply });
      await writeMessages(response, parsed.data, reply);
    } else if (request.method === "POST" && path.endsWith("/responses")) {
      const parsed = responsesRequest.safeParse(JSON.parse(body));
      if (!parsed.success) {
        record(null);
        writeResponsesError(response, { status: 400, message: parsed.error.message });
        return;
      }
      const conversation = readResponses(parsed.data);
      const reply = replyOf(conversation);
      record({ conversation, reply });
      await writeResponses(response, parsed.data, reply);
    } else if (request.method === "POST" && path.endsWith("/chat/completions")) {
      const parsed = completionsRequest.safeParse(JSON.parse(body));
      if (!parsed.success) {
        record(null);
        writeResponsesError(response, { status: 400, message: parsed.error.message });
        return;
      }
      const conversation = readCompletions(parsed.data);
      const reply = replyOf(conversation);
      record({ conversation, reply });
      await writeCompletions(response, parsed.data, reply);
    } else if (request.method === "POST" && contentPath(path) !== null) {
      const { model = "", method } = contentPath(path) ?? {};
      const parsed = contentRequest.safeParse(JSON.parse(body));
      if (!parsed.success) {
        record(null);
        writeContentError(response, { status: 400, message: parsed.error.message });
        return;
      }
      const conversation = readContent(parsed.data, model);
      const reply = replyOf(conversation);
      record({ conversation, reply });
      await writeContent(response, reply, method === "streamGenerateContent");
    } else {
      record(null);
      answerOther(request.method ?? "GET", path, response);
    }
  }

  // Codex tries a WebSocket first; 426 makes it fall back to server-sent events.
  server.on("upgrade", (request, socket) => {
    request.resume();
    socket.end("HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The model server has no TCP port.");
  let closing: Promise<void> | undefined;
  return {
    url: `http://127.0.0.1:${address.port}`,
    requests,
    close: () =>
      (closing ??= new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      })),
  };
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of request) {
    const buffer = Buffer.from(chunk);
    sizeBytes += buffer.length;
    if (sizeBytes > maxBodyBytes) throw new Error(`The request body is over ${maxBodyBytes} bytes.`);
    chunks.push(buffer);
  }
  const raw = Buffer.concat(chunks);
  const decode = decoders.get(request.headers["content-encoding"] ?? "");
  return (decode === undefined ? raw : await decode(raw)).toString("utf8");
}

function answerOther(method: string, path: string, response: ServerResponse): void {
  const json = (status: number, value: unknown): void => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(method === "HEAD" ? undefined : JSON.stringify(value));
  };
  if (path.endsWith(":countTokens")) json(200, { totalTokens: 100 });
  else if (path.endsWith("/count_tokens")) json(200, { input_tokens: 100 });
  else if (path.endsWith("/models")) json(200, { object: "list", data: [], models: [], has_more: false });
  else if (path === "/") json(200, { service: "scripted model server" });
  else json(404, { type: "error", error: { type: "not_found_error", message: `No route ${method} ${path}` } });
}
