import { expect, test } from "vitest";
import { describeOnBothStores } from "../../test/support/database.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { systemClock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { createSessionStore } from "../sessions/session-store.ts";
import { createWorktreeStore, type WorktreeRecord } from "./worktree-store.ts";

function worktree(differs: Partial<WorktreeRecord> = {}): WorktreeRecord {
  return {
    worktreeId: newUuid(),
    sessionId: newUuid(),
    state: "creating",
    repository: "/srv/project",
    commonDir: "/srv/project/.git",
    path: "/srv/b",
    subFolder: "",
    branch: "b",
    baseBranch: "main",
    baseCommit: "0".repeat(40),
    gitDir: null,
    inode: null,
    included: [],
    closing: null,
    rescueRef: null,
    rescueCommit: null,
    rescueBase: null,
    rescueFiles: null,
    rescuedAt: null,
    ignoredLost: null,
    createdAt: 1_763_000_000_000,
    ...differs,
  };
}

const options = { nodeId: "local", clock: systemClock };

describeOnBothStores("the records of worktrees", (openStore) => {
  test("one worktree per path and per session; removing it frees the path", async () => {
    const store = createWorktreeStore((await openStore()).db, options);
    const first = worktree();
    expect(await store.insert(first)).toBe(true);
    expect(await store.insert(worktree())).toBe(false);
    expect(await store.insert(worktree({ path: "/srv/c", sessionId: first.sessionId }))).toBe(false);
    await store.update(first, { state: "removed" });
    const second = worktree();
    expect(await store.insert(second)).toBe(true);
    await expect(store.update(first, { state: "recreating" })).rejects.toThrow();
    expect((await store.holding("/srv/b/deep/er")).map(({ sessionId }) => sessionId)).toEqual([
      second.sessionId,
      first.sessionId,
    ]);
    expect(await store.holding("/srv/bc")).toEqual([]);
    expect(await store.roots()).toEqual([{ path: "/srv/b", repository: "/srv/project" }]);
  });

  test("a record is read as written, by the gateway that owns it", async () => {
    const { db } = await openStore();
    const store = createWorktreeStore(db, options);
    const record = worktree({ included: [".env", "\u00ff"] });
    await store.insert(record);
    expect(await store.ofSession(record.sessionId)).toEqual(record);
    const patch = {
      state: "removing",
      inode: "12345678901234567890",
      rescueRef: "refs/postern/rescue/x",
      rescueFiles: 3,
      rescuedAt: 1_763_000_000_001,
      ignoredLost: { count: 1, bytes: 5_000_000_000, first20: ["a"] },
    } as const;
    expect(await store.update(record, patch)).toEqual({ ...record, ...patch });
    expect(await store.ofSession(record.sessionId)).toEqual({ ...record, ...patch });
    expect(await store.withRescue()).toHaveLength(1);
    expect(await store.list(["ready"])).toEqual([]);
    expect(await createWorktreeStore(db, { ...options, nodeId: "other" }).list()).toEqual([]);
  });

  test("a worktree follows its session to the agent's own id, and to the session that the agent continues with", async () => {
    const { db } = await openStore();
    const store = createWorktreeStore(db, options);
    const sessions = createSessionStore(db, options);
    await sessions.insert(sessionRecord({ sessionId: "provisional" }));
    await store.insert(worktree({ sessionId: "provisional" }));
    await sessions.rekey("provisional", "own");
    expect(await store.ofSession("own")).not.toBeNull();
    await sessions.succeed("own", sessionRecord({ sessionId: "next" }), async () => undefined);
    expect(await store.ofSession("own")).toBeNull();
    expect(await store.ofSession("next")).not.toBeNull();
    await sessions.insert(sessionRecord({ sessionId: "another" }));
    await store.insert(worktree({ sessionId: "another", path: "/srv/c" }));
    await sessions.succeed("next", sessionRecord({ sessionId: "another" }), async () => undefined);
    expect((await store.ofSession("another"))?.path, "it keeps its own").toBe("/srv/c");
    expect((await store.ofSession("next"))?.path).toBe("/srv/b");
  });
});
