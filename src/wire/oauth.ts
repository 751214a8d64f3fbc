import { z } from "zod";
import { appScopes, scopeSchema } from "./access.ts";
import { textSchema } from "./text.ts";

/** Routes of the authorization server. @see RFC 8414, RFC 9728, RFC 8628 */
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

/** The form field that carries the browser's key, because a form cannot send headers. */
export const decisionKeyField = "postern_key";

/** The form field that says that scopes are sent as checkboxes ({@link scopeField}) instead of `scope`. */
export const tickedScopesField = "postern_scopes";

/** The checkbox of a scope: without JavaScript, a form cannot send several values otherwise. */
export function scopeField(scope: (typeof appScopes)[number]): string {
  return `postern_scope.${scope}`;
}

const fieldSchema = z.string({ error: "Sent more than once" }).optional();

/** Fields of the gateway's own form, in addition to the protocol's. */
const pageFields = {
  [decisionKeyField]: fieldSchema.describe("The browser's key. Required over http."),
  [tickedScopesField]: fieldSchema.describe("Set if scopes are sent as checkboxes instead of `scope`."),
  ...Object.fromEntries(appScopes.map((scope) => [scopeField(scope), fieldSchema])),
};

/**
 * `POST /oauth/authorize`: the authorization decision. Unknown fields are ignored; no field can be sent twice. The authorization server
 * validates the values and reports errors to the client.
 * @see RFC 6749 section 3.1, RFC 7636 section 4.3, RFC 8707 section 2 (the one field that can repeat)
 */
export const decisionFormSchema = z
  .object({
    action: fieldSchema.meta({ enum: ["allow", "deny"] }),
    client_id: fieldSchema,
    redirect_uri: fieldSchema.meta({ format: "uri" }),
    response_type: fieldSchema.describe("`code`, the default."),
    scope: fieldSchema.describe("Scopes to grant, separated by spaces."),
    state: fieldSchema,
    code_challenge: fieldSchema,
    code_challenge_method: fieldSchema.meta({ enum: ["S256", "plain"] }),
    resource: z.union([z.string(), z.array(z.string()).max(20)]).optional(),
    ...pageFields,
  })
  .meta({ id: "AuthorizationDecision" });

/** `GET /oauth/authorize`: a client's authorization request. @see RFC 6749 section 4.1.1 */
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

/** `POST /oauth/device`: the decision on a device code. RFC 8628 does not define this form. */
export const deviceDecisionFormSchema = z
  .object({
    action: fieldSchema.meta({ enum: ["allow", "deny"] }),
    user_code: fieldSchema.describe("Code shown on the device. Case, spaces and dashes are ignored."),
    scope: fieldSchema.describe(
      "Scopes to grant, separated by spaces. Defaults to all requested scopes except `coding:drive`.",
    ),
    ...pageFields,
  })
  .meta({ id: "DeviceDecision" });

/** How the client was added: it registered itself (RFC 7591), the owner added it, or its id is the URL of its metadata. */
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
    redirectUris: z
      .array(z.url().max(2_000))
      .max(20)
      .default([])
      .describe("Leave empty for a client that uses the device grant."),
    confidential: z.boolean().default(false).describe("True issues a secret, for clients that can keep one."),
  })
  .meta({ id: "AddClientInput" });

/** The response, which is the only one that contains the secret. */
export const addedClientSchema = oauthClientSchema
  .extend({ clientSecret: z.string().nullable() })
  .meta({ id: "AddedClient" });

/** An app that an account has authorized. */
export const connectedAppSchema = z
  .object({
    appId: z.string().describe("Identifies the connection. A client can have several."),
    clientId: z.string(),
    name: z.string(),
    host: z.string().nullable().describe("Host of the redirect URI. Null for a device."),
    scopes: z.array(scopeSchema),
    createdAt: z.string(),
    lastUsedAt: z.string().nullable(),
    expiresAt: z.string().nullable().describe("When the authorization expires if the app is not used."),
  })
  .meta({ id: "ConnectedApp" });

export type ClientOrigin = z.infer<typeof clientOriginSchema>;
export type OAuthClient = z.infer<typeof oauthClientSchema>;
export type AddClientInput = z.infer<typeof addClientInputSchema>;
export type AddedClient = z.infer<typeof addedClientSchema>;
export type ConnectedApp = z.infer<typeof connectedAppSchema>;
export type AuthorizationQuery = z.infer<typeof authorizationQuerySchema>;
