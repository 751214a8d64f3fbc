import { spawn } from "node:child_process";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { acquireProcessLock } from "./process-lock.ts";

const held = { code: "gateway_running" };

/** Another process that holds the lock until it is killed. */
async function holdElsewhere(path: string) {
  const program = `import { acquireProcessLock } from ${JSON.stringify(new URL("./process-lock.ts", import.meta.url))};
globalThis.lock = acquireProcessLock(${JSON.stringify(path)}); console.log("held"); setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

test("one process holds the lock, and the next one gets it when that was killed", async () => {
  const path = join(await makeTempFolder(), "run/gateway.lock");
  const child = await holdElsewhere(path);
  expect(() => acquireProcessLock(path)).toThrow(expect.objectContaining(held));
  child.kill("SIGKILL");
  await once(child, "exit");
  const lock = acquireProcessLock(path);
  expect(((await stat(path)).mode & 0o777).toString(8)).toBe("600");
  lock.close();
});

test("a lock counts within one process too, until it is closed", async () => {
  const path = join(await makeTempFolder(), "gateway.lock");
  const lock = acquireProcessLock(path);
  expect(() => acquireProcessLock(path)).toThrow(expect.objectContaining(held));
  lock.close();
  lock.close();
  acquireProcessLock(path).close();
});
