import { appScopes } from "../wire/access.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { authMethods, grantTypes } from "./client-rules.ts";
import type { OAuth } from "./oauth.ts";
import type { GatewayPlace } from "./resources.ts";

/** The documents that lead a client to the authorization server. Their addresses are the issuer's, by whatever name they were asked for. */
export function createMetadata({
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
        // `plain` is for clients with a secret only, and no client should be led to it.
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
