import { z } from "zod";
import { appScopes, scopeSchema } from "./access.ts";
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

/** The field of a page's form that says that `scope` stands in check boxes, each a {@link scopeField}; then only those ticked count. */
export const tickedScopesField = "postern_scopes";

/** The check box of a scope: a form without JavaScript has no other way to send several. */
export function scopeField(scope: (typeof appScopes)[number]): string {
  return `postern_scope.${scope}`;
}

const fieldSchema = z.string({ error: "Given more than once" }).optional();

/** Fields of a page's own form, beside the protocol's. */
const pageFields = {
  [decisionKeyField]: fieldSchema.describe("The key of the browser's sign-in, on http."),
  [tickedScopesField]: fieldSchema.describe("Says that what is granted stands in the check boxes, not in `scope`."),
  ...Object.fromEntries(appScopes.map((scope) => [scopeField(scope), fieldSchema])),
};

/**
 * `POST /oauth/authorize`: the seed's authorization decision form. Fields that are not in it are ignored, none may be given twice.
 * Their values are judged by the authorization server, which tells the client.
 * @see RFC 6749 section 3.1, RFC 7636 section 4.3, RFC 8707 section 2 (the one field that may repeat)
 */
export const decisionFormSchema = z
  .object({
    action: fieldSchema.meta({ enum: ["allow", "deny"] }),
    client_id: fieldSchema,
    redirect_uri: fieldSchema.meta({ format: "uri" }),
    response_type: fieldSchema.describe("`code`, which it also is when it is left out."),
    scope: fieldSchema.describe("What is granted, with spaces between."),
    state: fieldSchema,
    code_challenge: fieldSchema,
    code_challenge_method: fieldSchema.meta({ enum: ["S256", "plain"] }),
    resource: z.union([z.string(), z.array(z.string()).max(20)]).optional(),
    ...pageFields,
  })
  .meta({ id: "AuthorizationDecision" });

/** `GET /oauth/authorize`: what a client asks for. @see RFC 6749 section 4.1.1 */
export const authorizationQuerySchema = decisionFormSchema.pick({
  client_id: true,
  redirect_uri: true,
  response_type: true,
  scope: true,
  state: true,
  code_challenge: true,
  code_challenge_method: true,
  resource: true,
});

/** `POST /oauth/device`: the decision on a device that shows a code. Ours: RFC 8628 leaves it open. */
export const deviceDecisionFormSchema = z
  .object({
    action: fieldSchema.meta({ enum: ["allow", "deny"] }),
    user_code: fieldSchema.describe("As the device shows it; case, spaces and dashes do not matter."),
    scope: fieldSchema.describe(
      "What is granted, with spaces between; all that was asked for but `coding:drive` when left out.",
    ),
    ...pageFields,
  })
  .meta({ id: "DeviceDecision" });

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
export type AuthorizationQuery = z.infer<typeof authorizationQuerySchema>;
