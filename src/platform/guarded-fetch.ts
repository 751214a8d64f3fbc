import type { IncomingMessage, RequestOptions } from "node:http";
import { BlockList, isIP, type LookupFunction } from "node:net";
import type { Clock } from "../core/clock.ts";
import { hasCode, messageOf, PosternError } from "../core/errors.ts";
import { canBePublicName, isPublicAddress } from "./public-addresses.ts";

/** `url_refused`, `address_refused`: not allowed. `redirect_refused`: redirects are not followed. */
export type GuardedFetchErrorCode =
  | "url_refused"
  | "address_refused"
  | "redirect_refused"
  | "answer_too_large"
  | "fetch_timeout"
  | "fetch_failed";

export interface FetchedAnswer {
  readonly status: number;
  /** Names in lower case; the first of repeated headers. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

interface GuardedRequest {
  readonly method: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  readonly signal?: AbortSignal;
}

/**
 * Fetches a URL that an outsider chose, without exposing this machine or its network: https to public addresses only, which are resolved
 * once; no redirects, no credentials in the URL, no proxy, at most {@link maxAnswerBytes} and {@link fetchTimeoutMs}. Addresses that the
 * configuration allows can be private, and can use http.
 * @throws PosternError {@link GuardedFetchErrorCode}
 */
export interface GuardedFetch {
  (url: string, request: GuardedRequest): Promise<FetchedAnswer>;
  /**
   * Refuses a URL that no request could reach, with the same checks as for a request. A name whose lookup fails now passes if it can exist.
   * @throws PosternError `url_refused` | `address_refused`
   */
  check(url: string): Promise<void>;
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

// Documents and acknowledgements are a few kilobytes.
const maxAnswerBytes = 64 * 1024;
const fetchTimeoutMs = 5_000;
const maxHeaderBytes = 16 * 1024;

/** @see GuardedFetch */
export function createGuardedFetch(deps: {
  readonly clock: Clock;
  /** Hosts, addresses and networks that can be private and reached without TLS. */
  readonly allowed: AddressList;
  /** All addresses of a name; the system's lookup by default. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
}): GuardedFetch {
  const { clock, allowed, resolve = resolveBySystem } = deps;

  /** Where a request goes. @throws PosternError `url_refused` | `address_refused`; otherwise the reason of a failed lookup */
  async function targetOf(text: string, signal: AbortSignal) {
    const { url, host } = parseTarget(text);
    const addresses =
      isIP(host) === 0 ? await orAborted(resolve(host), signal) : [{ address: host, family: isIP(host) }];
    const hostAllowed = allowed.hasHost(host);
    const isAllowed = ({ address }: ResolvedAddress): boolean => hostAllowed || allowed.hasAddress(address);
    // One private address is enough: a name with public and private addresses is an attack.
    const refused = addresses.find((at) => !isAllowed(at) && !isPublicAddress(at.address));
    if (refused !== undefined || addresses.length === 0) {
      throw refusal("address_refused", `${host} has an address outside the public internet, or none. ${howToAllow}`);
    }
    if (url.protocol === "http:" && !addresses.every(isAllowed)) {
      throw refusal("url_refused", `${host} must be reached over https. ${howToAllow}`);
    }
    return { url, addresses };
  }

  async function withinTime<T>(given: AbortSignal | undefined, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const late = new AbortController();
    const cancel = clock.after(fetchTimeoutMs, () => {
      late.abort(refusal("fetch_timeout", `No complete answer within ${fetchTimeoutMs / 1_000} s.`));
    });
    const signal = AbortSignal.any(given === undefined ? [late.signal] : [late.signal, given]);
    try {
      return await task(signal);
    } catch (error) {
      if (late.signal.aborted) throw late.signal.reason;
      if (error instanceof PosternError) throw error;
      throw refusal("fetch_failed", reasonOf(error), error);
    } finally {
      cancel();
    }
  }

  async function fetch(text: string, request: GuardedRequest): Promise<FetchedAnswer> {
    return withinTime(request.signal, async (signal) => {
      const { url, addresses } = await targetOf(text, signal);
      return send(url, { ...request, signal, addresses });
    });
  }

  async function check(text: string): Promise<void> {
    try {
      await withinTime(undefined, (signal) => targetOf(text, signal));
    } catch (error) {
      const { host } = parseTarget(text);
      if (!isLookupFailure(error)) throw error;
      if (!allowed.hasHost(host) && !canBePublicName(host)) {
        throw refusal("address_refused", `${host} is not a public host name. ${howToAllow}`);
      }
    }
  }

  return Object.assign(fetch, { check });
}

function isLookupFailure(error: unknown): boolean {
  return hasCode(error, "fetch_failed") || hasCode(error, "fetch_timeout");
}

const howToAllow = "To allow it, add it to allowPrivateAddresses in config.json.";

function parseTarget(text: string): { readonly url: URL; readonly host: string } {
  if (!URL.canParse(text)) throw refusal("url_refused", "This is not a URL.");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw refusal("url_refused", "The URL must begin with https://.");
  if (url.username !== "" || url.password !== "") throw refusal("url_refused", "The URL must not hold credentials.");
  // `new URL` has normalized IPv4 addresses in octal, hexadecimal or as one number.
  return { url, host: url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "") };
}

async function resolveBySystem(host: string): Promise<readonly ResolvedAddress[]> {
  const { lookup } = await import("node:dns/promises");
  return lookup(host, { all: true });
}

/** Connects to these addresses only; the name is used for `Host` and the certificate check. */
async function send(
  url: URL,
  request: GuardedRequest & { readonly signal: AbortSignal; readonly addresses: readonly ResolvedAddress[] },
): Promise<FetchedAnswer> {
  const secure = url.protocol === "https:";
  // Loaded with the first request.
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
    if (!Buffer.isBuffer(chunk)) continue; // no encoding is set
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
  // Each address failed for its own reason; the first reason is enough.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  return `The connection failed: ${messageOf(first)}.`;
}

function refusal(code: GuardedFetchErrorCode, message: string, cause?: unknown): PosternError<GuardedFetchErrorCode> {
  return new PosternError(code, message, cause === undefined ? {} : { cause });
}

/** Hosts, addresses and networks from the configuration. */
export interface AddressList {
  hasHost(name: string): boolean;
  hasAddress(address: string): boolean;
}

/** @param entries host names, IP addresses and networks (`10.1.0.0/16`) */
export function createAddressList(entries: readonly string[]): AddressList {
  const names = new Set<string>();
  const networks = new BlockList();
  for (const entry of entries) {
    const [base = "", prefix] = entry.split("/", 2);
    const version = isIP(base);
    if (version === 0) names.add(entry.toLowerCase());
    else networks.addSubnet(base, prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix), family(base));
  }
  return {
    hasHost: (name) => names.has(name.toLowerCase()),
    hasAddress: (address) => isIP(address) !== 0 && networks.check(address, family(address)),
  };
}

/** Whether `entry` is valid in an {@link AddressList}. */
export function isAddressEntry(entry: string): boolean {
  const [base = "", prefix, ...more] = entry.split("/");
  const version = isIP(base);
  if (version === 0) return prefix === undefined && /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(base);
  const longest = version === 4 ? 32 : 128;
  return more.length === 0 && (prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= longest));
}

/** Whether `entry` is an IP address or a network, except a network of all addresses. */
export function isNetworkEntry(entry: string): boolean {
  const [base = "", prefix = "32"] = entry.split("/");
  return isAddressEntry(entry) && isIP(base) !== 0 && Number(prefix) > 0;
}

function family(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 6 ? "ipv6" : "ipv4";
}
