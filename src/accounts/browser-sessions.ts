import type { Kysely, Selectable } from "kysely";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { newSecret, newUuid, sameHash, sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";
import { createUseNotes } from "../storage/use-notes.ts";
import type { BrowserSession, SignedIn } from "../wire/sign-in.ts";

const dayMs = 86_400_000;
/** A browser that is unused for this long is signed out. Our own limit. */
const idleLifeMs = 30 * dayMs;
/** A browser has to sign in again after this time, however much it is used: browsers keep cookies for at most 400 days. */
export const browserSessionLifeMs = 400 * dayMs;

/** Maximum signed-in browsers of one account; the one that was idle longest is signed out. */
const maxBrowsers = 100;

/** Maximum length of a user agent; some browsers send very long ones. */
const maxUserAgentLength = 200;

/** Maximum number of cookies with the session's name to check. Servers on other ports of the host can set such cookies too. */
const maxCookies = 8;

/** The format of all our secrets. Other values are not looked up. */
const secretForm = /^[\w-]{43}$/;

/** The public record of a signed-in browser. */
export type BrowserRecord = Omit<BrowserSession, "current">;

/** A valid browser session. */
export interface ValidBrowser {
  readonly browserSessionId: string;
  readonly accountId: string;
}

/** Issued to a browser at sign-in: the cookie's value, and the key for its origin's storage. */
export interface NewBrowser extends SignedIn {
  readonly browserSessionId: string;
  readonly accountId: string;
  readonly cookie: string;
}

/** Signed-in browsers: each has a cookie and a key, of which only the SHA-256 is stored. */
export interface BrowserSessions {
  /** Signed-in browsers, newest first. */
  list(accountId: string): Promise<readonly BrowserRecord[]>;
  /** Takes effect at once in every process. @throws PosternError `browser_session_not_found` */
  revoke(accountId: string, browserSessionId: string): Promise<void>;
}

export interface BrowserSessionStore extends BrowserSessions {
  create(accountId: string, browser: { readonly userAgent: string }): Promise<NewBrowser>;
  /**
   * @param shown the key, and every cookie with the session's name: servers on other ports of the host may have set more
   * @returns null unless the key and one of the cookies belong to the same browser session in force
   */
  find(shown: { readonly cookies: readonly string[]; readonly key: string }): Promise<ValidBrowser | null>;
  /** Does not check the key. @returns the first of the cookies that belongs to a browser session in force; null when none does */
  findByCookie(cookies: readonly string[]): Promise<ValidBrowser | null>;
  /**
   * Looks up the browser session again by its id.
   * @param options `notesUse`: whether this keeps the browser signed in
   * @returns null when it is expired or revoked
   */
  findAgain(browserSessionId: string, options: { readonly notesUse: boolean }): Promise<ValidBrowser | null>;
}

export function createBrowserSessionStore(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
}): BrowserSessionStore {
  const { db, clock } = deps;

  async function dropExpired(): Promise<void> {
    await db.deleteFrom("browser_sessions").where("expires_at", "<=", clock.now()).execute();
  }

  function whileValid(
    row: Selectable<Tables["browser_sessions"]> | undefined,
    { notesUse } = { notesUse: true },
  ): ValidBrowser | null {
    if (row === undefined || row.expires_at <= clock.now()) return null;
    const { browser_session_id: browserSessionId, account_id: accountId } = row;
    if (notesUse) noteUse({ id: browserSessionId, lastUsedAt: row.last_used_at, createdAt: row.created_at });
    return { browserSessionId, accountId };
  }

  /** Recording a use also extends the session. */
  const noteUse = createUseNotes<{ id: string; lastUsedAt: number; createdAt: number }>(
    clock,
    ({ id, createdAt }, now) =>
      db
        .updateTable("browser_sessions")
        .set({ last_used_at: now, expires_at: Math.min(now + idleLifeMs, createdAt + browserSessionLifeMs) })
        .where("browser_session_id", "=", id)
        .execute(),
  );

  return {
    async create(accountId, { userAgent }) {
      await dropExpired();
      const now = clock.now();
      const [cookie, key, browserSessionId] = [newSecret(), newSecret(), newUuid()];
      const row = {
        browser_session_id: browserSessionId,
        account_id: accountId,
        cookie_hash: sha256(cookie),
        key_hash: sha256(key),
        user_agent: userAgent.replaceAll("\0", "").slice(0, maxUserAgentLength),
        created_at: now,
        last_used_at: now,
        expires_at: now + idleLifeMs,
      };
      await db.insertInto("browser_sessions").values(row).execute();
      await db
        .deleteFrom("browser_sessions")
        .where("account_id", "=", accountId)
        .where("browser_session_id", "<>", browserSessionId)
        .where("browser_session_id", "not in", (newest) =>
          newest
            .selectFrom("browser_sessions")
            .select("browser_session_id")
            .where("account_id", "=", accountId)
            .where("browser_session_id", "<>", browserSessionId)
            .orderBy("last_used_at", "desc")
            .orderBy("browser_session_id")
            .limit(maxBrowsers - 1),
        )
        .execute();
      return { browserSessionId, accountId, cookie, key, expiresAt: isoTime(row.expires_at) };
    },

    async find({ cookies, key }) {
      const shown = cookies.slice(0, maxCookies).filter((cookie) => secretForm.test(cookie));
      if (shown.length === 0 || !secretForm.test(key)) return null;
      const keyHash = sha256(key);
      const row = await db
        .selectFrom("browser_sessions")
        .selectAll()
        .where("key_hash", "=", keyHash)
        .executeTakeFirst();
      if (row === undefined || !sameHash(row.key_hash, keyHash)) return null;
      if (!shown.some((cookie) => sameHash(row.cookie_hash, sha256(cookie)))) return null;
      return whileValid(row);
    },

    async findByCookie(cookies) {
      const shown = cookies.slice(0, maxCookies).filter((cookie) => secretForm.test(cookie));
      for (const cookieHash of shown.map((cookie) => sha256(cookie))) {
        const row = await db
          .selectFrom("browser_sessions")
          .selectAll()
          .where("cookie_hash", "=", cookieHash)
          .executeTakeFirst();
        const valid = row !== undefined && sameHash(row.cookie_hash, cookieHash) ? whileValid(row) : null;
        if (valid !== null) return valid;
      }
      return null;
    },

    async findAgain(browserSessionId, options) {
      const row = await db
        .selectFrom("browser_sessions")
        .selectAll()
        .where("browser_session_id", "=", browserSessionId)
        .executeTakeFirst();
      return whileValid(row, options);
    },

    async list(accountId) {
      await dropExpired();
      const rows = await db
        .selectFrom("browser_sessions")
        .selectAll()
        .where("account_id", "=", accountId)
        .orderBy("created_at", "desc")
        .orderBy("browser_session_id")
        .execute();
      return rows.map(toRecord);
    },

    async revoke(accountId, browserSessionId) {
      const { numDeletedRows } = await db
        .deleteFrom("browser_sessions")
        .where("account_id", "=", accountId)
        .where("browser_session_id", "=", browserSessionId)
        .executeTakeFirst();
      if (numDeletedRows > 0n) return;
      throw new PosternError("browser_session_not_found", `No signed-in browser ${browserSessionId}.`);
    },
  };
}

function toRecord(row: Selectable<Tables["browser_sessions"]>): BrowserRecord {
  return {
    browserSessionId: row.browser_session_id,
    userAgent: row.user_agent,
    createdAt: isoTime(row.created_at),
    lastUsedAt: isoTime(row.last_used_at),
    expiresAt: isoTime(row.expires_at),
  };
}
