import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { specOf } from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createHost } from "./host.ts";
import { createScreens } from "./screens.ts";
import { createRecordings } from "./terminal-record.ts";

const limits = { recordingsMaxBytes: 1024, recordingsMaxCount: 10 };

test("no program starts before its screen can answer queries, and of two waiting for one lease only one starts", async () => {
  const stateDir = join(await makeTempFolder(), "host");
  const loaded = Promise.withResolvers<void>();
  const host = createHost({
    stateDir,
    rawLogMaxBytes: 1024 * 1024,
    clock: systemClock,
    screens: { ...createScreens({ clock: systemClock, log: silentLog }), ready: () => loaded.promise },
    recordings: createRecordings([], { ...limits, stateDir, log: silentLog }),
    log: silentLog,
  });
  onTestFinished(() => host.close());
  const spawning = [1, 2].map(() => host.spawn(specOf(["/bin/cat"], { leaseKey: "one" })));
  const settled = Promise.allSettled(spawning);
  expect(await Promise.race([settled, new Promise((resolve) => setImmediate(resolve, "waits"))])).toBe("waits");
  expect(host.terminalCount()).toBe(0);
  loaded.resolve();
  expect(await settled).toMatchObject([{ status: "fulfilled" }, { reason: { code: "lease_held" } }]);
  expect(host.terminalCount()).toBe(1);
});
