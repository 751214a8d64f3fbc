import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { codex } from "../agents/codex/codex.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { Identity } from "./identity.ts";
import { createPromptQueue } from "./prompt-queue.ts";
import { createSessionStore } from "./session-store.ts";

/** The identity of a live process, over a real store whose next patch waits for `go`. */
async function setUp(aliases: readonly string[]) {
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
  const { store, identity, reached, go } = await setUp([]);
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
  const { store, identity, go } = await setUp(["stand-in"]);
  go();
  await identity.follow("s2");
  await identity.patch({ transcriptPath: "/of/s1" }, "s1");
  expect(identity.record).toMatchObject({ sessionId: "s2", transcriptPath: null });
  expect(await store.find("s2")).toEqual(identity.record);
  await identity.patch({ transcriptPath: "/of/s2" }, "s2");
  expect(await store.find("s2")).toMatchObject({ transcriptPath: "/of/s2" });
});
