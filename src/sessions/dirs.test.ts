import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { base, day, openSessionList, owner } from "../../test/support/session-list.ts";

describeOnBothStores("the list of directories", (openStore) => {
  test("has those of all sessions that the caller may see, with how many and when last", async () => {
    const { dirs, transcript, record, roots } = await openSessionList(openStore);
    await transcript("a", { dir: "/code/app", updated_at: base });
    await transcript("b", { dir: "/code/app", updated_at: base + day });
    await transcript("part", { dir: "/code/app", listed: 0 });
    await transcript("moved", { dir: "/code/cwd", updated_at: base });
    await record("moved", { dir: "/code/other", updatedAt: base - day });
    await record("alone", { dir: "/code/feat/src", updatedAt: base + 2 * day });
    roots.push({ path: "/code/feat", repository: "/code/app" });
    const at = (days: number): string => new Date(base + days * day).toISOString();
    expect(await dirs()).toEqual([
      ["/code/app/src", 1, at(2)],
      ["/code/app", 2, at(1)],
      ["/code/other", 1, at(0)],
    ]);
    expect(await dirs({ ...owner, folders: ["/code/other"] })).toEqual([["/code/other", 1, at(0)]]);
    expect(await dirs({ ...owner, folders: ["/elsewhere"] })).toEqual([]);
  });
});
