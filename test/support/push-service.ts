import { createDecipheriv, createECDH, createHash, type ECDH, hkdfSync, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { importJWK, jwtVerify } from "jose";
import { onTestFinished } from "vitest";
import { type PushMessage, pushKindSchema } from "../../src/wire/push.ts";

/** A message that the push service received. It cannot read it. */
export interface ReceivedPush {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: Buffer;
}

/** A browser's subscription, with the private key that only the browser has. */
export interface TestSubscription {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
  readonly privateKey: ECDH;
  /** What was sent to it, in order. */
  received(): readonly ReceivedPush[];
  /** What was sent to it, decrypted as a browser does. */
  messages(): readonly PushMessage[];
}

export interface PushService {
  readonly origin: string;
  subscribe(): TestSubscription;
  /** What is answered from now on, by the request and how many came before it. */
  answer: (
    request: ReceivedPush,
    before: number,
  ) => { readonly status: number; readonly headers?: Readonly<Record<string, string>> };
}

/** A browser vendor's push service, on this machine's loopback address; closed with the test. */
export async function startPushService(): Promise<PushService> {
  const requests: ReceivedPush[] = [];
  const service: { answer: PushService["answer"] } = { answer: () => ({ status: 201 }) };
  const server = createServer((incoming, outgoing) => {
    void bodyOf(incoming).then((body) => {
      const headers = Object.entries(incoming.headers).map(([name, value]) => [name, value?.toString()]);
      const request = { path: incoming.url ?? "", headers: Object.fromEntries(headers), body };
      const answer = service.answer(request, requests.length);
      requests.push(request);
      outgoing.writeHead(answer.status, answer.headers).end();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const origin = `http://127.0.0.1:${address === null || typeof address === "string" ? 0 : address.port}`;
  return Object.assign(service, {
    origin,
    subscribe(): TestSubscription {
      const privateKey = createECDH("prime256v1");
      const p256dh = privateKey.generateKeys().toString("base64url");
      const auth = randomBytes(16).toString("base64url");
      const path = `/push/${randomBytes(16).toString("hex")}`;
      const received = () => requests.filter((request) => request.path === path);
      const keys = { p256dh, auth };
      const messages = () => received().map(({ body }) => messageOf(decrypted(body, { keys, privateKey })));
      return { endpoint: `${origin}${path}`, keys, privateKey, received, messages };
    },
  });
}

/**
 * Decrypts the body of a push, with Node's cryptography alone.
 * @see RFC 8188 section 2 (`aes128gcm`), RFC 8291 section 3.4
 */
export function decrypted(body: Buffer, { keys, privateKey }: Pick<TestSubscription, "keys" | "privateKey">): string {
  const salt = body.subarray(0, 16);
  const keyLength = body.readUInt8(20);
  const serverKey = body.subarray(21, 21 + keyLength);
  const sealed = body.subarray(21 + keyLength);
  const info = Buffer.concat([Buffer.from("WebPush: info\0"), Buffer.from(keys.p256dh, "base64url"), serverKey]);
  const shared = privateKey.computeSecret(serverKey);
  const secret = hkdfSync("sha256", shared, Buffer.from(keys.auth, "base64url"), info, 32);
  const part = (name: string, length: number): Buffer =>
    Buffer.from(hkdfSync("sha256", Buffer.from(secret), salt, `Content-Encoding: ${name}\0`, length));
  const decipher = createDecipheriv("aes-128-gcm", part("aes128gcm", 16), part("nonce", 12));
  decipher.setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  // The last record ends with 2 and zero bytes.
  return padded.subarray(0, padded.lastIndexOf(2)).toString("utf8");
}

/** The claims of a push request whose signature is the gateway's. @see RFC 8292 section 2 */
export async function vapidClaims({ headers }: ReceivedPush, publicKey: string) {
  const [, token = "", key = ""] = /^vapid t=([^,]+), k=(.+)$/.exec(headers["authorization"] ?? "") ?? [];
  const point = Buffer.from(publicKey, "base64url");
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString("base64url"));
  const jwk = await importJWK({ kty: "EC", crv: "P-256", x: x ?? "", y: y ?? "" }, "ES256");
  const { payload } = await jwtVerify(token, jwk);
  return { ...payload, key };
}

/** SHA-256 as a browser computes it of its endpoint. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function messageOf(text: string): PushMessage {
  const message: unknown = JSON.parse(text);
  if (!isMessage(message)) throw new Error(`This is no message: ${text}`);
  return message;
}

function isMessage(value: unknown): value is PushMessage {
  if (typeof value !== "object" || value === null || !("type" in value)) return false;
  return value.type !== "notice" || ("kind" in value && pushKindSchema.safeParse(value.kind).success);
}

async function bodyOf(incoming: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
