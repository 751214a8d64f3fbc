import type { IncomingMessage, RequestOptions } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import type { Clock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import { type AddressList, isPublicAddress } from "./public-address.ts";

/**
 * Why a request to somebody else's address came to nothing: the URL or an address it leads to is not allowed, the answer was a redirect
 * or too large, it took too long, or the connection failed.
 */
export type GuardedFetchErrorCode =
  | "url_refused"
  | "address_refused"
  | "redirect_refused"
  | "answer_too_large"
  | "fetch_timeout"
  | "fetch_failed";

/** An answer, whole. */
export interface FetchedAnswer {
  readonly status: number;
  /** Names in lower case; of a header that came several times, the first. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** A request. */
export interface GuardedRequest {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal?: AbortSignal;
}

/**
 * Fetches a URL that somebody else chose, without letting them reach this machine or its network: https to public addresses only, which
 * are looked up once and then used (a name that changes meanwhile changes nothing); no redirect, no credentials in the URL, no proxy, at
 * most {@link maxAnswerBytes} and {@link fetchTimeoutMs} for everything. What the configuration allows may be private, and http.
 *
 * @throws PosternError {@link GuardedFetchErrorCode}
 */
export type GuardedFetch = (url: string, request: GuardedRequest) => Promise<FetchedAnswer>;

/** An address of a name. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** What {@link createGuardedFetch} needs. */
export interface GuardedFetchDeps {
  readonly clock: Clock;
  /** Hosts, addresses and networks that may be private and spoken to without TLS. */
  readonly allowed: AddressList;
  /** All addresses of a name; the system's own look-up by default. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
}

// Documents and acknowledgements are a few kilobytes; more is somebody's mistake or malice.
const maxAnswerBytes = 64 * 1024;
const fetchTimeoutMs = 5_000;
const maxHeaderBytes = 16 * 1024;

/** @see GuardedFetch */
export function createGuardedFetch(deps: GuardedFetchDeps): GuardedFetch {
  const { clock, allowed, resolve = resolveBySystem } = deps;

  async function fetch(url: string, request: GuardedRequest, signal: AbortSignal): Promise<FetchedAnswer> {
    const target = parseTarget(url);
    const { host } = target;
    const addresses =
      isIP(host) === 0 ? await orAborted(resolve(host), signal) : [{ address: host, family: isIP(host) }];
    const hostAllowed = allowed.hasHost(host);
    const isAllowed = ({ address }: ResolvedAddress): boolean => hostAllowed || allowed.hasAddress(address);
    // One address that is not allowed is enough: a name that leads inside and outside is made to get inside.
    const refused = addresses.find((at) => !isAllowed(at) && !isPublicAddress(at.address));
    if (refused !== undefined || addresses.length === 0) {
      throw refusal("address_refused", `${host} is not, or not only, on the public internet. ${howToAllow}`);
    }
    if (target.url.protocol === "http:" && !addresses.every(isAllowed)) {
      throw refusal("url_refused", `${host} must be reached by https. ${howToAllow}`);
    }
    return send(target.url, { ...request, signal, addresses });
  }

  return async (url, request) => {
    const late = new AbortController();
    const cancel = clock.after(fetchTimeoutMs, () => {
      late.abort(refusal("fetch_timeout", `There was no whole answer within ${fetchTimeoutMs / 1_000} s.`));
    });
    const signals = request.signal === undefined ? [late.signal] : [late.signal, request.signal];
    const signal = AbortSignal.any(signals);
    try {
      return await fetch(url, request, signal);
    } catch (error) {
      if (late.signal.aborted) throw late.signal.reason;
      if (error instanceof PosternError) throw error;
      throw refusal("fetch_failed", reasonOf(error), error);
    } finally {
      cancel();
    }
  };
}

const howToAllow = "The configuration's allowPrivateAddresses names what may be reached all the same.";

function parseTarget(text: string): { readonly url: URL; readonly host: string } {
  if (!URL.canParse(text)) throw refusal("url_refused", "This is not a URL.");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw refusal("url_refused", "The URL must be one of https.");
  if (url.username !== "" || url.password !== "") throw refusal("url_refused", "The URL must not hold credentials.");
  // `new URL` has made one form of an IPv4 address in octal, hexadecimal or one number.
  return { url, host: url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "") };
}

async function resolveBySystem(host: string): Promise<readonly ResolvedAddress[]> {
  const { lookup } = await import("node:dns/promises");
  return lookup(host, { all: true });
}

/** Connects to one of the addresses and to nothing else; the name goes into `Host` and into the certificate's check. */
async function send(
  url: URL,
  request: GuardedRequest & { readonly signal: AbortSignal; readonly addresses: readonly ResolvedAddress[] },
): Promise<FetchedAnswer> {
  const secure = url.protocol === "https:";
  // Loaded with the first request: a gateway that sends none starts without.
  const client = secure ? process.getBuiltinModule("node:https") : process.getBuiltinModule("node:http");
  const { body, signal, method } = request;
  const options: RequestOptions = {
    method,
    signal,
    agent: false,
    lookup: pinned(request.addresses),
    maxHeaderSize: maxHeaderBytes,
    headers: {
      "user-agent": "postern",
      ...request.headers,
      ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }),
    },
  };
  return new Promise((resolve, reject) => {
    const outgoing = client.request(url, options, (incoming) => {
      receive(incoming).then(resolve, (error: unknown) => {
        outgoing.destroy();
        reject(error);
      });
    });
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function receive(incoming: IncomingMessage): Promise<FetchedAnswer> {
  const { statusCode: status = 0 } = incoming;
  if (status >= 300 && status < 400) throw refusal("redirect_refused", `The answer was a redirect (${status}).`);
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of incoming) {
    if (!Buffer.isBuffer(chunk)) continue; // nobody set an encoding
    sizeBytes += chunk.length;
    if (sizeBytes > maxAnswerBytes) {
      throw refusal("answer_too_large", `The answer has more than ${maxAnswerBytes / 1024} KB.`);
    }
    chunks.push(chunk);
  }
  const headers = Object.entries(incoming.headersDistinct).map(([name, values]): [string, string] => [
    name,
    values?.[0] ?? "",
  ]);
  return { status, headers: new Map(headers), body: Buffer.concat(chunks).toString("utf8") };
}

function pinned(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family ?? 4);
  };
}

function orAborted<T>(task: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    task.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function reasonOf(error: unknown): string {
  // Of several addresses each has its own reason; the first says enough.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return `The connection failed: ${messageOf(first)}.`;
}

function refusal(code: GuardedFetchErrorCode, message: string, cause?: unknown): PosternError<GuardedFetchErrorCode> {
  return new PosternError(code, message, cause === undefined ? {} : { cause });
}
