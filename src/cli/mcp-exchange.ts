import { type IncomingMessage, request } from "node:http";
import { z } from "zod";
import { isPosternError, messageOf, PosternError } from "../core/errors.ts";
import { connectionError, parseJson, problemOf } from "./gateway-client.ts";

/** A request to the gateway's `/mcp`. */
export interface McpCall {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null for a request without a body. */
  readonly body: string | null;
  readonly signal: AbortSignal;
}

/** The response to a call. */
export interface McpAnswer {
  readonly status: number;
  readonly sessionId: string | null;
  /** The whole body; empty if the response was a stream, whose messages were reported one by one. */
  readonly text: string;
}

/** Callbacks while a response arrives. */
export interface McpReports {
  /** A message of a stream, as JSON. Nothing more is read until it has been processed. */
  onMessage(text: string): Promise<void>;
  /** The position to continue from if the stream breaks. */
  onEventId?(id: string): void;
}

/** More than a response with 1,000 turns needs. */
const maxAnswerChars = 64 * 1024 * 1024;
/** A stream sends something every 15 seconds; a call sends nothing until its result. */
const silenceMs = { stream: 60_000, call: 700_000 };

/**
 * Sends a call through the gateway's Unix socket with a token, and so not as the owner.
 * @returns when the answer has ended
 * @throws PosternError `gateway_not_running`, or the signal's reason
 */
export function exchangeMcp(
  way: { readonly socketPath: string; readonly token: string },
  call: McpCall,
  reports: McpReports,
): Promise<McpAnswer> {
  const { method, body, signal } = call;
  const headers = {
    ...call.headers,
    host: "localhost",
    authorization: `Bearer ${way.token}`,
    accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
    ...(body === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(signal.aborted ? signal.reason : connectionError(error, way.socketPath));
    const options = { socketPath: way.socketPath, path: "/mcp", method, headers, agent: false, signal };
    const outgoing = request(options, (incoming) => {
      const isStream = incoming.headers["content-type"]?.startsWith("text/event-stream") === true;
      outgoing.setTimeout(isStream ? silenceMs.stream : silenceMs.call, () => outgoing.destroy(silent()));
      readAnswer(incoming, isStream ? reports : null).then(resolve, fail);
    });
    outgoing.setTimeout(silenceMs.call, () => outgoing.destroy(silent()));
    outgoing.on("error", fail);
    outgoing.end(body ?? undefined);
  });
}

async function readAnswer(incoming: IncomingMessage, reports: McpReports | null): Promise<McpAnswer> {
  const sessionId = incoming.headers["mcp-session-id"];
  const parts = new BlockParts();
  incoming.setEncoding("utf8");
  for await (const chunk of incoming) {
    if (reports === null) parts.add(String(chunk));
    else for (const block of parts.split(String(chunk))) await takeBlock(block, reports);
    if (parts.length > maxAnswerChars) throw new PosternError("too_large", "The gateway's response is too large.");
  }
  return {
    status: incoming.statusCode ?? 0,
    sessionId: typeof sessionId === "string" ? sessionId : null,
    text: reports === null ? parts.take() : "",
  };
}

/** Splits text that arrives in pieces. Each piece is scanned once, however long the block becomes. */
class BlockParts {
  #parts: string[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: string): void {
    this.#parts.push(piece);
    this.#length += piece.length;
  }

  /** @returns the blocks that are complete; the rest is kept */
  split(piece: string): readonly string[] {
    if (piece === "") return [];
    const isEndAcross = piece.startsWith("\n") && this.#parts.at(-1)?.endsWith("\n") === true;
    this.add(piece);
    if (!isEndAcross && !piece.includes("\n\n")) return [];
    const blocks = this.take().split("\n\n");
    const rest = blocks.pop() ?? "";
    if (rest !== "") this.add(rest);
    return blocks;
  }

  take(): string {
    const text = this.#parts.join("");
    this.#parts = [];
    this.#length = 0;
    return text;
  }
}

/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html section 9.2.6 */
async function takeBlock(block: string, reports: McpReports): Promise<void> {
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, field, value = ""] = /^([a-z]+): ?(.*)$/s.exec(line) ?? [];
    if (field === "id") reports.onEventId?.(value);
    if (field === "data") data.push(value);
  }
  const text = data.join("\n");
  if (text !== "") await reports.onMessage(text);
}

function silent(): PosternError {
  return new PosternError("internal_error", "The gateway did not respond in time.");
}

const idSchema = z.union([z.string(), z.number()]);
/** @see JSON-RPC 2.0; the fields of a message that the bridge needs. */
export const messageSchema = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: idSchema.optional(),
  method: z.string().optional(),
  params: z.looseObject({ _meta: z.looseObject({}).optional() }).optional(),
});
export type Message = z.infer<typeof messageSchema>;
export type MessageId = z.infer<typeof idSchema>;

const versionKey = "io.modelcontextprotocol/protocolVersion";

/** The protocol version in a message of the newer specification; null for messages of the 2025 specifications. */
export function versionOf({ params }: Message): string | null {
  const { _meta: meta } = params ?? {};
  const version = meta?.[versionKey];
  return typeof version === "string" ? version : null;
}

/** The headers in which a message of the newer specification repeats its fields. @see MCP 2026-07-28, "Streamable HTTP" */
export function headersOf(message: Message, version: string): Readonly<Record<string, string>> {
  const { method, params } = message;
  if (method === undefined) return { "mcp-protocol-version": version };
  const source = method === "resources/read" ? params?.["uri"] : params?.["name"];
  const named = ["tools/call", "prompts/get", "resources/read"].includes(method) && typeof source === "string";
  return {
    "mcp-protocol-version": version,
    "mcp-method": method,
    ...(named ? { "mcp-name": headerValue(source) } : {}),
  };
}

/** Encodes values that headers cannot contain, as specified. */
function headerValue(text: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?");
  return plain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** An error answer to a request, as a line. */
export function errorLine(id: MessageId | null, error: { readonly code: number; readonly message: string }): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

const rpcErrorSchema = z.looseObject({ error: z.looseObject({ code: z.int(), message: z.string() }) });

/** An HTTP error of the gateway, as an error response. */
export function refusalLine(id: MessageId | null, answer: McpAnswer): string {
  const own = rpcErrorSchema.safeParse(parseJson(answer.text));
  if (own.success) return JSON.stringify({ jsonrpc: "2.0", id, error: own.data.error });
  const { code, message } = problemOf(answer);
  return errorLine(id, { code: -32_000, message: `${code}: ${message}` });
}

/** A failure to reach the gateway, as an error response. */
export function failureLine(id: MessageId | null, error: unknown): string {
  const code = isPosternError(error) ? error.code : "internal_error";
  return errorLine(id, { code: -32_000, message: `${code}: ${messageOf(error)}` });
}

/** One line of a stream; `too_long` for a line that was dropped. */
export type Line = { readonly kind: "line"; readonly text: string } | { readonly kind: "too_long" };

/** Splits a stream into lines, without empty ones. */
export async function* readLines(
  input: AsyncIterable<Uint8Array>,
  { maxLength }: { readonly maxLength: number },
): AsyncGenerator<Line, void> {
  const decoder = new TextDecoder();
  let rest = "";
  let dropping = false;
  for await (const chunk of input) {
    const parts = decoder.decode(chunk, { stream: true }).split("\n");
    const last = parts.pop() ?? "";
    for (const part of parts) {
      const text = rest + part;
      rest = "";
      if (dropping || text.length > maxLength) yield { kind: "too_long" };
      else if (text.trim() !== "") yield { kind: "line", text };
      dropping = false;
    }
    rest = dropping ? "" : rest + last;
    if (rest.length > maxLength) {
      dropping = true;
      rest = "";
    }
  }
  if (rest.trim() !== "") yield { kind: "line", text: rest };
}
