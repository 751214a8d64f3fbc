import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import { appScopes } from "../wire/access.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { createApps } from "./apps.ts";
import { authMethods, createClientDocuments, grantTypes } from "./client-metadata.ts";
import { clientName, createClientStore, createClients } from "./client-store.ts";
import { createDecision, createVerdict } from "./decision.ts";
import { createDevice } from "./device.ts";
import { createEngine, keysOf, unusedKeys } from "./engine.ts";
import type { OAuth } from "./oauth.ts";
import type { FetchDocument, NoteAudit, ScopesOfAccount, SecretBox } from "./ports.ts";
import { createRecordStore } from "./record-store.ts";
import type { GatewayPlace } from "./resources.ts";
import { createSigningKeys } from "./signing-keys.ts";
import { createSweep } from "./sweep.ts";
import { createTokens } from "./tokens.ts";

export type { AuthorizationRequest, Decider, IssuedToken, OAuth, OAuthErrorCode } from "./oauth.ts";
export type { FetchDocument, NoteAudit, ScopesOfAccount, SecretBox } from "./ports.ts";
export type { GatewayPlace } from "./resources.ts";

export interface OAuthDeps {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: SecretBox;
  /** A function, because the port is known only once the gateway listens. */
  readonly place: () => GatewayPlace;
  readonly scopesOf: ScopesOfAccount;
  readonly noteAudit: NoteAudit;
  readonly fetchDocument: FetchDocument;
  /** Tests use it to delay a request while others find the same code unused. */
  readonly afterFind?: () => Promise<void>;
  readonly config: {
    readonly accessTokens: "opaque" | "jwt";
    readonly registration: "on" | "off";
    readonly metadataDocuments: "on" | "off";
  };
}

export function createOAuth(deps: OAuthDeps): OAuth {
  const { db, clock, place, config } = deps;
  const records = createRecordStore({ db, clock, noteAudit: deps.noteAudit, secrets: deps.secrets });
  const clients = createClientStore(deps);
  const signingKeys = createSigningKeys(deps);
  const sweep = createSweep({
    ...deps,
    rotate: config.accessTokens === "jwt" ? signingKeys.rotate : async () => undefined,
  });
  const engine = createEngine({
    ...deps,
    records,
    clients,
    documents: createClientDocuments({
      enabled: config.metadataDocuments === "on",
      fetch: deps.fetchDocument,
      clock,
      log: deps.log,
    }),
    keys: config.accessTokens === "jwt" ? () => keysOf(signingKeys) : async () => unusedKeys(),
    decide: createVerdict({ clients, clock }),
  });
  async function documentOf(clientId: string) {
    const client = await (await engine.provider()).Client.find(clientId);
    if (client === undefined) return null;
    const name = clientName({ client_name: client.clientName }, clientId);
    return { name, metadata: JSON.stringify(client.metadata()) };
  }

  return {
    tokens: createTokens({ db, clock, place, keys: signingKeys }),
    apps: createApps({ ...deps, records }),
    clients: createClients({ clients, provider: () => engine.provider() }),
    handle: (request, response, from) => engine.handle(request, response, from),
    async keySet() {
      return { keys: (await signingKeys.all()).map(({ publicJwk }) => publicJwk) };
    },
    ...createMetadata({ place, config }),
    ...createDecision({ engine, clients, place }),
    ...createDevice({ records, clients, clock, place, documentOf }),
    start: () => sweep.start(),
    close: () => sweep.close(),
  };
}

/** The metadata documents for discovery. Their URLs are the issuer's, whatever the request's host name. */
function createMetadata({
  place,
  config,
}: {
  readonly place: () => GatewayPlace;
  readonly config: { readonly registration: "on" | "off"; readonly metadataDocuments: "on" | "off" };
}): Pick<OAuth, "metadata" | "protectedResource"> {
  return {
    async metadata() {
      const { baseUrl } = place();
      return {
        issuer: baseUrl,
        authorization_endpoint: baseUrl + oauthPaths.authorize,
        token_endpoint: baseUrl + oauthPaths.token,
        ...(config.registration === "on" ? { registration_endpoint: baseUrl + oauthPaths.registration } : {}),
        revocation_endpoint: baseUrl + oauthPaths.revocation,
        introspection_endpoint: baseUrl + oauthPaths.introspection,
        device_authorization_endpoint: baseUrl + oauthPaths.deviceAuthorization,
        jwks_uri: baseUrl + oauthPaths.jwks,
        scopes_supported: [...appScopes],
        response_types_supported: ["code"],
        response_modes_supported: ["query"],
        grant_types_supported: [...grantTypes],
        token_endpoint_auth_methods_supported: [...authMethods],
        revocation_endpoint_auth_methods_supported: [...authMethods],
        introspection_endpoint_auth_methods_supported: [...authMethods],
        // `plain` is only for clients with a secret, so it is not advertised.
        code_challenge_methods_supported: ["S256"],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: config.metadataDocuments === "on",
        service_documentation: `${baseUrl}/docs`,
      };
    },

    async protectedResource(resource) {
      const { baseUrl } = place();
      return {
        resource,
        authorization_servers: [baseUrl],
        scopes_supported: [...appScopes],
        bearer_methods_supported: ["header"],
        resource_name: "Postern",
        resource_documentation: `${baseUrl}/docs`,
      };
    },
  };
}
