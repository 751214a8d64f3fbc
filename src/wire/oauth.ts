import { z } from "zod";
import { scopeSchema } from "./access.ts";
import { textSchema } from "./text.ts";

/** Where the authorization server's own routes are. @see RFC 8414, RFC 9728, RFC 8628 */
export const oauthPaths = {
  authorize: "/oauth/authorize",
  token: "/oauth/token",
  revocation: "/oauth/revoke",
  introspection: "/oauth/introspect",
  registration: "/oauth/register",
  jwks: "/oauth/jwks",
  deviceAuthorization: "/oauth/device_authorization",
  /** The page for a device's code. */
  device: "/oauth/device",
  metadata: "/.well-known/oauth-authorization-server",
  protectedResource: "/.well-known/oauth-protected-resource",
  mcp: "/mcp",
} as const;

/** The field of a decision form that carries the key of the origin's storage, where no header can. */
export const decisionKeyField = "postern_key";

/** How a client came to be known: it registered itself (RFC 7591), the owner added it, or its id is the address of its metadata. */
export const clientOriginSchema = z.enum(["registered", "added", "document"]);

/** A client of the authorization server. */
export const oauthClientSchema = z
  .object({
    clientId: z.string(),
    name: z.string(),
    origin: clientOriginSchema,
    redirectUris: z.array(z.string()),
    confidential: z.boolean(),
    createdAt: z.string(),
    lastUsedAt: z.string().nullable(),
  })
  .meta({ id: "OAuthClient" });

/** `POST /api/oauth/clients` and `postern client add` */
export const addClientInputSchema = z
  .strictObject({
    name: textSchema(100),
    redirectUris: z.array(z.url().max(2_000)).max(20).default([]).describe("None for a client of the device grant."),
    confidential: z.boolean().default(false).describe("Gets a secret, for a client that can keep one."),
  })
  .meta({ id: "AddClientInput" });

/** The answer to it: the one time that the secret is shown. */
export const addedClientSchema = oauthClientSchema
  .extend({ clientSecret: z.string().nullable() })
  .meta({ id: "AddedClient" });

/** An app that an account let in: what it may do, since when, and when it last did. */
export const connectedAppSchema = z
  .object({
    appId: z.string().describe("Names the connection; not the client, which may be connected more than once."),
    clientId: z.string(),
    name: z.string(),
    host: z.string().nullable().describe("Where it was let in to: the host of its redirect; null for a device."),
    scopes: z.array(scopeSchema),
    createdAt: z.string(),
    lastUsedAt: z.string().nullable(),
    expiresAt: z.string().nullable().describe("When it has to be let in anew, if it is not used until then."),
  })
  .meta({ id: "ConnectedApp" });

export type ClientOrigin = z.infer<typeof clientOriginSchema>;
export type OAuthClient = z.infer<typeof oauthClientSchema>;
export type AddClientInput = z.infer<typeof addClientInputSchema>;
export type AddedClient = z.infer<typeof addedClientSchema>;
export type ConnectedApp = z.infer<typeof connectedAppSchema>;
