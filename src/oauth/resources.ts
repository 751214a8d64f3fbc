import { appScopes, defaultAppScopes, type Scope } from "../wire/access.ts";

/** What an access token is good for. */
export type TokenResource = "all" | "mcp";

/** Where the gateway is: its own address, and all origins by which it is reached. */
export interface GatewayPlace {
  /** The address for people and browsers, which is also the issuer (RFC 8414). */
  readonly baseUrl: string;
  readonly origins: readonly string[];
}

/**
 * The names by which the library knows the two resources. They are no addresses, so that a gateway that moves to another
 * address takes its apps along.
 */
export const resourceNames = { all: "urn:postern:api", mcp: "urn:postern:mcp" } as const;

/** @returns null for what is none of ours */
export function resourceOfName(name: string): TokenResource | null {
  return name === resourceNames.all ? "all" : name === resourceNames.mcp ? "mcp" : null;
}

/**
 * What a client means by a resource indicator (RFC 8707): an address of ours under any of our names, with or without a slash
 * at its end. @returns null when it is none
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

/** The resource's address as the issuer's address has it: what stands in a token's `aud`. */
export function audienceOf(resource: TokenResource, { baseUrl }: GatewayPlace): string {
  return resource === "mcp" ? `${baseUrl}/mcp` : baseUrl;
}

/** What a token's `aud` says. */
export function resourceOfAudience(audience: unknown): TokenResource {
  return typeof audience === "string" && audience.endsWith("/mcp") ? "mcp" : "all";
}

/**
 * A request's resource indicators, by the library's names. A client that names both gets what is good at both. What is not ours stays as it
 * is, for the library to refuse.
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
 * The scopes that a request names, each once and in their own order; null when one of them is none that an app can have.
 * @param text as in RFC 6749 section 3.3; undefined asks for the default
 * @param limit what the client registered for; undefined is no limit
 */
export function readScopes(text: string | undefined, limit?: string): readonly AppScope[] | null {
  const allowed = limit === undefined ? null : new Set(limit.split(" "));
  if (text === undefined) return defaultAppScopes.filter((scope) => allowed === null || allowed.has(scope));
  const named = new Set(text.split(" ").filter((word) => word !== ""));
  const known = appScopes.filter((scope) => named.has(scope));
  return known.length === named.size ? known : null;
}

/** Of these what the account holds: nobody gives what they lack. */
export function heldOf(wanted: readonly AppScope[], held: ReadonlySet<Scope>): readonly AppScope[] {
  return wanted.filter((scope) => held.has(scope));
}
