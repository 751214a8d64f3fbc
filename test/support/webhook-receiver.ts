import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { onTestFinished } from "vitest";

/** A request that a webhook's receiver got. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** The receiver's response; null never responds. */
export type ReceiverAnswer = { readonly status: number; readonly headers?: Readonly<Record<string, string>> } | null;

/** A third party's webhook server, on this machine's loopback address. */
export interface WebhookReceiver {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  /** What is answered from now on, by the request and how many came before it. */
  answer: (request: ReceivedRequest, before: number) => ReceiverAnswer;
}

/** Starts a receiver that answers 204 by default; closed with the test. */
export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const requests: ReceivedRequest[] = [];
  const receiver: { answer: WebhookReceiver["answer"] } = { answer: () => ({ status: 204 }) };
  const server = createServer((incoming, outgoing) => {
    void bodyOf(incoming).then((body) => {
      const request = { path: incoming.url ?? "", headers: headersOf(incoming), body };
      const answer = receiver.answer(request, requests.length);
      requests.push(request);
      if (answer !== null) outgoing.writeHead(answer.status, answer.headers).end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const port = address === null || typeof address === "string" ? 0 : address.port;
  return Object.assign(receiver, { url: `http://127.0.0.1:${port}/hook`, requests });
}

/** Whether a request is signed with this secret, as a receiver finds out by the specification alone. */
export function isSigned({ headers, body }: ReceivedRequest, secret: string): boolean {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  return headers["webhook-signature"] === `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  let text = "";
  incoming.setEncoding("utf8");
  for await (const chunk of incoming) text += String(chunk);
  return text;
}

function headersOf({ headers }: IncomingMessage): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, value?.toString()]));
}
