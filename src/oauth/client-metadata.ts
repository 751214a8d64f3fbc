import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { appScopes } from "../wire/access.ts";
import type { FetchDocument } from "./ports.ts";
import { payloadSchema } from "./record-store.ts";

/** Metadata of a client, by the names of RFC 7591. */
export type ClientMetadata = Readonly<Record<string, unknown>>;

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
export const grantTypes = ["authorization_code", "refresh_token", deviceGrant] as const;
/** How a client may show who it is. */
export const authMethods = ["none", "client_secret_basic", "client_secret_post"] as const;

/** All that is kept of a client's metadata. Nothing else counts here, and some of the rest would make the library fetch addresses. */
const keptFields: ReadonlySet<string> = new Set([
  "application_type",
  "client_id",
  "client_id_issued_at",
  "client_name",
  "client_secret",
  "client_secret_expires_at",
  "client_uri",
  "contacts",
  "grant_types",
  "logo_uri",
  "policy_uri",
  "redirect_uris",
  "response_types",
  "scope",
  "token_endpoint_auth_method",
  "tos_uri",
]);

const maxRedirects = 20;
const maxRedirectLength = 2_000;
/** Of all of it as JSON: far above need, and strangers may register many. */
const maxMetadataBytes = 8 * 1_024;

/**
 * What is wrong with a client's metadata, beyond what the library checks; null when nothing is. What we do not have and RFC 7591 section 2
 * lets a server leave out is taken out of `metadata`: other fields, other scopes, other grant types.
 */
export function applyClientRules(metadata: Record<string, unknown>): string | null {
  for (const field of Object.keys(metadata)) if (!keptFields.has(field)) delete metadata[field];
  // For all: http to this machine on any port, https, and schemes of an app's own (RFC 8252); never http to another host.
  metadata["application_type"] = "native";
  metadata["grant_types"] = supported(metadata["grant_types"], grantTypes);
  const redirects = listOf(metadata["redirect_uris"]);
  const isDevice = listOf(metadata["grant_types"]).includes(deviceGrant);
  metadata["response_types"] =
    redirects.length === 0 && isDevice ? [] : supported(metadata["response_types"], ["code"] as const);
  if (typeof metadata["scope"] === "string") {
    const scopes = supported(metadata["scope"].split(" "), appScopes);
    metadata["scope"] = scopes.length === 0 ? undefined : scopes.join(" ");
  }
  if (redirects.length > maxRedirects) return `redirect_uris must have at most ${maxRedirects} members`;
  const fault = redirects.map(redirectFault).find((each) => each !== null) ?? authMethodFault(metadata);
  if (fault !== null) return fault;
  if (Buffer.byteLength(JSON.stringify(metadata)) <= maxMetadataBytes) return null;
  return `the metadata must have at most ${maxMetadataBytes} bytes`;
}

/** The library would first ask for keys that some methods need. */
function authMethodFault({ token_endpoint_auth_method: method }: Readonly<Record<string, unknown>>): string | null {
  if (method === undefined || authMethods.some((each) => each === method)) return null;
  return `token_endpoint_auth_method must be one of ${authMethods.join(", ")}`;
}

/** Those of RFC 3986 but the `#` of a fragment (RFC 6749 section 3.1.2). */
const uriCharacters = /^[\w\-.~:/?[\]@!$&'()*+,;=%]+$/;

/** Every message begins with `redirect_uris`: by that the library chooses `invalid_redirect_uri` over `invalid_client_metadata`. */
function redirectFault(uri: unknown): string | null {
  // The parser of URLs drops control characters and takes a backslash for a slash, so what it accepts is not yet what a browser is sent to.
  const isPlain = typeof uri === "string" && uri.length <= maxRedirectLength && uriCharacters.test(uri);
  const url = isPlain ? URL.parse(uri) : null;
  if (!isPlain || url === null) return "redirect_uris must contain only valid URIs of at most 2000 ASCII characters";
  // It also reads 127.1 and https:///host as other addresses than they are written.
  const [, writtenHost] = /^https?:\/\/(\[[^\]]*\]|[^/:?]+)/i.exec(uri) ?? [];
  if (url.protocol.startsWith("http") && writtenHost?.toLowerCase() !== url.hostname) {
    return "redirect_uris must spell out the host as browsers do";
  }
  if (!/^(?:https?|[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+):$/.test(url.protocol)) {
    return "redirect_uris must use https, http to this machine, or a scheme that is a reversed domain name (RFC 8252)";
  }
  if (url.username !== "" || url.password !== "") return "redirect_uris must not contain credentials";
  return null;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** What stays when it is no list is for the library to refuse. */
function supported(value: unknown, ours: readonly string[]): unknown[] {
  return listOf(value).filter((item) => typeof item === "string" && ours.includes(item));
}

/**
 * Clients whose id is the address of their metadata.
 * @see https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/
 */
export interface ClientDocuments {
  /** @returns null when the id is no such address, nothing good is there, or it cannot be asked for now */
  find(clientId: string, asked: AskedDocument): Promise<ClientMetadata | null>;
}

/** Who asks for a document, and what is known of it. */
export interface AskedDocument {
  /** An account that decides, or a client at one of the protocol's routes: that may be anybody. */
  readonly asker: "account" | "client";
  /** What it said when an account let it in; null when none did. Where nothing is decided, that is what counts. */
  readonly approved: ClientMetadata | null;
}

interface Kept {
  /** Null when there was nothing good. */
  readonly metadata: ClientMetadata | null;
  readonly until: number;
}

interface Fetching {
  readonly slot: string;
  readonly answer: Promise<ClientMetadata | null>;
}

/** Documents in memory at once; the one fetched longest ago goes first. */
const maxDocuments = 200;
/** Fetches at once of documents that nobody let in, for each kind of asker: what strangers name keeps no account waiting. */
const maxFetches = 8;
const minuteMs = 60_000;
/** Ours, around what the document's own `Cache-Control` says. */
const shortestMs = 5 * minuteMs;
const longestMs = 24 * 60 * minuteMs;
/** So long a document that could not be had is not asked for again. */
const retryMs = 10_000;
const maxIdLength = 500;

export function createClientDocuments(deps: {
  readonly enabled: boolean;
  readonly fetch: FetchDocument;
  readonly clock: Clock;
  readonly log: Log;
}): ClientDocuments {
  const { enabled, clock, log } = deps;
  const kept = new Map<string, Kept>();
  const fetching = new Map<string, Fetching>();

  function keep(clientId: string, document: Kept): void {
    kept.delete(clientId);
    kept.set(clientId, document);
    for (const oldest of kept.keys()) {
      if (kept.size <= maxDocuments) break;
      kept.delete(oldest);
    }
  }

  async function fetchNow(clientId: string): Promise<ClientMetadata | null> {
    try {
      const answer = await deps.fetch(clientId, { method: "GET", headers: { accept: "application/json" } });
      if (answer.status !== 200) throw new Error(`HTTP status ${answer.status}.`);
      const metadata = readDocument(clientId, answer.body);
      keep(clientId, { metadata, until: clock.now() + lifeOf(answer.headers.get("cache-control") ?? "") });
      return metadata;
    } catch (error) {
      log.info({ reason: messageOf(error) }, "cannot use a client metadata document");
      // What it said before still holds while its host is away for a moment.
      const before = kept.get(clientId)?.metadata ?? null;
      keep(clientId, { metadata: before, until: clock.now() + retryMs });
      return before;
    }
  }

  /** One slot for each host; none is taken by what was let in, and nothing keeps that waiting. */
  function slotFor(clientId: string, { asker, approved }: AskedDocument): string | null {
    if (approved !== null) return `approved ${clientId}`;
    const slot = `${asker} ${new URL(clientId).host}`;
    const taken = [...fetching.values()].map((each) => each.slot).filter((each) => each.startsWith(`${asker} `));
    return taken.length >= maxFetches || taken.includes(slot) ? null : slot;
  }

  return {
    async find(clientId, asked) {
      if (!enabled || !isDocumentAddress(clientId)) return null;
      if (asked.asker === "client" && asked.approved !== null) return asked.approved;
      const known = kept.get(clientId);
      if (known !== undefined && known.until > clock.now()) return known.metadata;
      const underWay = fetching.get(clientId);
      if (underWay !== undefined) return underWay.answer;
      const slot = slotFor(clientId, asked);
      if (slot === null) return known?.metadata ?? null;
      const answer = fetchNow(clientId).finally(() => fetching.delete(clientId));
      fetching.set(clientId, { slot, answer });
      return answer;
    },
  };
}

/** https with a path, as the draft has it; what the configuration lets be reached without TLS, the fetch decides. */
function isDocumentAddress(clientId: string): boolean {
  const url = clientId.length <= maxIdLength && /^https?:\/\//.test(clientId) ? URL.parse(clientId) : null;
  if (url === null || url.pathname === "/" || url.hash !== "" || clientId.includes("#")) return false;
  // Its own spelling: no credentials, no dot segments, nothing that is read in two ways.
  return url.username === "" && url.password === "" && url.href === clientId;
}

/** @throws Error that says what is wrong with it */
function readDocument(clientId: string, body: string): ClientMetadata {
  const document = payloadSchema.parse(JSON.parse(body));
  if (document["client_id"] !== clientId) throw new Error("The document's client_id is not its URL.");
  const { token_endpoint_auth_method: method = "none" } = document;
  // A secret that everybody can read is none.
  if (method !== "none") throw new Error(`token_endpoint_auth_method must be none in a metadata document.`);
  if ("client_secret" in document) throw new Error("A metadata document must not contain a client_secret.");
  return { ...document, token_endpoint_auth_method: "none" };
}

function lifeOf(cacheControl: string): number {
  const seconds = /(?:^|,)\s*max-age\s*=\s*(\d{1,9})/i.exec(cacheControl)?.[1];
  return Math.min(longestMs, Math.max(shortestMs, Number(seconds ?? 0) * 1_000));
}
