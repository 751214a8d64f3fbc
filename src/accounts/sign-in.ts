import type { Kysely } from "kysely";
import { type Clock, isoTime } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { newSecret, sameHash, sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";
import type { SignInLink } from "../wire/sign-in.ts";
import type { BrowserSessionStore, NewBrowser } from "./browser-sessions.ts";

/** Enough time to send a link to a phone, but too short for a link left in a terminal's scrollback. */
const linkLifeMs = 10 * 60_000;

/** Maximum unused links of one account; a new one ends the oldest. */
const maxOpenLinks = 10;

/** A new link. It cannot be read again. */
export interface NewSignInLink {
  /** 256 random bits, base64url. */
  readonly link: string;
  readonly expiresAt: string;
}

/** Single-use links that sign a browser in, valid for ten minutes. Only their SHA-256 is stored. */
export interface SignIn {
  createLink(accountId: string): Promise<NewSignInLink>;
  /** Creates a link as the address to open in a browser. The part after `#` is never sent to a server or logged. */
  createUrl(accountId: string, baseUrl: string): Promise<SignInLink>;
  /** @throws PosternError `unauthenticated` when the link is unknown, used or expired */
  redeem(link: string, browser: { readonly userAgent: string }): Promise<NewBrowser>;
}

export function createSignIn(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  readonly browsers: Pick<BrowserSessionStore, "create">;
}): SignIn {
  const { db, clock, browsers } = deps;

  async function dropExpired(): Promise<void> {
    await db.deleteFrom("sign_in_links").where("expires_at", "<=", clock.now()).execute();
  }

  /** Consumes the link. @returns its account, or null for an invalid link */
  async function take(link: string): Promise<string | null> {
    const linkHash = sha256(link);
    const found = await db
      .selectFrom("sign_in_links")
      .select(["account_id", "expires_at", "link_hash"])
      .where("link_hash", "=", linkHash)
      .executeTakeFirst();
    if (found === undefined || !sameHash(found.link_hash, linkHash) || found.expires_at <= clock.now()) return null;
    // The delete decides: of two requests at the same time, only one removes the row.
    const { numDeletedRows } = await db
      .deleteFrom("sign_in_links")
      .where("link_hash", "=", linkHash)
      .executeTakeFirst();
    return numDeletedRows === 1n ? found.account_id : null;
  }

  async function createLink(accountId: string): Promise<NewSignInLink> {
    await dropExpired();
    const link = newSecret();
    const now = clock.now();
    const row = { link_hash: sha256(link), account_id: accountId, created_at: now, expires_at: now + linkLifeMs };
    await db.insertInto("sign_in_links").values(row).execute();
    await db
      .deleteFrom("sign_in_links")
      .where("account_id", "=", accountId)
      .where("link_hash", "<>", row.link_hash)
      .where("link_hash", "not in", (newest) =>
        newest
          .selectFrom("sign_in_links")
          .select("link_hash")
          .where("account_id", "=", accountId)
          .where("link_hash", "<>", row.link_hash)
          .orderBy("created_at", "desc")
          .orderBy("link_hash")
          .limit(maxOpenLinks - 1),
      )
      .execute();
    return { link, expiresAt: isoTime(row.expires_at) };
  }

  return {
    createLink,

    async createUrl(accountId, baseUrl) {
      const { link, expiresAt } = await createLink(accountId);
      return { url: `${baseUrl.replace(/\/+$/, "")}/sign-in#${link}`, expiresAt };
    },

    async redeem(link, browser) {
      const accountId = await take(link);
      if (accountId !== null) return browsers.create(accountId, browser);
      throw new PosternError(
        "unauthenticated",
        "This sign-in link is unknown, used or expired. Create a new one with `postern login-link`.",
      );
    },
  };
}
