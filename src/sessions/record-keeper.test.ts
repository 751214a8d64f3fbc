import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makeHostFixture, specOf } from "../../test/support/terminal-host.ts";
import { codex } from "../agents/codex/codex.ts";
import { openCode } from "../agents/opencode/opencode.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { isProvisional, newIdentity, nextIdentity } from "./identity.ts";
import { leaseKeyOf } from "./launch.ts";
import { createPromptQueue } from "./prompt-queue.ts";
import { type IdentityView, RecordKeeper } from "./record-keeper.ts";
import { createSessionStore, type SessionRecord } from "./session-store.ts";

/** A session whose state is only its identity. */
function viewOf(record: SessionRecord): IdentityView {
  let state = newIdentity(record);
  return {
    state: () => state,
    post(message) {
      state = nextIdentity(state, message);
    },
  };
}

/** The record of a process of OpenCode whose hooks report no transcript. */
async function ofOpenCode() {
  const home = await makeTempFolder();
  const host = await (await makeHostFixture()).connect();
  const { db } = await openSqliteTestStore();
  const [clock, log] = [systemClock, silentLog];
  const store = createSessionStore(db, { nodeId: "local" });
  const deps = { host, store, clock, log, queue: createPromptQueue(db, clock) };
  const spec = specOf(["/bin/cat"]);
  const record = sessionRecord({ sessionId: "stand-in", agent: "opencode", dir: home, terminalId: spec.terminalId });
  const { pid } = await host.spawn({ ...spec, leaseKey: leaseKeyOf(record) });
  await store.insert(record);
  const process = { template: openCode, terminalId: spec.terminalId, pid, env: { HOME: home } };
  const create = (of: typeof record) => {
    const view = viewOf(of);
    const keeper = new RecordKeeper(deps, process, view);
    return { keeper, isProvisional: () => isProvisional(view.state(), openCode) };
  };
  const report = async ({ keeper }: ReturnType<typeof create>, payload: object): Promise<boolean> => {
    const claim = openCode.parseHook(JSON.stringify({ cwd: home, ...payload }));
    if (claim === null) throw new Error("This is no event.");
    return keeper.accepts(claim, clock.now());
  };
  return { session: create(record), create, report };
}

test("a session that was begun in the terminal goes by the agent's own id before it has a transcript, also for the next gateway", async () => {
  const { session, create, report } = await ofOpenCode();
  expect(session.isProvisional()).toBe(true);
  expect(await report(session, { hook_event_name: "SessionStart", session_id: "ses_1", source: "startup" })).toBe(true);
  expect([session.keeper.record.sessionId, session.isProvisional()]).toEqual(["ses_1", false]);

  expect(await report(session, { hook_event_name: "SessionEnd", session_id: "ses_1", reason: "clear" })).toBe(true);
  expect(await report(session, { hook_event_name: "SessionStart", session_id: "ses_2", source: "startup" })).toBe(true);
  expect(session.keeper.record).toMatchObject({ sessionId: "ses_2", transcriptPath: null, aliases: [] });
  expect(session.isProvisional()).toBe(false);

  const found = create(session.keeper.record);
  expect(await report(found, { hook_event_name: "UserPromptSubmit", session_id: "ses_2", prompt: "after" })).toBe(true);
  expect(found.isProvisional()).toBe(false);
});

/** The record of a live process, over a real store whose next patch waits for `go`. */
async function withSlowPatch(aliases: readonly string[]) {
  const { db } = await openSqliteTestStore();
  const store = createSessionStore(db, { nodeId: "local" });
  const record = sessionRecord({ sessionId: "s1", terminalId: "t", aliases });
  await store.insert(record);
  const [reached, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const keeper = new RecordKeeper(
    {
      store: {
        ...store,
        async update(sessionId, patch) {
          reached.resolve();
          await go.promise;
          await store.update(sessionId, patch);
        },
      },
      queue: createPromptQueue(db, systemClock),
      host: { renameLease: async () => undefined },
      clock: systemClock,
      log: silentLog,
    },
    { template: codex, terminalId: "t", pid: process.pid, env: {} },
    viewOf(record),
  );
  return { store, keeper, reached: reached.promise, go: go.resolve };
}

test("a patch that is being written when the agent reports its own id is in the record under that id", async () => {
  const { store, keeper, reached, go } = await withSlowPatch([]);
  const patching = keeper.patch({ title: "Fix it" });
  await reached;
  const taking = keeper.follow("own");
  // A take-over that does not wait for the patch would finish within this many reads of the store.
  for (let reading = 0; reading < 20; reading += 1) await store.find("s1");
  go();
  await Promise.all([patching, taking]);
  expect(keeper.record).toMatchObject({ sessionId: "own", title: "Fix it" });
  expect(await store.find("s1")).toEqual(keeper.record);
});

test("what is found out about a session that its process has left does not change its successor", async () => {
  const { store, keeper, go } = await withSlowPatch(["stand-in"]);
  go();
  await keeper.follow("s2");
  await keeper.patch({ transcriptPath: "/of/s1" }, "s1");
  expect(keeper.record).toMatchObject({ sessionId: "s2", transcriptPath: null });
  expect(await store.find("s2")).toEqual(keeper.record);
  await keeper.patch({ transcriptPath: "/of/s2" }, "s2");
  expect(await store.find("s2")).toMatchObject({ transcriptPath: "/of/s2" });
});
