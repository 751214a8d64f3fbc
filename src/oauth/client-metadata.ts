import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { appScopes } from "../wire/access.ts";
import type { FetchDocument } from "./ports.ts";
import { payloadSchema } from "./record-store.ts";

/** Client metadata, with the field names of RFC 7591. */
export type ClientMetadata = Readonly<Record<string, unknown>>;

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
export const grantTypes = ["authorization_code", "refresh_token", deviceGrant] as const;
/** The supported ways to authenticate a client. */
export const authMethods = ["none", "client_secret_basic", "client_secret_post"] as const;

/** The only metadata fields that are stored. The others have no effect here, and some would make the library fetch URLs. */
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
/** Maximum length of the metadata as JSON: more than a client needs, and small because unknown clients can register many times. */
const maxMetadataBytes = 8 * 1_024;

/**
 * Checks a client's metadata beyond what the library checks; null when it is valid. Removes unsupported parts of `metadata`, as RFC 7591
 * section 2 allows: other fields, other scopes, other grant types.
 */
export function applyClientRules(metadata: Record<string, unknown>): string | null {
  for (const field of Object.keys(metadata)) if (!keptFields.has(field)) delete metadata[field];
  // Every client can use http to this machine on any port, https, and an app's private-use schemes (RFC 8252); never http elsewhere.
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

/** Runs first, because the library would ask for the keys that some methods need. */
function authMethodFault({ token_endpoint_auth_method: method }: Readonly<Record<string, unknown>>): string | null {
  if (method === undefined || authMethods.some((each) => each === method)) return null;
  return `token_endpoint_auth_method must be one of ${authMethods.join(", ")}`;
}

/** The characters of RFC 3986, except the `#` of a fragment (RFC 6749 section 3.1.2). */
const uriCharacters = /^[\w\-.~:/?[\]@!$&'()*+,;=%]+$/;

/** Every message starts with `redirect_uris`, so that the library answers `invalid_redirect_uri`, not `invalid_client_metadata`. */
function redirectFault(uri: unknown): string | null {
  // The URL parser drops control characters and treats a backslash as a slash, so it accepts more than a browser would follow.
  const isPlain = typeof uri === "string" && uri.length <= maxRedirectLength && uriCharacters.test(uri);
  const url = isPlain ? URL.parse(uri) : null;
  if (!isPlain || url === null) return "redirect_uris must contain only valid URIs of at most 2000 ASCII characters";
  // The URL parser also changes the host of addresses such as 127.1 and https:///host.
  const [, writtenHost] = /^https?:\/\/(\[[^\]]*\]|[^/:?]+)/i.exec(uri) ?? [];
  if (url.protocol.startsWith("http") && writtenHost?.toLowerCase() !== url.hostname) {
    return "redirect_uris must write the host in the form that browsers use, such as 127.0.0.1 instead of 127.1";
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

/** A value that is not a list is left for the library to refuse. */
function supported(value: unknown, ours: readonly string[]): unknown[] {
  return listOf(value).filter((item) => typeof item === "string" && ours.includes(item));
}

/**
 * Clients whose id is the URL of their metadata document.
 * @see https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/
 */
export interface ClientDocuments {
  /** @returns null when the id is not such a URL, has no valid document, or cannot be fetched now */
  find(clientId: string, asked: AskedDocument): Promise<ClientMetadata | null>;
}

/** Who requests a document, and what is already known about the document. */
export interface AskedDocument {
  /** An account that makes a decision, or a client at a protocol route, which can be anyone. */
  readonly asker: "account" | "client";
  /** The document that an account last approved; null when no account approved one. Used wherever no decision is made. */
  readonly approved: ClientMetadata | null;
}

interface Kept {
  /** Null when no valid document was found. */
  readonly metadata: ClientMetadata | null;
  readonly until: number;
}

interface Fetching {
  readonly slot: string;
  readonly answer: Promise<ClientMetadata | null>;
}

/** Maximum documents in memory; the one fetched longest ago is dropped first. */
const maxDocuments = 200;
/** Concurrent fetches of unapproved documents, for each kind of asker, so that unknown clients never delay an account. */
const maxFetches = 8;
const minuteMs = 60_000;
/** Our own limits on the document's `Cache-Control`. */
const shortestMs = 5 * minuteMs;
const longestMs = 24 * 60 * minuteMs;
/** How long to wait before fetching a document again after a failure. */
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
      // The previous document stays valid while its host is temporarily unreachable.
      const before = kept.get(clientId)?.metadata ?? null;
      keep(clientId, { metadata: before, until: clock.now() + retryMs });
      return before;
    }
  }

  /** One slot for each host. Approved documents have their own slots, so they never wait for others. */
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

/** An https URL with a path, as in the draft. The fetch decides which hosts the configuration allows without TLS. */
function isDocumentAddress(clientId: string): boolean {
  const url = clientId.length <= maxIdLength && /^https?:\/\//.test(clientId) ? URL.parse(clientId) : null;
  if (url === null || url.pathname === "/" || url.hash !== "" || clientId.includes("#")) return false;
  // Only the canonical form: no credentials, no dot segments, nothing ambiguous.
  return url.username === "" && url.password === "" && url.href === clientId;
}

/** @throws Error that describes the problem */
function readDocument(clientId: string, body: string): ClientMetadata {
  const document = payloadSchema.parse(JSON.parse(body));
  if (document["client_id"] !== clientId) throw new Error("The document's client_id is not its URL.");
  const { token_endpoint_auth_method: method = "none" } = document;
  // A secret in a public document is not a secret.
  if (method !== "none") throw new Error(`token_endpoint_auth_method must be none in a metadata document.`);
  if ("client_secret" in document) throw new Error("A metadata document must not contain a client_secret.");
  return { ...document, token_endpoint_auth_method: "none" };
}

function lifeOf(cacheControl: string): number {
  const seconds = /(?:^|,)\s*max-age\s*=\s*(\d{1,9})/i.exec(cacheControl)?.[1];
  return Math.min(longestMs, Math.max(shortestMs, Number(seconds ?? 0) * 1_000));
}
