import type { default as Provider } from "oidc-provider";
import { PosternError } from "../core/errors.ts";
import { newSecret, newUuid } from "../core/ids.ts";
import type { AddClientInput } from "../wire/oauth.ts";
import { deviceGrant } from "./client-rules.ts";
import type { ClientMetadata, ClientStore } from "./client-store.ts";
import type { OAuth } from "./oauth.ts";

/** The clients, as the owner manages them. */
export function createClients(deps: {
  readonly clients: ClientStore;
  readonly provider: () => Promise<Provider>;
}): OAuth["clients"] {
  const { clients } = deps;

  return {
    list: () => clients.list(),

    async add(wanted) {
      const clientId = newUuid();
      const clientSecret = wanted.confidential ? newSecret() : null;
      const metadata = metadataOf(wanted, { clientId, clientSecret });
      await check(metadata, await deps.provider());
      await clients.save(clientId, metadata, "added");
      const client = await clients.find(clientId);
      if (client === null) throw new Error("The client was added but is not there.");
      return { ...client, clientSecret };
    },

    async remove(clientId) {
      if (await clients.remove(clientId)) return;
      throw new PosternError("client_not_found", `There is no client ${clientId}.`);
    },
  };
}

function metadataOf(
  { name, redirectUris, confidential }: AddClientInput,
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string | null },
): ClientMetadata {
  const byRedirect = redirectUris.length > 0;
  return {
    client_id: clientId,
    client_name: name,
    redirect_uris: redirectUris,
    response_types: byRedirect ? ["code"] : [],
    grant_types: [...(byRedirect ? ["authorization_code"] : []), "refresh_token", deviceGrant],
    token_endpoint_auth_method: confidential ? "client_secret_basic" : "none",
    ...(clientSecret === null ? {} : { client_secret: clientSecret, client_secret_expires_at: 0 }),
  };
}

/** By the same rules as a registration's. */
async function check(metadata: ClientMetadata, provider: Provider): Promise<void> {
  try {
    await provider.Client.validate({ ...metadata, client_id: String(metadata["client_id"]) });
  } catch (error) {
    const said = error instanceof Error && "error_description" in error ? error.error_description : undefined;
    if (typeof said !== "string") throw error;
    throw new PosternError("invalid_request", `The client cannot be added: ${said}.`, { cause: error });
  }
}
