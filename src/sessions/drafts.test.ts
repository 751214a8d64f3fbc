import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { base } from "../../test/support/session-list.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { systemClock } from "../core/clock.ts";
import type { Caller } from "../wire/caller.ts";
import { createDrafts } from "./drafts.ts";
import { createSessionStore } from "./session-store.ts";

async function openDrafts(openStore: OpenTestStore) {
  const { db } = await openStore();
  for (const [account_id, is_owner] of [
    ["owner", 1],
    ["anna", 0],
  ] as const) {
    await db.insertInto("accounts").values({ account_id, name: account_id, is_owner, created_at: base }).execute();
  }
  const store = createSessionStore(db, { nodeId: "local" });
  await store.insert(sessionRecord({ agent: "codex", sessionId: "s1", createdAt: base, updatedAt: base }));
  const drafts = createDrafts({
    db,
    clock: systemClock,
    locator: {
      async locate(id) {
        const record = await store.find(id);
        if (record === null) throw new Error("no such session");
        return { record };
      },
    },
  });
  const callerOf = (accountId: string): Caller => ({ accountId, scopes: new Set(), folders: null });
  return { db, store, drafts, owner: callerOf("owner"), anna: callerOf("anna") };
}

describeOnBothStores("drafts", (openStore) => {
  test("an account's draft of a session is its own, and a new session has one too", async () => {
    const { drafts, owner, anna } = await openDrafts(openStore);
    expect(await drafts.read("s1", owner)).toEqual({ text: "", version: 0, updatedAt: null });
    const saved = await drafts.save("s1", { text: "half a", version: 0 }, owner);
    expect(saved).toMatchObject({ text: "half a", saved: true });
    const again = await drafts.save("s1", { text: "half a thought", version: saved.version }, owner);
    expect(again).toMatchObject({ saved: true, updatedAt: new Date(again.version).toISOString() });
    expect(await drafts.read("s1", owner)).toMatchObject({ text: "half a thought", version: again.version });
    expect(await drafts.read("s1", anna)).toMatchObject({ text: "" });
    expect(await drafts.save(null, { text: "new", version: 0 }, owner)).toMatchObject({ saved: true });
    const limited = { ...owner, folders: ["/code"] };
    expect(await errorCode(drafts.read(null, limited))).toBe("invalid_request");
    expect(await errorCode(drafts.save(null, { text: "mine", version: 0 }, limited))).toBe("invalid_request");
    expect(await errorCode(drafts.clear(null, limited))).toBe("invalid_request");
    expect(await drafts.clear("s1", owner)).toMatchObject({ text: "", version: 0 });
    expect(await drafts.read("s1", owner)).toMatchObject({ text: "" });
    expect(await drafts.read(null, owner)).toMatchObject({ text: "new" });
  });

  test("of two devices that replace the same draft at once, one saves, and the other gets what it saved", async () => {
    const { drafts, owner } = await openDrafts(openStore);
    const replaceBoth = async (version: number) => {
      const answers = await Promise.all(["phone", "desk"].map((text) => drafts.save("s1", { text, version }, owner)));
      const winner = answers.find(({ saved }) => saved);
      expect(answers.filter(({ saved }) => saved)).toHaveLength(1);
      expect(answers.find(({ saved }) => !saved)).toEqual({ ...winner, saved: false });
      return winner?.version ?? 0;
    };
    const version = await replaceBoth(await replaceBoth(0));
    await drafts.clear("s1", owner);
    expect(await drafts.save("s1", { text: "late", version }, owner)).toMatchObject({ saved: false, text: "" });
    const next = await drafts.save("s1", { text: "next", version: 0 }, owner);
    expect(next.version).not.toBe(version);
    expect(await drafts.save("s1", { text: "", version }, owner)).toMatchObject({ saved: false, text: "next" });
    expect(await drafts.save("s1", { text: "", version: next.version }, owner)).toMatchObject({
      saved: true,
      version: 0,
    });
  });

  test("a session that takes its agent's own ID keeps its draft, and an account has at most 200", async () => {
    const { db, store, drafts, owner } = await openDrafts(openStore);
    await drafts.save("s1", { text: "kept", version: 0 }, owner);
    await store.rekey("s1", "real");
    expect(await drafts.read("s1", owner)).toMatchObject({ text: "kept" });
    const more = Array.from({ length: 210 }, (_, at) => ({
      ...{ account_id: "owner", agent: "codex", session_id: `x${at}`, text: "x", version: base + at },
    }));
    await db.insertInto("session_drafts").values(more).execute();
    await drafts.save(null, { text: "newest", version: 0 }, owner);
    expect(await db.selectFrom("session_drafts").select("session_id").execute()).toHaveLength(200);
    expect(await drafts.read("s1", owner)).toMatchObject({ text: "kept" });
  });
});
