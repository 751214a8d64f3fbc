import { join } from "node:path";
import type { Account, AuditNote } from "../accounts/index.ts";
import { createKnownAgents, installEnvironment, loginArguments, versionNotice } from "../agents/index.ts";
import { createBackup, type MadeBackup, type RestoredBackup, restoreBackup } from "../backup/index.ts";
import type { BackupOptions, CliStores, RestoreOptions } from "../cli/ports.ts";
import { systemClock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import { removeAllLogs, removeLogs } from "../logs/index.ts";
import { browserAddress, type Config, loadConfig } from "./config.ts";
import { stateFolder } from "./environment.ts";
import { openStores, type Stores } from "./stores.ts";
import { packageVersion } from "./version.ts";

type Note = (entry: Pick<AuditNote, "action" | "subject" | "details">) => Promise<void>;

/** The store for commands, which act as the owner; changes go to the audit log. */
export async function openCommandStores(config: Config = loadConfig()): Promise<CliStores> {
  const stores = await openStores(config, { log: silentLog, clock: systemClock });
  const { accounts, folders, agents, profiles, proposals } = stores;
  const { accountId } = await accounts.owner();
  const note: Note = (entry) => accounts.audit.note({ ...entry, accountId, from: { address: null, userAgent: null } });
  const addressFor = (baseUrl: string | null): string => baseUrl ?? browserAddress(config);
  return {
    folders,
    profiles: {
      read: (path) => profiles.read({ path }),
      async change(path, revise) {
        const changed = await profiles.change({ path }, revise);
        await note({ action: "folder_profile_changed", subject: changed.path, details: {} });
        return changed;
      },
      proposals: async (path) => proposals.list((await profiles.read({ path })).path),
      async approve(path, request) {
        const approved = await proposals.approve((await profiles.read({ path })).path, request);
        const details = { hash: approved.hash };
        await note({ action: "folder_proposal_approved", subject: approved.repository, details });
        return approved;
      },
    },
    tokens: tokensOf(stores, accountId, note),
    accounts: accountsOf(stores, { note, addressFor }),
    clients: clientsOf(stores, note),
    browsers: {
      async createLink(baseUrl, account) {
        const whose = account === null ? await accounts.owner() : await findAccount(stores, account);
        const made = await accounts.signIn.createUrl(whose.accountId, addressFor(baseUrl));
        await note({ action: "sign_in_link_created", subject: whose.accountId, details: { name: whose.name } });
        return made;
      },
      list: () => accounts.browsers.list(accountId),
      async revoke(browserSessionId) {
        const signedIn = await accounts.browsers.list(accountId);
        const revoked = signedIn.find((browser) => browser.browserSessionId === browserSessionId);
        await accounts.browsers.revoke(accountId, browserSessionId);
        await note({
          action: "browser_revoked",
          subject: browserSessionId,
          details: { userAgent: revoked?.userAgent },
        });
      },
    },
    agents: {
      list: () => agents.list(),
      ...setupOf(stores),
      async configure(choices, defaultAgent) {
        await agents.configureAll(choices, defaultAgent);
        for (const { name, binary } of choices) {
          await note({
            action: "agent_configured",
            subject: agents.template(name).name,
            details: binary === null ? {} : { program: binary },
          });
        }
        if (defaultAgent !== null) {
          const subject = agents.template(defaultAgent).name;
          await note({ action: "agent_configured", subject, details: { default: "yes" } });
        }
      },
    },
    close: () => stores.close(),
  };
}

function setupOf({ agents }: Stores): Omit<CliStores["agents"], "list" | "configure"> {
  const known = createKnownAgents(agents);
  return {
    known: () => known.list(),
    locate: (name, binary) => known.locate(name, binary),
    versionNotice: (name, version) => versionNotice(agents.template(name), version),
    installEnvironment(name) {
      const template = agents.template(name);
      return installEnvironment(template, agents.environmentOf(template));
    },
    logIn(name, binary) {
      const template = agents.template(name);
      return { argv: [binary, ...(loginArguments(template) ?? [])], env: agents.environmentOf(template) };
    },
  };
}

function tokensOf({ accounts: { tokens } }: Stores, accountId: string, note: Note): CliStores["tokens"] {
  return {
    async create(wanted) {
      const made = await tokens.create(accountId, wanted);
      const { tokenId, name, scopes, expiresAt, folders } = made.record;
      await note({ action: "token_created", subject: tokenId, details: { name, scopes, expiresAt, folders } });
      return made;
    },
    list: () => tokens.list(accountId),
    async revoke(tokenId) {
      const revoked = (await tokens.list(accountId)).find((token) => token.tokenId === tokenId);
      await tokens.revoke(accountId, tokenId);
      await note({ action: "token_revoked", subject: tokenId, details: { name: revoked?.name } });
    },
  };
}

function accountsOf(
  stores: Stores,
  { note, addressFor }: { readonly note: Note; readonly addressFor: (baseUrl: string | null) => string },
): CliStores["accounts"] {
  const { directory, signIn } = stores.accounts;
  return {
    async add(wanted, baseUrl) {
      const account = await directory.add(wanted);
      const { accountId: subject, name, scopes } = account;
      await note({ action: "account_added", subject, details: { name, scopes } });
      return { ...account, signInLink: await signIn.createUrl(subject, addressFor(baseUrl)) };
    },
    list: () => directory.list(),
    async remove(nameOrId) {
      const { accountId } = await findAccount(stores, nameOrId);
      const account = await directory.remove(accountId);
      await note({ action: "account_removed", subject: accountId, details: { name: account.name } });
      return account;
    },
  };
}

function clientsOf({ oauth: { clients } }: Stores, note: Note): CliStores["clients"] {
  return {
    async add(wanted) {
      const added = await clients.add(wanted);
      const { clientId, name, redirectUris, confidential } = added;
      await note({ action: "client_added", subject: clientId, details: { name, redirectUris, confidential } });
      return added;
    },
    list: () => clients.list(),
    async remove(clientId) {
      const removed = (await clients.list()).find((client) => client.clientId === clientId);
      await clients.remove(clientId);
      await note({ action: "client_removed", subject: clientId, details: { name: removed?.name } });
    },
  };
}

/** By name, then by ID. @throws PosternError `account_not_found` */
async function findAccount({ accounts }: Stores, nameOrId: string): Promise<Account> {
  const all = await accounts.directory.list();
  const found = all.find(({ name }) => name === nameOrId) ?? all.find(({ accountId }) => accountId === nameOrId);
  if (found !== undefined) return found;
  throw new PosternError(
    "account_not_found",
    `Account ${nameOrId} not found. To list accounts: \`postern account list\``,
  );
}

/** Backs up the state folder of this configuration. @see createBackup */
export function backUp(options: BackupOptions, config: Config = loadConfig()): Promise<MadeBackup> {
  return createBackup({
    ...options,
    home: config.home,
    store: { url: config.databaseUrl, path: join(config.home, "postern.db") },
    version: packageVersion,
  });
}

/** Restores into the state folder of this environment, whose configuration is replaced. @see restoreBackup */
export function restore(
  options: RestoreOptions,
  env?: Readonly<Record<string, string | undefined>>,
): Promise<RestoredBackup> {
  return restoreBackup({ ...options, ...stateFolder(env), ports: { removeLogs, removeAllLogs } });
}
