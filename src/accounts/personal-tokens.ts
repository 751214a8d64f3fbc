import { realpath, stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import { isErrno, PosternError } from "../core/errors.ts";
import { newSecret, newUuid, sameHash, sha256 } from "../core/ids.ts";
import { compiledLookup } from "../storage/compiled-query.ts";
import type { Tables } from "../storage/schema.ts";
import { createUseNotes } from "../storage/use-notes.ts";
import { scopes as allScopes, type Scope, type Token } from "../wire/access.ts";
import { bothHold, heldScopes, parseScopes } from "./account-store.ts";

/** The prefix of a personal token, so that people and secret scanners recognize one. */
export const tokenPrefix = "pst_";

/** The format of all personal tokens; other values are not looked up. */
const tokenForm = /^pst_[\w-]{43}$/;

/** Maximum tokens in force of one account. Our own limit: far more than anyone needs, but it stops a script in a loop. */
const maxTokens = 1_000;

/** Options of a new token. */
export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** Milliseconds since the epoch; null never expires. */
  readonly expiresAt: number | null;
  /** Absolute paths of existing directories; null means no limit. */
  readonly folders: readonly string[] | null;
}

/** A token in force. */
export interface ValidToken {
  readonly tokenId: string;
  readonly accountId: string;
  /** The scopes that the token was given and its account still holds. */
  readonly scopes: ReadonlySet<Scope>;
  readonly folders: readonly string[] | null;
  /** Milliseconds since the epoch; null never expires. */
  readonly expiresAt: number | null;
}

/** The personal tokens of all accounts; of each token only the SHA-256 is stored. */
export interface PersonalTokens {
  /**
   * @returns the token itself, which cannot be read again, and its record
   * @throws PosternError `invalid_request` | `dir_not_found`
   */
  create(accountId: string, wanted: NewToken): Promise<{ readonly token: string; readonly record: Token }>;
  /** Tokens in force, oldest first. */
  list(accountId: string): Promise<readonly Token[]>;
  /** Takes effect at once in every process. @throws PosternError `token_not_found` */
  revoke(accountId: string, tokenId: string): Promise<void>;
  /** @returns null when the token is unknown, expired or revoked */
  find(token: string): Promise<ValidToken | null>;
  /**
   * Looks up the token again by its id.
   * @param options `notesUse`: whether this counts as a use
   * @returns null when it is expired or revoked
   */
  findAgain(tokenId: string, options?: { readonly notesUse: boolean }): Promise<ValidToken | null>;
}

const storedFoldersSchema = z.array(z.string());

export function createPersonalTokens(deps: { readonly db: Kysely<Tables>; readonly clock: Clock }): PersonalTokens {
  const { db, clock } = deps;

  const inForce = (accountId: string) =>
    db
      .selectFrom("personal_tokens")
      .where("account_id", "=", accountId)
      .where("revoked_at", "is", null)
      .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", clock.now())]));

  const noteUse = createUseNotes(clock, ({ id }, now) =>
    db.updateTable("personal_tokens").set({ last_used_at: now }).where("token_id", "=", id).execute(),
  );

  /** Reads the token and its account in one query, because it runs with every request. */
  const lookup = (column: "token_hash" | "token_id") =>
    compiledLookup(db, (value) =>
      db
        .selectFrom("personal_tokens as token")
        .innerJoin("accounts as account", "account.account_id", "token.account_id")
        .select([
          "token.token_id",
          "token.account_id",
          "token.token_hash",
          "token.scopes as granted",
          "token.folders",
          "token.expires_at",
          "token.last_used_at",
          "token.revoked_at",
          "account.is_owner",
          "account.scopes",
        ])
        .where(`token.${column}`, "=", value),
    );
  const findByHash = lookup("token_hash");
  const findById = lookup("token_id");

  function whileValid(
    row: NonNullable<Awaited<ReturnType<typeof findById>>>,
    { notesUse } = { notesUse: true },
  ): ValidToken | null {
    if (row.revoked_at !== null || (row.expires_at !== null && row.expires_at <= clock.now())) return null;
    if (notesUse) noteUse({ id: row.token_id, lastUsedAt: row.last_used_at });
    return {
      tokenId: row.token_id,
      accountId: row.account_id,
      scopes: bothHold(parseScopes(row.granted), heldScopes(row)),
      folders: toFolders(row.folders),
      expiresAt: row.expires_at,
    };
  }

  return {
    async create(accountId, wanted) {
      checkWanted(wanted, clock.now());
      const folders = wanted.folders === null ? null : await Promise.all(wanted.folders.map(realFolder));
      const { held } = await inForce(accountId)
        .select(({ fn }) => fn.countAll<number>().as("held"))
        .executeTakeFirstOrThrow();
      if (held >= maxTokens) {
        throw new PosternError(
          "invalid_request",
          `The limit of ${held} tokens is reached. Revoke one that you no longer use.`,
        );
      }
      const token = `${tokenPrefix}${newSecret()}`;
      const row = {
        token_id: newUuid(),
        account_id: accountId,
        name: wanted.name,
        token_hash: sha256(token),
        scopes: JSON.stringify(allScopes.filter((scope) => wanted.scopes.includes(scope))),
        folders: folders === null ? null : JSON.stringify([...new Set(folders)]),
        created_at: clock.now(),
        expires_at: wanted.expiresAt,
        last_used_at: null,
        revoked_at: null,
      };
      await db.insertInto("personal_tokens").values(row).execute();
      return { token, record: toToken(row) };
    },

    async list(accountId) {
      const rows = await inForce(accountId).selectAll().orderBy("created_at").orderBy("token_id").execute();
      return rows.map(toToken);
    },

    async revoke(accountId, tokenId) {
      const { numUpdatedRows } = await db
        .updateTable("personal_tokens")
        .set({ revoked_at: clock.now() })
        .where("account_id", "=", accountId)
        .where("token_id", "=", tokenId)
        .where("revoked_at", "is", null)
        .executeTakeFirst();
      if (numUpdatedRows === 0n)
        throw new PosternError(
          "token_not_found",
          `No token ${tokenId}. Run \`postern token list\` to see your tokens.`,
        );
    },

    async find(token) {
      if (!tokenForm.test(token)) return null;
      const hash = sha256(token);
      const row = await findByHash(hash);
      if (row === undefined || !sameHash(row.token_hash, hash)) return null;
      return whileValid(row);
    },

    async findAgain(tokenId, options) {
      const row = await findById(tokenId);
      return row === undefined ? null : whileValid(row, options);
    },
  };
}

function checkWanted(wanted: NewToken, now: number): void {
  const refuse = (message: string): never => {
    throw new PosternError("invalid_request", message);
  };
  if (wanted.name.trim() === "" || wanted.name.length > 100) refuse("A token needs a name of 1 to 100 characters.");
  if (wanted.scopes.length === 0) refuse(`A token needs at least one scope of ${allScopes.join(", ")}.`);
  if (wanted.expiresAt !== null && !(wanted.expiresAt > now)) refuse("The expiry must be in the future.");
  if (wanted.folders?.length === 0)
    refuse("A token cannot be limited to an empty list of folders. Leave `folders` out for no limit.");
  if (wanted.folders !== null && wanted.scopes.includes("admin")) {
    refuse("A token with the scope admin cannot be limited to folders: it can register others.");
  }
}

/** Resolves the folder's real path now, so that a link that is changed later does not move the token's access. */
async function realFolder(folder: string): Promise<string> {
  if (!isAbsolute(folder) || folder.includes("\0")) {
    throw new PosternError("invalid_request", `${JSON.stringify(folder)} is not an absolute path.`);
  }
  try {
    const path = await realpath(folder);
    if ((await stat(path)).isDirectory()) return path;
  } catch (error) {
    if (!isErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "EACCES", "ENAMETOOLONG")) throw error; // these errors are refused below
  }
  throw new PosternError("dir_not_found", `Directory not found: ${folder}.`);
}

function toToken(row: Selectable<Tables["personal_tokens"]>): Token {
  return {
    tokenId: row.token_id,
    name: row.name,
    scopes: [...parseScopes(row.scopes)],
    folders: toFolders(row.folders),
    createdAt: isoTime(row.created_at),
    expiresAt: row.expires_at === null ? null : isoTime(row.expires_at),
    lastUsedAt: row.last_used_at === null ? null : isoTime(row.last_used_at),
  };
}

function toFolders(text: string | null): string[] | null {
  return text === null ? null : storedFoldersSchema.parse(JSON.parse(text));
}
