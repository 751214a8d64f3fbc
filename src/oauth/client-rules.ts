import { appScopes } from "../wire/access.ts";

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
  metadata["grant_types"] = known(metadata["grant_types"], grantTypes);
  const redirects = listOf(metadata["redirect_uris"]);
  const isDevice = listOf(metadata["grant_types"]).includes(deviceGrant);
  metadata["response_types"] =
    redirects.length === 0 && isDevice ? [] : known(metadata["response_types"], ["code"] as const);
  if (typeof metadata["scope"] === "string") {
    const scopes = known(metadata["scope"].split(" "), appScopes);
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

function redirectFault(uri: unknown): string | null {
  // The parser of URLs drops control characters and takes a backslash for a slash, so what it accepts is not yet what a browser is sent to.
  const isPlain = typeof uri === "string" && uri.length <= maxRedirectLength && uriCharacters.test(uri);
  const url = isPlain ? URL.parse(uri) : null;
  if (!isPlain || url === null) return "redirect_uris must only contain valid uris of 2000 ASCII characters at most";
  // It also reads 127.1 and https:///host as other addresses than they are written.
  const [, writtenHost] = /^https?:\/\/(\[[^\]]*\]|[^/:?]+)/i.exec(uri) ?? [];
  if (url.protocol.startsWith("http") && writtenHost?.toLowerCase() !== url.hostname) {
    return "redirect_uris must name their host plainly";
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
function known(value: unknown, ours: readonly string[]): unknown[] {
  return listOf(value).filter((item) => typeof item === "string" && ours.includes(item));
}
