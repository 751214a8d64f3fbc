import { expect, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { base } from "../../test/support/session-list.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { createNoteStore, type NoteChanges, noteKey } from "./session-notes.ts";
import { createSessionStore } from "./session-store.ts";

const session = { agent: "codex", sessionId: "s1" };
const other = { agent: "claude-code", sessionId: "s1" };

async function openNotes(openStore: OpenTestStore, options: { readonly maxSeen?: number } = {}) {
  const { db } = await openStore();
  for (const [account_id, is_owner] of [
    ["owner", 1],
    ["anna", 0],
  ] as const) {
    await db.insertInto("accounts").values({ account_id, name: account_id, is_owner, created_at: base }).execute();
  }
  const notes = createNoteStore(db, options);
  return {
    db,
    notes,
    change: (changes: Partial<NoteChanges>, at = base) =>
      notes.change(session, { addLabels: [], removeLabels: [], ...changes }, at),
    of: async (one = session, account = "owner") => (await notes.of([one], account)).get(noteKey(one)),
  };
}

describeOnBothStores("notes of sessions", (openStore) => {
  test("a session without notes has none, and a change only affects what it names", async () => {
    const { change, of } = await openNotes(openStore);
    const none = { title: null, pinned: false, archived: false, labels: [], seenAt: base };
    expect(await of()).toEqual(none);
    expect(await change({ title: "Mine", pinned: true, addLabels: ["b", "a"] })).toBe(true);
    expect(await change({ archived: true })).toBe(true);
    expect(await of()).toEqual({ ...none, title: "Mine", pinned: true, archived: true, labels: ["a", "b"] });
    expect(await of(other)).toEqual(none);
    expect(await change({ pinned: true, addLabels: ["a"] })).toBe(false);
    expect(await change({ title: null, pinned: false, labels: ["c"], removeLabels: ["c"] })).toBe(true);
    expect(await of()).toEqual({ ...none, archived: true });
  });

  test("concurrent changes are all kept", async () => {
    const { change, of } = await openNotes(openStore);
    const labels = Array.from({ length: 16 }, (_, at) => `l${at}`);
    await Promise.all([
      ...labels.map((label) => change({ addLabels: [label] })),
      change({ title: "Mine" }),
      change({ pinned: true }),
      change({ archived: true }),
    ]);
    expect(await of()).toMatchObject({ title: "Mine", pinned: true, archived: true, labels: labels.toSorted() });
    await Promise.all(labels.map((label) => change({ removeLabels: [label] })));
    expect(await of()).toMatchObject({ labels: [] });
  });

  test("a session has at most 20 labels, also with concurrent changes, and a refused change changes nothing", async () => {
    const { change, of } = await openNotes(openStore);
    const names = Array.from({ length: 25 }, (_, at) => `l${at}`);
    const outcomes = await Promise.allSettled(names.map((label) => change({ addLabels: [label] })));
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(5);
    expect((await of())?.labels).toHaveLength(20);
    expect(await errorCode(change({ title: "no", addLabels: ["one more"] }))).toBe("invalid_request");
    expect(await of()).toMatchObject({ title: null });
  });

  test("what an account has seen is its own, and never moves back", async () => {
    const { notes, of } = await openNotes(openStore);
    await notes.see(session, "owner", base + 20);
    await notes.see(session, "owner", base + 10);
    expect([(await of())?.seenAt, (await of(session, "anna"))?.seenAt]).toEqual([base + 20, base]);
  });

  test("at the limit the oldest marks go, and what happened until then counts as seen", async () => {
    const { notes, db, of } = await openNotes(openStore, { maxSeen: 20 });
    for (let at = 1; at <= 21; at += 1) await notes.see({ agent: "codex", sessionId: `s${at}` }, "owner", base + at);
    const rows = await db.selectFrom("session_seen").select("session_id").execute();
    expect(rows.length).toBeLessThanOrEqual(20);
    expect((await of({ agent: "codex", sessionId: "s1" }))?.seenAt).toBe(base + 3);
    expect((await of({ agent: "codex", sessionId: "s21" }))?.seenAt).toBe(base + 21);
    expect((await of(session, "anna"))?.seenAt).toBe(base);
  });

  test("a forgotten session has no notes, and one that takes its agent's own ID keeps them", async () => {
    const { notes, db, change, of } = await openNotes(openStore);
    const sessions = createSessionStore(db, { nodeId: "local" });
    await sessions.insert(sessionRecord({ ...session, createdAt: base, updatedAt: base }));
    await change({ title: "Mine", addLabels: ["a"] });
    await notes.see(session, "owner", base + 9);
    const before = await of();
    await sessions.rekey("s1", "real");
    expect(await of({ agent: "codex", sessionId: "real" })).toEqual(before);
    expect(await of()).toMatchObject({ title: null, labels: [], seenAt: base });
    await notes.forget({ agent: "codex", sessionId: "real" });
    expect(await of({ agent: "codex", sessionId: "real" })).toMatchObject({ title: null, labels: [], seenAt: base });
    expect(await db.selectFrom("session_seen").selectAll().execute()).toEqual([]);
  });
});
