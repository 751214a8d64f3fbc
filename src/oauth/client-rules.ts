import { appScopes } from "../wire/access.ts";

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
export const grantTypes = ["authorization_code", "refresh_token", deviceGrant] as const;
/** How a client may show who it is. */
export const authMethods = ["none", "client_secret_basic", "client_secret_post"] as const;

const maxRedirects = 20;
const maxRedirectLength = 2_000;

/**
 * What is wrong with a client's metadata, beyond what the library checks; null when nothing is. What we do not have and RFC 7591 section 2
 * lets a server leave out is taken out of `metadata`: other scopes, other grant types.
 */
export function applyClientRules(metadata: Record<string, unknown>): string | null {
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
  return redirects.map(redirectFault).find((fault) => fault !== null) ?? null;
}

function redirectFault(uri: unknown): string | null {
  const url = typeof uri === "string" && uri.length <= maxRedirectLength ? URL.parse(uri) : null;
  if (url === null) return "redirect_uris must only contain valid uris of 2000 characters at most";
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
