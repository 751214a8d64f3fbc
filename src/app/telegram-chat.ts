import { realpath } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Accounts, Principal } from "../accounts/index.ts";
import type { ChatDeps, ChatFace } from "../channels/index.ts";
import { PosternError } from "../core/errors.ts";
import type { Folders } from "../folders/index.ts";
import type { Config } from "./config.ts";
import type { Stores } from "./stores.ts";

export interface TelegramChatDeps
  extends Pick<ChatDeps, "tools" | "attach" | "previewRules" | "events" | "problemOf" | "clock" | "log">,
    Pick<Stores, "db"> {
  readonly config: Config;
  readonly accounts: Accounts;
  readonly folders: Folders;
  readonly baseUrl: () => string;
}

/** Starts the Telegram bot if it is configured and has a token; loads nothing otherwise. */
export async function openTelegramChat(deps: TelegramChatDeps): Promise<ChatFace | null> {
  const { config, accounts, folders, log, clock, db } = deps;
  const { telegram } = config;
  if (telegram === undefined) return null;
  const token = config.env[telegram.tokenVariable] ?? "";
  if (!/^[\w:-]+$/.test(token)) {
    const reason = token === "" ? "is not set" : "does not contain a bot token";
    log.error(
      { variable: telegram.tokenVariable },
      `telegram is configured, but its variable ${reason}; the bot is not started`,
    );
    return null;
  }
  const [{ createTelegram, openChatFace }, { createChats }] = await Promise.all([
    import("../channels/index.ts"),
    import("../chats/index.ts"),
  ]);
  const within = telegram.folders === undefined ? null : await realPaths(telegram.folders);
  const channel = await createTelegram({ token, apiRoot: telegram.apiRoot.replace(/\/+$/, "") });
  return openChatFace({
    ...deps,
    channel,
    chats: createChats({ db, clock, channel: channel.name }),
    principal: () => ownerInChat(accounts, { scopes: telegram.scopes, folders: within }),
    async folders() {
      const known = await folders.list();
      const rule = { scope: "coding", within } as const;
      const usable = await folders.visibleAmong(
        known.map(({ path }) => path),
        rule,
      );
      return known.map(({ path }) => path).filter((path) => usable.has(path));
    },
    allowedDir: async (dir) => (await folders.resolveAllowedDir(dir, { scope: "coding", within })).dir,
    sessionUrl: (sessionId) => `${deps.baseUrl()}/sessions/${encodeURIComponent(sessionId)}`,
    allowedUserIds: new Set(telegram.allowedUserIds.map(String)),
  });
}

/** @throws PosternError `invalid_configuration` */
async function realPaths(paths: readonly string[]): Promise<readonly string[]> {
  return Promise.all(
    paths.map(async (path) => {
      const real = isAbsolute(path) ? await realpath(path).catch(() => null) : null;
      if (real !== null) return real;
      throw new PosternError(
        "invalid_configuration",
        `The setting "telegram.folders" names ${path}, which is not a directory.`,
      );
    }),
  );
}

/** Allowed users act as the owner, with the configured scopes and folders. */
async function ownerInChat(
  accounts: Accounts,
  limits: {
    readonly scopes: readonly ("coding:read" | "coding:write" | "coding:drive")[];
    readonly folders: readonly string[] | null;
  },
): Promise<Principal> {
  const { accountId } = await accounts.owner();
  return {
    accountId,
    // They count as the owner on this machine, because only the owner can write the configuration file.
    kind: "socket",
    scopes: new Set(limits.scopes),
    folders: limits.folders,
    tokenId: null,
    browserSessionId: null,
    app: null,
    resource: "all",
    expiresAt: null,
  };
}
