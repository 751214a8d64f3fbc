import { appScopes, defaultAppScopes, type Scope } from "../wire/access.ts";

/** Where an access token is valid. */
export type TokenResource = "all" | "mcp";

/** The gateway's own URL, and all origins that reach it. */
export interface GatewayPlace {
  /** The URL for people and browsers, which is also the issuer (RFC 8414). */
  readonly baseUrl: string;
  readonly origins: readonly string[];
}

/** The library's names for the two resources. They are not URLs, so apps stay connected when the gateway moves to another URL. */
export const resourceNames = { all: "urn:postern:api", mcp: "urn:postern:mcp" } as const;

/** @returns null for an unknown resource */
export function resourceOfName(name: string): TokenResource | null {
  return name === resourceNames.all ? "all" : name === resourceNames.mcp ? "mcp" : null;
}

/**
 * Resolves a resource indicator (RFC 8707): a URL on any of our origins, with or without a trailing slash.
 * @returns null when it is not one of ours
 */
export function resourceOfAddress(address: string, { baseUrl, origins }: GatewayPlace): TokenResource | null {
  const url = URL.parse(address);
  if (url === null || url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") return null;
  const base = new URL(baseUrl);
  if (url.origin !== base.origin && !origins.includes(url.origin)) return null;
  const path = url.pathname.replace(/\/+$/, "");
  const basePath = base.pathname.replace(/\/+$/, "");
  if (path === "" || path === basePath) return "all";
  return path === "/mcp" || path === `${basePath}/mcp` ? "mcp" : null;
}

/** The resource's URL under the issuer, which is the `aud` of its tokens. */
export function audienceOf(resource: TokenResource, { baseUrl }: GatewayPlace): string {
  return resource === "mcp" ? `${baseUrl}/mcp` : baseUrl;
}

/** Reads a token's `aud`. */
export function resourceOfAudience(audience: unknown): TokenResource {
  return typeof audience === "string" && audience.endsWith("/mcp") ? "mcp" : "all";
}

/**
 * A request's resource indicators, under the library's names. A client that requests both resources gets a token for both. Unknown resources stay
 * unchanged, for the library to refuse.
 */
export function nameResources(indicators: readonly string[], place: GatewayPlace): string | undefined {
  if (indicators.length === 0) return undefined;
  const meant = indicators.map((indicator) => resourceOfName(indicator) ?? resourceOfAddress(indicator, place));
  const strange = indicators.find((_indicator, index) => meant[index] === null);
  if (strange !== undefined) return strange;
  return meant.includes("all") ? resourceNames.all : resourceNames.mcp;
}

/** A scope that an app can be allowed. */
export type AppScope = (typeof appScopes)[number];

/**
 * The requested scopes, without duplicates and in canonical order; null when an app cannot have one of them.
 * @param text as in RFC 6749 section 3.3; undefined requests the default
 * @param limit the scopes that the client registered for; undefined means no limit
 */
export function readScopes(text: string | undefined, limit?: string): readonly AppScope[] | null {
  const allowed = limit === undefined ? null : new Set(limit.split(" "));
  if (text === undefined) return defaultAppScopes.filter((scope) => allowed === null || allowed.has(scope));
  const named = new Set(text.split(" ").filter((word) => word !== ""));
  const known = appScopes.filter((scope) => named.has(scope));
  return known.length === named.size ? known : null;
}

/** The wanted scopes that the account holds, because an account can grant only scopes that it holds. */
export function heldOf(wanted: readonly AppScope[], held: ReadonlySet<Scope>): readonly AppScope[] {
  return wanted.filter((scope) => held.has(scope));
}
