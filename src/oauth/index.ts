import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Tables } from "../storage/schema.ts";
import { createApps } from "./apps.ts";
import { createClientDocuments } from "./client-documents.ts";
import { clientName, createClientStore } from "./client-store.ts";
import { createClients } from "./clients.ts";
import { createDecision, createVerdict } from "./decision.ts";
import { createDevice } from "./device.ts";
import { createEngine } from "./engine.ts";
import { createMetadata } from "./metadata.ts";
import type { OAuth } from "./oauth.ts";
import type { FetchDocument, NoteAudit, ScopesOfAccount, SecretBox } from "./ports.ts";
import { keysOf, unusedKeys } from "./provider-keys.ts";
import { createRecordStore } from "./record-store.ts";
import type { GatewayPlace } from "./resources.ts";
import { createSigningKeys } from "./signing-keys.ts";
import { createSweep } from "./sweep.ts";
import { createTokens } from "./tokens.ts";

export type { AuthorizationRequest, Decider, IssuedToken, OAuth, OAuthErrorCode } from "./oauth.ts";
export type { FetchDocument, NoteAudit, ScopesOfAccount, SecretBox } from "./ports.ts";
export type { GatewayPlace } from "./resources.ts";

/** What the authorization server needs. */
export interface OAuthDeps {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: SecretBox;
  /** Asked when it is needed: the port is known when the gateway listens. */
  readonly place: () => GatewayPlace;
  readonly scopesOf: ScopesOfAccount;
  readonly noteAudit: NoteAudit;
  readonly fetchDocument: FetchDocument;
  /** Tests widen the window in which others find the same code unused. */
  readonly afterFind?: () => Promise<void>;
  readonly config: {
    readonly accessTokens: "opaque" | "jwt";
    readonly registration: "on" | "off";
    readonly metadataDocuments: "on" | "off";
  };
}

/** @see OAuth */
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
