import { z } from "zod";
import { scopeSchema } from "./access.ts";

/**
 * The header that a page sends with every call of the API, beside its cookie. Other ports of the host share the cookie; the key lies in
 * the storage of one origin.
 */
export const browserKeyHeader = "x-postern-key";

/**
 * The cookie of a browser session. On https its name gets the prefix `__Host-`; a port that stands in the address follows as `_7177`, so
 * that of two gateways on one host neither overwrites the other's. That keeps no other port from reading it: the key is for that.
 */
export const browserCookieName = "postern_session";

/** `POST /api/sign-in`: redeems a single-use link, `<base URL>/sign-in#<link>`. */
export const signInInputSchema = z
  .strictObject({ link: z.string().min(1).max(200).describe("What stands behind the `#` of the sign-in link.") })
  .meta({ id: "SignInInput" });

/** The answer, beside the cookie that comes with it. */
export const signedInSchema = z
  .object({
    key: z
      .string()
      .describe("Belongs into the origin's own storage, and into the header `x-postern-key` of each call."),
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
      .describe("Of an app's access token: to whom it was given, and the connection that it belongs to."),
    expiresAt: z.string().nullable().describe("When the token ends by itself; null when it does not."),
    gateway: z.object({ id: z.string(), version: z.string(), baseUrl: z.string() }),
  })
  .meta({ id: "Me" });

/** A browser that is signed in. */
export const browserSessionSchema = z
  .object({
    browserSessionId: z.string(),
    userAgent: z.string(),
    createdAt: z.string(),
    lastUsedAt: z.string(),
    expiresAt: z.string(),
    current: z.boolean().describe("Whether it is the caller's own."),
  })
  .meta({ id: "BrowserSession" });

/** `POST /api/sign-in-links`: for another browser or a phone. */
export const signInLinkSchema = z.object({ url: z.string(), expiresAt: z.string() }).meta({ id: "SignInLink" });

export type SignInInput = z.infer<typeof signInInputSchema>;
export type SignedIn = z.infer<typeof signedInSchema>;
export type Me = z.infer<typeof meSchema>;
export type BrowserSession = z.infer<typeof browserSessionSchema>;
export type SignInLink = z.infer<typeof signInLinkSchema>;
