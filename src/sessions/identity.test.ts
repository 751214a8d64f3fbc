import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makeHostFixture, specOf } from "../../test/support/terminal-host.ts";
import { codex } from "../agents/codex/codex.ts";
import { openCode } from "../agents/opencode/opencode.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { Identity, leaseKeyOf } from "./identity.ts";
import { createPromptQueue } from "./prompt-queue.ts";
import { createSessionStore } from "./session-store.ts";

/** The identity of a process of OpenCode whose hooks report no transcript. */
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
  const create = (of: typeof record) => new Identity(deps, { ...process, record: of }, () => undefined);
  const report = async (identity: Identity, payload: object): Promise<boolean> => {
    const claim = openCode.parseHook(JSON.stringify({ cwd: home, ...payload }));
    if (claim === null) throw new Error("This is no event.");
    return identity.accepts(claim, clock.now());
  };
  return { identity: create(record), create, report };
}

test("a session that was begun in the terminal goes by the agent's own id before it has a transcript, also for the next gateway", async () => {
  const { identity, create, report } = await ofOpenCode();
  expect(identity.provisional).toBe(true);
  expect(await report(identity, { hook_event_name: "SessionStart", session_id: "ses_1", source: "startup" })).toBe(
    true,
  );
  expect([identity.record.sessionId, identity.provisional]).toEqual(["ses_1", false]);

  expect(await report(identity, { hook_event_name: "SessionEnd", session_id: "ses_1", reason: "clear" })).toBe(true);
  expect(await report(identity, { hook_event_name: "SessionStart", session_id: "ses_2", source: "startup" })).toBe(
    true,
  );
  expect(identity.record).toMatchObject({ sessionId: "ses_2", transcriptPath: null, aliases: [] });
  expect(identity.provisional).toBe(false);

  const found = create(identity.record);
  expect(await report(found, { hook_event_name: "UserPromptSubmit", session_id: "ses_2", prompt: "after" })).toBe(true);
  expect(found.provisional).toBe(false);
});

/** The identity of a live process, over a real store whose next patch waits for `go`. */
async function withSlowPatch(aliases: readonly string[]) {
  const { db } = await openSqliteTestStore();
  const store = createSessionStore(db, { nodeId: "local" });
  const record = sessionRecord({ sessionId: "s1", terminalId: "t", aliases });
  await store.insert(record);
  const [reached, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const identity = new Identity(
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
    { record, template: codex, terminalId: "t", pid: process.pid, env: {} },
    () => undefined,
  );
  return { store, identity, reached: reached.promise, go: go.resolve };
}

test("a patch that is being written when the agent reports its own id is in the record under that id", async () => {
  const { store, identity, reached, go } = await withSlowPatch([]);
  const patching = identity.patch({ title: "Fix it" });
  await reached;
  const taking = identity.follow("own");
  // A take-over that does not wait for the patch is through after as many readings of the store.
  for (let reading = 0; reading < 20; reading += 1) await store.find("s1");
  go();
  await Promise.all([patching, taking]);
  expect(identity.record).toMatchObject({ sessionId: "own", title: "Fix it" });
  expect(await store.find("s1")).toEqual(identity.record);
});

test("what is found out about a session that its process has left does not change its successor", async () => {
  const { store, identity, go } = await withSlowPatch(["stand-in"]);
  go();
  await identity.follow("s2");
  await identity.patch({ transcriptPath: "/of/s1" }, "s1");
  expect(identity.record).toMatchObject({ sessionId: "s2", transcriptPath: null });
  expect(await store.find("s2")).toEqual(identity.record);
  await identity.patch({ transcriptPath: "/of/s2" }, "s2");
  expect(await store.find("s2")).toMatchObject({ transcriptPath: "/of/s2" });
});
