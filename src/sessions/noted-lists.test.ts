import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { base, openSessionList } from "../../test/support/session-list.ts";
import type { NoteChanges } from "./session-notes.ts";

const claude = (sessionId: string) => ({ agent: "claude-code", sessionId });

describeOnBothStores("the list of sessions, by what people noted", (openStore) => {
  async function open() {
    const all = await openSessionList(openStore);
    await all.transcript("on-disk", { updated_at: base + 3 });
    await all.transcript("both", { updated_at: base + 2 });
    await all.record("both");
    await all.record("recorded", { updatedAt: base + 1 });
    const note = (sessionId: string, changes: Partial<NoteChanges>) =>
      all.notes.change(claude(sessionId), { addLabels: [], removeLabels: [], ...changes }, base);
    return { ...all, note };
  }

  test("leaves archived sessions out, with or without a record, and shows only them on request", async () => {
    const { ids, list, note } = await open();
    await note("on-disk", { archived: true });
    await note("recorded", { archived: true });
    expect(await list()).toMatchObject({ total: 1, sessions: [{ sessionId: "both", archived: false }] });
    expect(await ids({ archived: true })).toEqual(["on-disk", "recorded"]);
    expect(await ids({ archived: "any" })).toEqual(["on-disk", "both", "recorded"]);
    expect(await ids({ idPrefix: "on-d" }), "an ID names an archived session too").toEqual(["on-disk"]);
    expect(await ids({ idPrefix: "on-d", archived: false })).toEqual([]);
    expect(await ids({ archived: true, status: "failed" })).toEqual(["recorded"]);
    await note("on-disk", { archived: false });
    expect(await ids()).toEqual(["on-disk", "both"]);
  });

  test("filters by pin and label, of the right agent, and shows both with the given title", async () => {
    const { ids, list, note, transcript } = await open();
    await transcript("on-disk", { agent: "codex", updated_at: base + 9 });
    await note("on-disk", { pinned: true, addLabels: ["red", "later"], title: "My title" });
    await note("recorded", { addLabels: ["red"] });
    expect(await list({ pinned: true })).toMatchObject({
      total: 1,
      sessions: [{ agent: "claude-code", title: "My title", pinned: true, labels: ["later", "red"] }],
    });
    expect(await ids({ pinned: false })).toEqual(["on-disk", "both", "recorded"]);
    expect(await ids({ label: " RED " })).toEqual(["on-disk", "recorded"]);
    expect(await list({ label: "red", limit: 1, offset: 1 })).toMatchObject({
      total: 2,
      sessions: [{ sessionId: "recorded" }],
    });
    expect(await ids({ label: "blue" })).toEqual([]);
    expect(await ids({ label: "red", agent: "codex" })).toEqual([]);
  });

  test("a session is unread if it changed since the account has seen it", async () => {
    const { list, notes, store } = await open();
    const account = { account_id: "owner", name: "owner", is_owner: 1, created_at: base + 1 };
    await store.db.insertInto("accounts").values(account).execute();
    const unread = async () =>
      Object.fromEntries((await list()).sessions.map((session) => [session.sessionId, session.unread]));
    // Changes from before the account existed do not count as unread.
    expect(await unread()).toEqual({ "on-disk": true, both: true, recorded: false });
    await notes.see(claude("on-disk"), "owner", base + 3);
    await notes.see({ agent: "codex", sessionId: "both" }, "owner", base + 3);
    expect(await unread()).toEqual({ "on-disk": false, both: true, recorded: false });
  });

  test("groups by folder, agent or label: each session once, in an order that pages keep", async () => {
    const { list, transcript, record, notes, store } = await openSessionList(openStore);
    await transcript("new-b", { dir: "/b", updated_at: base + 9 });
    await transcript("old-b", { dir: "/b", updated_at: base + 1 });
    await transcript("a", { dir: "/a", agent: "codex", updated_at: base + 5 });
    await record("tree", { dir: "/trees/x", updatedAt: base + 2 });
    const tree = { worktree_id: "w", session_id: "tree", node_id: "local", state: "ready", repository: "/a" } as const;
    const where = { common_dir: "/a/.git", path: "/trees/x", sub_folder: "", branch: "x", base_branch: "main" };
    const times = { base_commit: "0", git_dir: null, inode: null, included: "[]", created_at: base, updated_at: base };
    const rescue = { rescue_ref: null, rescue_commit: null, rescue_base: null, rescue_files: null, rescued_at: null };
    const closing = { closing: null, ignored_lost: null };
    await store.db
      .insertInto("worktrees")
      .values({ ...tree, ...where, ...times, ...rescue, ...closing })
      .execute();
    for (const [sessionId, labels] of [
      ["old-b", ["red", "blue"]],
      ["tree", ["red"]],
    ] as const) {
      await notes.change(claude(sessionId), { addLabels: [...labels], removeLabels: [] }, base);
    }
    const groups = async (group: "folder" | "agent" | "label") => {
      const found: (readonly [string, string | null | undefined])[] = [];
      for (let offset = 0; offset < 4; offset += 2) {
        const { sessions, total } = await list({ group, offset, limit: 2 });
        expect(total).toBe(4);
        found.push(...sessions.map((session) => [session.sessionId, session.group] as const));
      }
      return found;
    };
    expect(await groups("folder")).toEqual([
      ["new-b", "/b"],
      ["old-b", "/b"],
      ["a", "/a"],
      ["tree", "/a"],
    ]);
    expect(await groups("agent")).toEqual([
      ["new-b", "claude-code"],
      ["tree", "claude-code"],
      ["old-b", "claude-code"],
      ["a", "codex"],
    ]);
    expect(await groups("label")).toEqual([
      ["old-b", "blue"],
      ["tree", "red"],
      ["new-b", null],
      ["a", null],
    ]);
    expect((await list()).sessions[0]).not.toHaveProperty("group");
  });
});
