import type { Kysely, Selectable } from "kysely";
import type { default as Provider } from "oidc-provider";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import { newSecret, newUuid } from "../core/ids.ts";
import { type Log, silentLog } from "../core/log.ts";
import { compiledLookup } from "../storage/compiled-query.ts";
import type { Tables } from "../storage/schema.ts";
import type { AddClientInput, ClientOrigin, OAuthClient } from "../wire/oauth.ts";
import { type ClientMetadata, deviceGrant } from "./client-metadata.ts";
import type { OAuth } from "./oauth.ts";
import type { SecretBox } from "./ports.ts";

export interface ClientStore {
  /**
   * The client in the library's form, with its secret decrypted. A client identified by its document has the metadata that was last
   * approved. Null when there is no such client, or when its secret cannot be decrypted and the client must be added again.
   */
  metadata(clientId: string): Promise<{ readonly origin: ClientOrigin; readonly metadata: ClientMetadata } | null>;
  find(clientId: string): Promise<OAuthClient | null>;
  /** Newest first. */
  list(): Promise<readonly OAuthClient[]>;
  /** If too many clients registered themselves and were never authorized, removes the oldest of them. */
  save(clientId: string, metadata: ClientMetadata, origin: ClientOrigin): Promise<void>;
  noteUse(clientId: string): Promise<void>;
  /** Removes the client and everything it was issued. @returns whether there was one */
  remove(clientId: string): Promise<boolean>;
}

const metadataSchema = z.looseObject({
  client_name: z.string().optional(),
  client_secret: z.string().optional(),
  redirect_uris: z.array(z.string()).default([]),
  token_endpoint_auth_method: z.string().default("client_secret_basic"),
});

const maxNameLength = 100;
/** Maximum clients that registered themselves and were never authorized. */
const maxUnusedClients = 1_000;

export function createClientStore(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly secrets: SecretBox;
  readonly log?: Log;
}): ClientStore {
  const { db, clock, secrets, log = silentLog } = deps;

  const rowOf = compiledLookup<Selectable<Tables["oauth_clients"]>>(db, (clientId) =>
    db.selectFrom("oauth_clients").selectAll().where("client_id", "=", clientId),
  );

  function openSecret(sealed: string, clientId: string): string | null {
    try {
      return secrets.open(sealed, purposeOf(clientId));
    } catch (error) {
      log.warn({ clientId, reason: messageOf(error) }, "cannot decrypt a client secret");
      return null;
    }
  }

  async function forgetUnused(newest: string): Promise<void> {
    const tooMany = db
      .selectFrom("oauth_clients")
      .select("client_id")
      .where("origin", "=", "registered")
      .where("last_used_at", "is", null)
      .where("client_id", "!=", newest)
      .orderBy("created_at", "desc")
      .orderBy("client_id")
      .limit(maxUnusedClients)
      .offset(maxUnusedClients - 1);
    await db.deleteFrom("oauth_clients").where("client_id", "in", tooMany).execute();
  }

  return {
    async metadata(clientId) {
      const row = await rowOf(clientId);
      if (row === undefined) return null;
      const { origin } = row;
      const { client_secret: sealed, ...metadata } = metadataSchema.parse(JSON.parse(row.metadata));
      if (sealed === undefined) return { origin, metadata };
      const secret = openSecret(sealed, clientId);
      return secret === null ? null : { origin, metadata: { ...metadata, client_secret: secret } };
    },

    async find(clientId) {
      const row = await rowOf(clientId);
      return row === undefined ? null : toClient(row);
    },

    async list() {
      const rows = await db
        .selectFrom("oauth_clients")
        .selectAll()
        .orderBy("created_at", "desc")
        .orderBy("client_id")
        .execute();
      return rows.map(toClient);
    },

    async save(clientId, metadata, origin) {
      const { client_secret: secret, ...rest } = metadataSchema.parse(metadata);
      const sealed = secret === undefined ? {} : { client_secret: secrets.seal(secret, purposeOf(clientId)) };
      const changes = { name: clientName(rest, clientId), metadata: JSON.stringify({ ...rest, ...sealed }) };
      await db
        .insertInto("oauth_clients")
        .values({ client_id: clientId, origin, ...changes, created_at: clock.now(), last_used_at: null })
        .onConflict((conflict) => conflict.column("client_id").doUpdateSet(changes))
        .execute();
      if (origin === "registered") await forgetUnused(clientId);
    },

    async noteUse(clientId) {
      await db
        .updateTable("oauth_clients")
        .set({ last_used_at: clock.now() })
        .where("client_id", "=", clientId)
        .execute();
    },

    async remove(clientId) {
      return db.transaction().execute(async (trx) => {
        await trx.deleteFrom("oauth_records").where("client_id", "=", clientId).execute();
        const { numDeletedRows } = await trx
          .deleteFrom("oauth_clients")
          .where("client_id", "=", clientId)
          .executeTakeFirst();
        return numDeletedRows > 0n;
      });
    },
  };
}

/** The display name of a client: its own name as one line of at most 100 characters, or else its id. */
export function clientName(metadata: { readonly client_name?: unknown }, clientId: string): string {
  const said = typeof metadata.client_name === "string" ? metadata.client_name : "";
  const name = said.replaceAll(/[\p{C}\p{Z}]+/gu, " ").trim();
  return (name === "" ? clientId : name).slice(0, maxNameLength).toWellFormed();
}

function toClient(row: Selectable<Tables["oauth_clients"]>): OAuthClient {
  const metadata = metadataSchema.parse(JSON.parse(row.metadata));
  return {
    clientId: row.client_id,
    name: row.name,
    origin: row.origin,
    redirectUris: metadata.redirect_uris,
    confidential: metadata.token_endpoint_auth_method !== "none",
    createdAt: isoTime(row.created_at),
    lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at),
  };
}

function purposeOf(clientId: string): string {
  return `oauth client ${clientId}`;
}

/** The clients, for the owner to manage. */
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
      if (client === null) throw new Error("The client was added but cannot be found.");
      return { ...client, clientSecret };
    },

    async remove(clientId) {
      if (await clients.remove(clientId)) return;
      throw new PosternError(
        "client_not_found",
        `No client ${clientId}. Run \`postern client list\` to see the clients.`,
      );
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

/** Follows the same rules as a registration. */
async function check(metadata: ClientMetadata, provider: Provider): Promise<void> {
  try {
    await provider.Client.validate({ ...metadata, client_id: String(metadata["client_id"]) });
  } catch (error) {
    const said = error instanceof Error && "error_description" in error ? error.error_description : undefined;
    if (typeof said !== "string") throw error;
    throw new PosternError("invalid_request", `The client cannot be added: ${said}.`, { cause: error });
  }
}
