import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { compiledQuery } from "./compiled-query.ts";

describeOnBothStores("a query that is compiled once", (openStore) => {
  test("runs again and again, each time with its own values, also in a transaction", async () => {
    const { db } = await openStore();
    let built = 0;
    const add = compiledQuery<{ path: string; at: number }>((within, slot) => {
      built += 1;
      return within.insertInto("folders").values({ path: slot("path"), scopes: "[]", created_at: slot("at") });
    });
    const find = compiledQuery<{ least: number }, { path: string }>((within, slot) =>
      within.selectFrom("folders").select("path").where("created_at", ">=", slot("least")).orderBy("path"),
    );
    await add(db, { path: "/one", at: 1 });
    await db.transaction().execute(async (within) => void (await add(within, { path: "/two", at: 2 })));
    expect((await find(db, { least: 1 })).rows).toEqual([{ path: "/one" }, { path: "/two" }]);
    expect((await find(db, { least: 2 })).rows).toEqual([{ path: "/two" }]);
    expect(built).toBe(1);
  });

  test("says how many rows it changed", async () => {
    const { db } = await openStore();
    const change = compiledQuery<{ path: string }>((within, slot) =>
      within.updateTable("folders").set({ scopes: "[1]" }).where("path", "=", slot("path")),
    );
    await db.insertInto("folders").values({ path: "/one", scopes: "[]", created_at: 1 }).execute();
    expect((await change(db, { path: "/one" })).numAffectedRows).toBe(1n);
    expect((await change(db, { path: "/two" })).numAffectedRows).toBe(0n);
  });
});
