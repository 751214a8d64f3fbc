import { mkdir, realpath, symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { base, day, openSessionList, owner } from "../../test/support/session-list.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";

describeOnBothStores("the list of sessions", (openStore) => {
  test("joins what is on disk and what is on record, each session once, the most recently updated first", async () => {
    const { list, transcript, record, store } = await openSessionList(openStore);
    await transcript("old", { updated_at: base - day });
    await transcript("both", { updated_at: base + day, dir: "/code/cwd" });
    await record("both", {
      dir: "/code",
      closedAt: base,
      updatedAt: base - 5 * day,
      model: "record's",
      continuedBy: "next",
    });
    await store.db.insertInto("session_aliases").values({ alias: "early", session_id: "both" }).execute();
    await record("silent", { updatedAt: base, exitCode: 1, lastScreen: "No such model" });
    await transcript("part", { listed: 0, updated_at: base + 9 * day });
    const { sessions, total, limit, offset, hasMore, indexing } = await list();
    expect({ total, limit, offset, hasMore, indexing }).toEqual({
      total: 3,
      limit: 20,
      offset: 0,
      hasMore: false,
      indexing: null,
    });
    expect(sessions).toMatchObject([
      {
        sessionId: "both",
        sessionAliases: ["early"],
        title: "About both",
        dir: "/code",
        status: "completed",
        model: "m",
        turnCount: 2,
        sizeBytes: 100,
        updatedAt: "2026-03-02T00:00:00.000Z",
        closedAt: "2026-03-01T00:00:00.000Z",
        continuedBy: "next",
      },
      { sessionId: "silent", status: "failed", failure: { exitCode: 1, lastScreen: "No such model" }, turnCount: 0 },
      { sessionId: "old", status: "completed", owner: null, branch: "main", createdAt: "2026-03-01T00:00:00.000Z" },
    ]);
  });

  test("pages through all of them in one stable order, also where times are equal", async () => {
    const { list, transcript, record } = await openSessionList(openStore);
    const names = Array.from({ length: 30 }, (_, at) => `s${String(at).padStart(2, "0")}`);
    for (const name of names.toReversed()) await (name < "s20" ? transcript(name) : record(name));
    const seen: string[] = [];
    for (let offset = 0; offset < 30; offset += 7) {
      const page = await list({ limit: 7, offset });
      expect(page).toMatchObject({ total: 30, limit: 7, offset, hasMore: offset + 7 < 30 });
      seen.push(...page.sessions.map(({ sessionId }) => sessionId));
    }
    expect(seen).toEqual(names);
    expect(await list({ offset: 40 })).toMatchObject({ sessions: [], total: 30, hasMore: false });
  });

  test("filters by agent, by name or alias, and knows which there are", async () => {
    const { ids, list, transcript, record } = await openSessionList(openStore);
    await transcript("a", { updated_at: base + 2 });
    await transcript("b", { agent: "codex", updated_at: base + 1 });
    await record("c", { agent: "codex" });
    await record("gone", { agent: "an-agent-of-before" });
    expect(await ids({ agent: "codex" })).toEqual(["b", "c"]);
    expect(await ids({ agent: "agent_a" })).toEqual(["a"]);
    expect(await list()).toMatchObject({ total: 3 });
    expect(await errorCode(list({ agent: "nobody" }))).toBe("agent_unknown");
  });

  test("filters by the start of an ID, current or earlier, which is text and not a pattern", async () => {
    const { ids, list, transcript, record, store } = await openSessionList(openStore);
    await transcript("0b0c-1", { updated_at: base + 2 });
    await transcript("0B0C-2", { updated_at: base + 1 });
    await record("0b0c-3");
    await record("a0b0c");
    await store.db.insertInto("session_aliases").values({ alias: "early-1", session_id: "a0b0c" }).execute();
    expect(await list({ idPrefix: "0b0c" })).toMatchObject({ total: 2 });
    expect(await ids({ idPrefix: "0b0c" })).toEqual(["0b0c-1", "0b0c-3"]);
    expect(await ids({ idPrefix: "early" })).toEqual(["a0b0c"]);
    expect(await ids({ idPrefix: "0b0c-3", status: "failed" })).toEqual(["0b0c-3"]);
    for (const none of ["0b0c-1x", "%", "0b0c_", "'"]) expect(await ids({ idPrefix: none }), none).toEqual([]);
  });

  test("filters by time, at or after a date or a date-time with any offset", async () => {
    const { ids, transcript, record } = await openSessionList(openStore);
    await transcript("exactly", { updated_at: base });
    await transcript("before", { updated_at: base - 1 });
    await record("after", { updatedAt: base + 1 });
    expect(await ids({ since: "2026-03-01" })).toEqual(["after", "exactly"]);
    expect(await ids({ since: "2026-03-01T01:00:00.001+01:00" })).toEqual(["after"]);
    expect(await ids({ since: "2026-02-28T23:59:59.999Z" })).toEqual(["after", "exactly", "before"]);
  });

  test("filters by status: live ones of others run, ended ones have a transcript or failed", async () => {
    const { ids, list, transcript, record, external, indexing } = await openSessionList(openStore);
    await transcript("running");
    await transcript("ended");
    await record("failed");
    await record("unread", { transcriptPath: "/t/unread.jsonl" });
    external.set("running", { pid: process.pid, activity: null });
    external.set("nowhere", { pid: process.ppid, activity: null });
    // The report is a moment old: its process has ended.
    external.set("ended", { pid: 2 ** 30, activity: null });
    expect((await list({ status: "running" })).sessions).toMatchObject([
      { sessionId: "running", owner: "external", pid: process.pid, status: "running" },
    ]);
    expect(await ids({ status: "completed" })).toEqual(["ended"]);
    expect(await ids({ status: "failed" })).toEqual(["failed", "unread"]);
    expect(await ids({ status: "initializing" })).toEqual([]);
    indexing({ done: 2, total: 3 });
    expect(await ids({ status: "completed" })).toEqual(["ended", "unread"]);
    expect(await ids({ status: "failed" })).toEqual(["failed"]);
    const partial = await list();
    expect(partial.indexing).toEqual({ done: 2, total: 3 });
    expect(partial.sessions.map(({ status }) => status)).toEqual(["completed", "failed", "running", "completed"]);
  });

  test("filters by directory, the resolved one and all below it, by whole names", async () => {
    const { ids, list, transcript, record, roots } = await openSessionList(openStore);
    const root = await makeTempFolder();
    await mkdir(join(root, "project/deep"), { recursive: true });
    await symlink(join(root, "project"), join(root, "link"));
    const project = await realpath(join(root, "project"));
    await transcript("at", { dir: project, updated_at: base + 4 });
    await transcript("below", { dir: join(project, "deep"), updated_at: base + 3 });
    await transcript("gone", { dir: join(project, "was/here"), updated_at: base + 2 });
    await transcript("beside", { dir: `${project}-2` });
    await record("recorded", { dir: project, updatedAt: base + 1 });
    await record("moved", { dir: project, updatedAt: base });
    await transcript("moved", { dir: "/elsewhere", updated_at: base });
    await transcript("left", { dir: project });
    await record("left", { dir: "/elsewhere" });
    expect(await ids({ dir: join(root, "link") })).toEqual(["at", "below", "gone", "recorded", "moved"]);
    expect(await list({ dir: join(project, "..", "project", "deep") })).toMatchObject({ total: 1 });
    expect(await ids({ dir: "/elsewhere" })).toEqual(["left"]);
    expect(await ids({ dir: join(root, "nothing") })).toEqual([]);
    expect(await errorCode(list({ dir: "project" }))).toBe("invalid_request");
    roots.push({ path: join(root, "branch"), repository: project });
    await transcript("worktree", { dir: join(root, "branch/deep"), updated_at: base + 9 });
    expect(await ids({ dir: join(project, "deep") })).toEqual(["worktree", "below"]);
    expect(await ids({ dir: join(root, "branch") })).toEqual(["worktree"]);
  });

  test("shows of registered folders, and of a token's, only what is in them", async () => {
    const { ids, list, transcript, record, folders, roots } = await openSessionList(openStore);
    const root = await makeTempFolder();
    for (const name of ["open", "open/closed", "other", "repository"]) await mkdir(join(root, name));
    await transcript("in", { dir: join(root, "open/x"), updated_at: base + 3 });
    await transcript("closed", { dir: join(root, "open/closed") });
    await transcript("out", { dir: join(root, "other") });
    await record("recorded", { dir: join(root, "open"), updatedAt: base + 2 });
    await record("hidden", { dir: "/root" });
    await transcript("worktree", { dir: join(root, "branch"), updated_at: base + 1 });
    roots.push({ path: join(root, "branch"), repository: join(root, "repository") });
    expect(await list()).toMatchObject({ total: 6 });
    await folders.add(join(root, "open"), ["coding"]);
    await folders.add(join(root, "open/closed"), ["files"]);
    expect(await ids()).toEqual(["in", "recorded"]);
    expect(await list({ limit: 1 })).toMatchObject({ total: 2, hasMore: true });
    await folders.add(join(root, "repository"), ["coding"]);
    expect(await ids()).toEqual(["in", "recorded", "worktree"]);
    expect(await ids({}, { ...owner, folders: [join(root, "repository")] })).toEqual(["worktree"]);
    expect(await list({ dir: join(root, "other") })).toMatchObject({ sessions: [], total: 0 });
    for (const { path } of await folders.list()) await folders.remove(path);
    expect(await list()).toMatchObject({ total: 6 });
  });

  test("shows a limited caller nothing that comes from elsewhere while it is looked", async () => {
    const { list, transcript, meanwhile } = await openSessionList(openStore);
    const limited = { ...owner, folders: ["/code"] };
    meanwhile(() => transcript("early", { dir: "/secret" }));
    expect(await list({}, limited), "of a catalog that was empty").toMatchObject({ sessions: [], total: 0 });
    await transcript("mine", { dir: "/code/mine" });
    meanwhile(() => transcript("late", { dir: "/secret/two" }));
    expect(await list({}, limited)).toMatchObject({ sessions: [{ sessionId: "mine" }], total: 1 });
  });

  test("counts queued prompts", async () => {
    const { list, record, queue } = await openSessionList(openStore);
    await record("busy");
    for (const promptId of ["p1", "p2"]) {
      await queue.add({
        promptId,
        sessionId: "busy",
        prompt: "hi",
        state: "queued",
        started: "reconnect",
        idempotency: null,
        undriven: false,
      });
    }
    expect((await list()).sessions).toMatchObject([{ sessionId: "busy", queuedPrompts: 2 }]);
  });
});
