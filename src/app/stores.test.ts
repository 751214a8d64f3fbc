import { rm } from "node:fs/promises";
import { expect, onTestFinished, test } from "vitest";
import { openTestLogs, whole } from "../../test/support/logs.ts";
import { makeTestFolder } from "../../test/support/test-folder.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { loadConfig } from "./config.ts";
import { openStores } from "./stores.ts";

test("an account with memory entries is removed, with or without a gateway", async () => {
  const home = makeTestFolder("stores");
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const stores = await openStores(loadConfig({ HOME: home, POSTERN_HOME: home }), {
    log: silentLog,
    clock: systemClock,
  });
  onTestFinished(() => stores.close());
  const { directory } = stores.accounts;
  const { accountId } = await directory.add({ name: "anna", scopes: ["logs:write"] });
  const logs = await openTestLogs(stores);
  await logs.submit(whole(accountId), { content: "Decision: colour = blue" });
  await directory.remove(accountId);
  expect(await directory.find(accountId)).toBeNull();
  expect((await logs.list(whole(accountId), {})).logs).toEqual([]);
});
