import { type IncomingMessage, request } from "node:http";
import { PosternError } from "../core/errors.ts";
import { connectionError } from "./gateway-client.ts";

/** A request to the gateway's `/mcp`. */
export interface McpCall {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null has none. */
  readonly body: string | null;
  readonly signal: AbortSignal;
}

/** How it was answered. */
export interface McpAnswer {
  readonly status: number;
  readonly sessionId: string | null;
  /** The whole body; empty when the answer was a stream, whose messages were told one by one. */
  readonly text: string;
}

/** What an answer tells while it comes. */
export interface McpReports {
  /** A message of a stream, as JSON. */
  onMessage(text: string): void;
  /** Where to go on from when the stream breaks. */
  onEventId?(id: string): void;
}

/** More than an answer of 1,000 turns takes; a bound, not an expectation. */
const maxAnswerChars = 64 * 1024 * 1024;
/** A stream says something every 15 seconds. A call that is answered in one piece says nothing for as long as it waits. */
const silenceMs = { stream: 60_000, call: 700_000 };

/**
 * Sends it through the gateway's Unix socket, with a token: not as the owner.
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
  let text = "";
  incoming.setEncoding("utf8");
  for await (const chunk of incoming) {
    text += String(chunk);
    if (reports !== null) {
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) takeBlock(block, reports);
    }
    if (text.length > maxAnswerChars) throw new PosternError("too_large", "The gateway's answer is too large.");
  }
  return {
    status: incoming.statusCode ?? 0,
    sessionId: typeof sessionId === "string" ? sessionId : null,
    text: reports === null ? text : "",
  };
}

/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html section 9.2.6 */
function takeBlock(block: string, reports: McpReports): void {
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [, field, value = ""] = /^([a-z]+): ?(.*)$/s.exec(line) ?? [];
    if (field === "id") reports.onEventId?.(value);
    if (field === "data") data.push(value);
  }
  const text = data.join("\n");
  if (text !== "") reports.onMessage(text);
}

function silent(): PosternError {
  return new PosternError("internal_error", "The gateway said nothing for too long.");
}
