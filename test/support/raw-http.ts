import { once } from "node:events";
import { connect, type NetConnectOpts } from "node:net";

/** An answer, read from the socket byte for byte. */
export interface RawAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends exactly these lines (and `body`) and reads until the server closes: no client in between that would correct them. */
export async function rawRequest(
  to: NetConnectOpts,
  lines: readonly string[],
  body: string | Uint8Array = "",
): Promise<RawAnswer> {
  const socket = connect(to);
  const length = Buffer.byteLength(body);
  const head = [...lines, "Connection: close", ...(length > 0 ? [`Content-Length: ${length}`] : [])];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  if (length > 0) socket.write(body);
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  await once(socket, "close");
  return parse(Buffer.concat(chunks).toString("utf8"));
}

function parse(text: string): RawAnswer {
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...fields] = text.slice(0, end).split("\r\n");
  const headers = fields.map((field): [string, string] => {
    const colon = field.indexOf(":");
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
  });
  return {
    status: Number(statusLine.split(" ")[1]),
    headers: Object.fromEntries(headers),
    body: text.slice(end + 4),
  };
}

/** A request for another protocol on the connection, as a client would write it. */
export function upgradeRequest(request: {
  readonly port: number;
  readonly path: string;
  readonly upgrade: string;
  readonly authorization?: string;
}): string {
  const { port, path, upgrade, authorization } = request;
  const lines = [
    `GET ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    "Connection: Upgrade",
    `Upgrade: ${upgrade}`,
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
  ];
  return `${lines.join("\r\n")}\r\n\r\n`;
}
