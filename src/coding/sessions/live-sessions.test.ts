import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openSqliteTestStore } from "../../../test/support/database.ts";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { makeHostFixture, specOf } from "../../../test/support/terminal-host.ts";
import { setUpTold } from "../../../test/support/told-session.ts";
import { systemClock } from "../../core/clock.ts";
import { silentLog } from "../../core/log.ts";
import { openPermissionHooks } from "../permissions/permission-hooks.ts";
import { createTranscripts } from "../transcripts/index.ts";
import { createLiveSessions } from "./live-sessions.ts";
import { createPromptQueue } from "./prompt-queue.ts";
import { createSessionStore } from "./session-store.ts";

test("a terminal that no session knows is ended, one that is somebody else's is left alone", async () => {
  const home = await makeTempFolder();
  const host = await (await makeHostFixture()).connect();
  const { db } = await openSqliteTestStore();
  const [clock, log] = [systemClock, silentLog];
  const hooks = await openPermissionHooks({ socketPath: join(home, "hooks.sock"), clock, log });
  onTestFinished(() => hooks.close());
  const [stray, others] = [specOf(["/bin/cat"]), specOf(["/bin/cat"])];
  const live = createLiveSessions({
    home,
    host,
    hooks,
    clock,
    log,
    store: createSessionStore(db, { nodeId: "local" }),
    queue: createPromptQueue(db, clock),
    transcripts: createTranscripts({ clock, log }),
    events: setUpTold().events,
    permissionAnswerMs: 1_000,
    hookCommand: "true",
    maxSessions: 1,
    templateOf: () => null,
    environmentOf: () => ({}),
    isOthers: (terminalId) => terminalId === others.terminalId,
  });
  onTestFinished(() => live.close());
  for (const spec of [stray, others]) await host.spawn(spec);
  await live.reconcile();
  expect(await host.list()).toMatchObject([{ terminalId: others.terminalId, exit: null }]);
});
