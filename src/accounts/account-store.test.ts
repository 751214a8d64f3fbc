import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeAppTokens } from "../../test/support/fake-app-tokens.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { silentLog } from "../core/log.ts";
import { createAccountForgetting } from "../logs/index.ts";
import { createErasure } from "../storage/erasure.ts";
import { createAccounts, type RemoveWithAll } from "./index.ts";

/** Memory rows that reference each other, inserted in this order with the same id. */
const memory = {
  tables: ["log_entries", "episodes", "entities", "statements"],
  ids: ["log_id", "entity_id", "subject_id", "statement_id"],
} as const;

async function setUp(openStore: OpenTestStore) {
  const { db, dialect } = await openStore();
  const clock = createFakeClock();
  const apps = createFakeAppTokens(clock);
  const erasure = createErasure({ db, dialect, clock, log: silentLog });
  onTestFinished(() => erasure.close());
  const forgetting = createAccountForgetting({ db, dialect, clock, log: silentLog, erasure });
  const removeWithAll: RemoveWithAll = (accountId, remove) => forgetting.forget(accountId, remove);
  const accounts = createAccounts({ db, clock, appTokens: apps, removeWithAll });
  const owner = await accounts.owner();
  return { ...accounts.directory, db, clock, apps, accounts, owner };
}

describeOnBothStores("accounts other than the owner's", (openStore) => {
  test("are added with the maximum scopes they can hold, each under a unique name", async () => {
    const { add, list, find, owner } = await setUp(openStore);
    const anna = await add({ name: "anna", scopes: ["coding:write", "coding:read"] });
    expect(anna).toMatchObject({ name: "anna", isOwner: false, scopes: ["coding:read", "coding:write"] });
    expect(await list()).toEqual([owner, anna]);
    expect(await find(anna.accountId)).toEqual(anna);
    expect(await errorCode(add({ name: "anna", scopes: ["coding:read"] }))).toBe("account_exists");
    expect(await errorCode(add({ name: "owner", scopes: ["coding:read"] }))).toBe("account_exists");
    expect(await errorCode(add({ name: "nobody", scopes: [] }))).toBe("invalid_request");
    expect(await list()).toHaveLength(2);
  });

  test("are removed, except the owner's", async () => {
    const { add, remove, find, owner } = await setUp(openStore);
    const anna = await add({ name: "anna", scopes: ["coding:read"] });
    expect(await errorCode(remove(owner.accountId))).toBe("invalid_request");
    expect(await remove(anna.accountId)).toEqual(anna);
    expect(await find(anna.accountId)).toBe(null);
    expect(await errorCode(remove(anna.accountId))).toBe("account_not_found");
    await add({ name: "anna", scopes: ["coding:read"] }); // the name is free again
  });

  test("are removed with all their data: only the audit log keeps rows", async () => {
    const { db, add, remove } = await setUp(openStore);
    const anna = await add({ name: "anna", scopes: ["coding:read"] });
    const bob = await add({ name: "bob", scopes: ["coding:read"] });
    const tables = (await db.introspection.getTables()).filter(({ columns }) =>
      columns.some(({ name }) => name === "account_id"),
    );
    const names = tables.map(({ name }) => name).toSorted();
    const first: readonly string[] = memory.tables;
    const later = tables.filter(({ name }) => name !== "accounts" && !first.includes(name));
    const ordered = first.flatMap((one) => tables.filter(({ name }) => name === one)).concat(later);
    const shared: readonly string[] = ["account_id", ...memory.ids];
    expect(names).toEqual(
      expect.arrayContaining([
        "accounts",
        "browser_sessions",
        "facts",
        "idempotency_keys",
        "log_suppressions",
        "oauth_records",
        "passkeys",
        "webhooks",
      ]),
    );
    let made = 0;
    for (const { name: table, columns } of ordered) {
      for (const { accountId } of [anna, bob]) {
        const filled = columns.filter(({ name, isNullable }) => shared.includes(name) || !isNullable);
        const values = filled.map(({ name, dataType }) => {
          if (shared.includes(name)) return accountId;
          made += 1;
          return dataType.toLowerCase() === "text" ? `${made}` : made;
        });
        const refs = sql.join(filled.map(({ name }) => sql.ref(name)));
        await sql`insert into ${sql.table(table)} (${refs}) values (${sql.join(values)})`.execute(db);
      }
    }
    const kept = async (accountId: string): Promise<readonly string[]> => {
      const found = await Promise.all(
        names.map(async (table) => {
          const { rows } = await sql`select 1 from ${sql.table(table)} where account_id = ${accountId}`.execute(db);
          return rows.length === 0 ? [] : [table];
        }),
      );
      return found.flat();
    };
    expect(await kept(anna.accountId)).toEqual(names);
    await remove(anna.accountId);
    expect(await kept(anna.accountId)).toEqual(["audit_entries"]);
    expect(await kept(bob.accountId)).toEqual(names);
  });

  test("no longer authenticate once removed, with any token, browser or app", async () => {
    const { accounts, apps, add, remove } = await setUp(openStore);
    const { accountId } = await add({ name: "anna", scopes: ["coding:read"] });
    const wanted = { name: "x", scopes: ["coding:read"], expiresAt: null, folders: null } as const;
    const { token } = await accounts.tokens.create(accountId, wanted);
    const { link } = await accounts.signIn.createLink(accountId);
    const { cookie, key } = await accounts.signIn.redeem(link, { userAgent: "" });
    const unused = await accounts.signIn.createLink(accountId);
    const app = apps.issue({ accountId, scopes: ["coding:read"] });
    const credentials = [
      { kind: "header", authorization: `Bearer ${token}` },
      { kind: "header", authorization: `Bearer ${app.token}` },
      { kind: "browser", cookies: [cookie], key },
    ] as const;
    const principals = await Promise.all(credentials.map((each) => accounts.authenticate(each)));
    const tickets = principals.map((each) => accounts.tickets.create(each, { sessionId: "s1" }).ticket);
    await remove(accountId);
    for (const each of credentials) expect(await errorCode(accounts.authenticate(each))).toBe("unauthenticated");
    for (const each of principals) expect(await errorCode(accounts.refresh(each))).toBe("unauthenticated");
    for (const ticket of tickets) expect(await accounts.tickets.redeem(ticket)).toBe(null);
    expect(await errorCode(accounts.signIn.redeem(unused.link, { userAgent: "" }))).toBe("unauthenticated");
    expect(await accounts.browserOf([cookie])).toBe(null);
  });
});
