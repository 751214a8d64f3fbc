import { realpath } from "node:fs/promises";
import type { Kysely } from "kysely";
import type { Accounts } from "../accounts/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { Folders } from "../folders/index.ts";
import type { OAuth } from "../oauth/index.ts";
import { createPermissionRules, type PermissionRules, type RuleCreator } from "../permissions/index.ts";
import type { Tables } from "../storage/schema.ts";
import type { Config } from "./config.ts";

/** Standing rules. A rule stops answering when the token or app that created it is revoked, or its account lacks `coding:drive`. */
export async function openPermissionRules(deps: {
  readonly config: Pick<Config, "home">;
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly log: Log;
  readonly accounts: Pick<Accounts, "directory" | "tokens" | "audit">;
  readonly oauth: Pick<OAuth, "apps">;
  readonly folders: Pick<Folders, "isVisible">;
}): Promise<PermissionRules> {
  const { accounts, oauth, folders } = deps;

  async function mayDrive({ accountId, kind, credential }: RuleCreator): Promise<boolean> {
    const account = await accounts.directory.find(accountId);
    if (account?.scopes.includes("coding:drive") !== true) return false;
    if (credential === null) return kind !== "token" && kind !== "app";
    if (kind === "app") return oauth.apps.isConnected(accountId, credential);
    const token = await accounts.tokens.findAgain(credential);
    return token?.accountId === accountId && token.scopes.has("coding:drive");
  }

  return createPermissionRules({
    ...deps,
    home: await realpath(deps.config.home),
    mayDrive,
    isVisible: (dir) => folders.isVisible(dir, { scope: "coding", within: null }),
    note: (entry) => accounts.audit.note({ ...entry, from: { address: null, userAgent: null } }),
  });
}
