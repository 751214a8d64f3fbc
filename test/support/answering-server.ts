import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { onTestFinished } from "vitest";

/** A request to a model's server. */
export interface AskedOfModel {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly response: ServerResponse;
}

/** A model's server whose answers come from the test; closed when the test ends. */
export async function startAnsweringServer(answer: (asked: AskedOfModel, count: number) => void) {
  const asked: AskedOfModel[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => {
      const one = { path: request.url ?? "", headers: request.headers, body, response };
      asked.push(one);
      answer(one, asked.length);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { asked, baseUrl: `http://127.0.0.1:${port}/v1` };
}

/** Answers with JSON, or with other content that claims to be JSON. */
export function send(
  response: ServerResponse,
  body: string,
  {
    status = 200,
    headers = {},
  }: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(body);
}
