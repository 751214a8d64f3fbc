import { expect, test } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makeHostFixture, specOf } from "../../test/support/terminal-host.ts";
import { openCode } from "../agents/opencode/opencode.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { Identity, leaseKeyOf } from "./identity.ts";
import { createPromptQueue } from "./prompt-queue.ts";
import { createSessionStore } from "./session-store.ts";

/** The identity of a process of OpenCode whose hooks report no transcript. */
async function setUp() {
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
  const { identity, create, report } = await setUp();
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
