import { z } from "zod";
import { isPosternError, messageOf } from "../core/errors.ts";
import { problemOf } from "./gateway-client.ts";
import type { McpAnswer } from "./mcp-exchange.ts";

const idSchema = z.union([z.string(), z.number()]);
/** @see JSON-RPC 2.0; a message of the protocol, as far as a bridge looks at it. */
export const messageSchema = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: idSchema.optional(),
  method: z.string().optional(),
  params: z.looseObject({ _meta: z.looseObject({}).optional() }).optional(),
});
export type Message = z.infer<typeof messageSchema>;
export type MessageId = z.infer<typeof idSchema>;

const versionKey = "io.modelcontextprotocol/protocolVersion";

/** The version that a message of the newer specification carries; null for those of 2025. */
export function versionOf({ params }: Message): string | null {
  const { _meta: meta } = params ?? {};
  const version = meta?.[versionKey];
  return typeof version === "string" ? version : null;
}

/** What such a message repeats in headers. @see MCP 2026-07-28, "Streamable HTTP" */
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

/** As the specification writes what no header can hold. */
function headerValue(text: string): string {
  const plain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?base64?");
  return plain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

/** An error answer to a request, as a line. */
export function errorLine(id: MessageId | null, error: { readonly code: number; readonly message: string }): string {
  return JSON.stringify({ jsonrpc: "2.0", id, error });
}

const rpcErrorSchema = z.looseObject({ error: z.looseObject({ code: z.int(), message: z.string() }) });

/** What the gateway said in place of an answer, as an error answer. */
export function refusalLine(id: MessageId | null, answer: McpAnswer): string {
  const own = rpcErrorSchema.safeParse(parseJson(answer.text));
  if (own.success) return JSON.stringify({ jsonrpc: "2.0", id, error: own.data.error });
  const { code, message } = problemOf(answer);
  return errorLine(id, { code: -32_000, message: `${code}: ${message}` });
}

/** What was in the way, as an error answer. */
export function failureLine(id: MessageId | null, error: unknown): string {
  const code = isPosternError(error) ? error.code : "internal_error";
  return errorLine(id, { code: -32_000, message: `${code}: ${messageOf(error)}` });
}

/** Undefined for what is no JSON. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
