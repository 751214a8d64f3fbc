import { z } from "zod";
import { scopeSchema } from "./access.ts";

/**
 * The header that pages send with every API call, together with the cookie. Other ports of the host share the cookie, but the key is
 * in the storage of one origin.
 */
export const browserKeyHeader = "x-postern-key";

/**
 * The cookie of a browser session. On https its name has the prefix `__Host-`. A port in the address is appended as `_7177`, so that
 * gateways on the same host do not overwrite each other's cookie. Other ports can still read it; the key protects against that.
 */
export const browserCookieName = "postern_session";

/** `POST /api/sign-in`: redeems a single-use link, `<base URL>/sign-in#<link>`. */
export const signInInputSchema = z
  .strictObject({ link: z.string().min(1).max(200).describe("The part of the sign-in link after `#`.") })
  .meta({ id: "SignInInput" });

/** The response body. The cookie is set at the same time. */
export const signedInSchema = z
  .object({
    key: z.string().describe("Keep it in the origin's storage and send it as `x-postern-key` with each call."),
    expiresAt: z.string(),
  })
  .meta({ id: "SignedIn" });

/** `GET /api/me`: who is calling. */
export const meSchema = z
  .object({
    account: z.object({ accountId: z.string(), name: z.string(), isOwner: z.boolean() }),
    kind: z.enum(["browser", "token", "app", "jwt", "socket", "open"]),
    scopes: z.array(scopeSchema),
    folders: z.array(z.string()).nullable(),
    browserSessionId: z.string().nullable(),
    app: z
      .object({ clientId: z.string(), appId: z.string() })
      .nullable()
      .describe("Client and connection of an app's access token. Null for other credentials."),
    expiresAt: z.string().nullable().describe("When the token expires. Null if it does not expire."),
    gateway: z.object({ id: z.string(), version: z.string(), baseUrl: z.string() }),
  })
  .meta({ id: "Me" });

/** A signed-in browser. */
export const browserSessionSchema = z
  .object({
    browserSessionId: z.string(),
    userAgent: z.string(),
    createdAt: z.string(),
    lastUsedAt: z.string(),
    expiresAt: z.string(),
    current: z.boolean().describe("Whether this browser is making the request."),
  })
  .meta({ id: "BrowserSession" });

/** `POST /api/sign-in-links`: for another browser or a phone. */
export const signInLinkSchema = z.object({ url: z.string(), expiresAt: z.string() }).meta({ id: "SignInLink" });

export type SignInInput = z.infer<typeof signInInputSchema>;
export type SignedIn = z.infer<typeof signedInSchema>;
export type Me = z.infer<typeof meSchema>;
export type BrowserSession = z.infer<typeof browserSessionSchema>;
export type SignInLink = z.infer<typeof signInLinkSchema>;
