import { join } from "node:path";
import type { Kysely } from "kysely";
import { type Accounts, createAccounts, createTrustedIssuers } from "../accounts/index.ts";
import { type AgentRegistry, type AgentTemplate, createRegistry, createTemplates } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import {
  createFolderProfiles,
  createFolders,
  createProposals,
  type FolderProfiles,
  type Folders,
  type Proposals,
} from "../folders/index.ts";
import { createAccountForgetting } from "../logs/index.ts";
import { createOAuth, type GatewayPlace, type OAuth } from "../oauth/index.ts";
import { createAddressList, createGuardedFetch, type GuardedFetch } from "../platform/guarded-fetch.ts";
import { makeStateFolder } from "../platform/private-folders.ts";
import { openSecretBox, type SecretBox } from "../platform/secret-box.ts";
import { openDatabase } from "../storage/database.ts";
import { createErasure, type Erasure } from "../storage/erasure.ts";
import type { Tables } from "../storage/schema.ts";
import { browserAddress, type Config, gatewayOrigins } from "./config.ts";

/** The store and the capabilities that need only the store, for the gateway and for commands. */
export interface Stores {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
  readonly accounts: Accounts;
  readonly oauth: OAuth;
  readonly folders: Folders;
  /** How agents start in a folder. */
  readonly profiles: FolderProfiles;
  readonly proposals: Proposals;
  readonly agents: AgentRegistry;
  /** Encrypts with `POSTERN_HOME/key`, which a stolen store lacks. */
  readonly secrets: SecretBox;
  readonly erasure: Erasure;
  /** For addresses chosen by others. */
  readonly fetch: GuardedFetch;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface StoresDeps {
  readonly log: Log;
  readonly clock: Clock;
  /** Where the gateway is once it listens; defaults to the configuration. */
  readonly place?: () => GatewayPlace;
  /** Agents besides the built-in and configured ones. */
  readonly furtherAgents?: readonly AgentTemplate[];
}

/**
 * Opens the store of this configuration.
 * @throws PosternError `store_newer` | `store_unavailable` | `state_folder_unusable`
 */
export async function openStores(config: Config, { log, clock, place, furtherAgents }: StoresDeps): Promise<Stores> {
  await makeStateFolder(config.home);
  const { db, dialect, close } = await openDatabase({
    url: config.databaseUrl,
    path: join(config.home, "postern.db"),
    copies: join(config.home, "backups"),
    log,
  });
  const secrets = await openSecretBox(join(config.home, "key"), ({ message }) =>
    log.error({ reason: message }, "cannot use the key in the state folder"),
  );
  const agents = createRegistry({
    templates: createTemplates(config.agents, furtherAgents),
    db,
    clock,
    log,
    gatewayEnv: () => config.env,
    secrets: config.databaseUrl === null ? [] : [config.databaseUrl],
  });
  const fetch = createGuardedFetch({ clock, allowed: createAddressList(config.allowPrivateAddresses) });
  const issuers = createTrustedIssuers({ issuers: config.trustedIssuers, fetch, clock, log });
  const oauth = createOAuth({
    db,
    clock,
    log,
    secrets,
    place: place ?? (() => ({ baseUrl: browserAddress(config), origins: gatewayOrigins(config) })),
    async scopesOf(accountId) {
      const account = await accounts.directory.find(accountId);
      return account === null ? null : new Set(account.scopes);
    },
    noteAudit: (entry, within) => accounts.audit.note(entry, within),
    fetchDocument: fetch,
    config: config.oauth,
  });
  const erasure = createErasure({ db, dialect, clock, log });
  const memory = createAccountForgetting({ db, dialect, clock, log, erasure });
  const accounts = createAccounts({
    ...{ db, clock, log, issuers },
    appTokens: oauth.tokens,
    removeWithAll: (accountId, remove) => memory.forget(accountId, remove),
  });
  const folders = createFolders({ db, clock, home: config.home });
  const proposals = createProposals({ db, clock });
  const profiles = createFolderProfiles({
    ...{ db, clock, secrets, folders, proposals },
    movesAgents: (variable) => agents.templates.some((template) => movesTranscripts(agents, template, variable)),
    requireAgent: (name) => void agents.template(name),
  });
  return {
    db,
    dialect,
    fetch,
    accounts,
    oauth,
    folders,
    profiles,
    proposals,
    agents,
    secrets,
    erasure,
    async close() {
      await oauth.close();
      await erasure.close();
      await close();
    },
  };
}

/** Whether an agent with this variable keeps its transcripts elsewhere. */
function movesTranscripts(agents: AgentRegistry, template: AgentTemplate, variable: string): boolean {
  const rootsWith = (more: Readonly<Record<string, string>>): string =>
    JSON.stringify(template.transcriptPlaces({ ...agents.environmentOf(template), ...more }).map(({ root }) => root));
  return rootsWith({}) !== rootsWith({ [variable]: "/elsewhere" });
}
