import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, realpathSync, renameSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { ended, makeHostFixture, specOf } from "../../test/support/terminal-host.ts";
import { openWorkingDir } from "./fork-pty.ts";

const spawns = 120;

/** Replaces `allowed` by a link to `other` and restores it, as fast as possible. */
const swapper = `
const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
const [allowed, other] = process.argv.slice(1);
process.stdout.write("begun");
const wait = new Int32Array(new SharedArrayBuffer(4));
for (;;) {
  renameSync(allowed, allowed + ".away");
  symlinkSync(other, allowed);
  Atomics.wait(wait, 0, 0, 1);
  unlinkSync(allowed);
  renameSync(allowed + ".away", allowed);
  Atomics.wait(wait, 0, 0, 1);
}`;

async function startSwapping(allowed: string, other: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["-e", swapper, allowed, other], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

/** The folder itself, and one below it, whose parent is swapped. */
test.each(["", "/deeper"])(
  "of %s, no program works in another directory while it is swapped for a link",
  async (below) => {
    const root = realpathSync(await makeTempFolder());
    const [allowed, other] = [join(root, "allowed"), join(root, "other")];
    for (const dir of [allowed, other]) mkdirSync(`${dir}/deeper`, { recursive: true });
    const { ino } = statSync(allowed + below);
    const client = await (await makeHostFixture()).connect();
    await startSwapping(allowed, other);
    const outcomes: (string | null)[] = [];
    for (let round = 0; round < spawns; round += 1) {
      const found = join(root, `found-${round}`);
      const spec = specOf(["/bin/sh", "-c", 'exec stat -L -c %i . >"$0"', found], { cwd: allowed + below });
      const refused = await errorCode(client.spawn(spec));
      if (refused === null) await ended(client, spec.terminalId);
      outcomes.push(refused ?? readFileSync(found, "utf8").trim());
    }
    const ran = outcomes.filter((outcome) => outcome !== "dir_changed" && outcome !== "spawn_failed");
    expect(new Set(ran)).toEqual(new Set([String(ino)]));
    expect(outcomes).toContain("dir_changed");
  },
  60_000,
);

test("a directory replaced by a symbolic link after it was opened stays the opened one, and is detected after the start", async () => {
  const root = realpathSync(await makeTempFolder());
  const allowed = join(root, "allowed");
  mkdirSync(allowed);
  const { ino } = statSync(allowed);
  const opened = openWorkingDir(allowed);
  opened.verify();
  renameSync(allowed, `${allowed}.away`);
  mkdirSync(join(root, "other"));
  symlinkSync(join(root, "other"), allowed);
  if (process.platform === "linux") expect(statSync(opened.path).ino).toBe(ino);
  expect(await errorCode(Promise.resolve().then(opened.verify))).toBe("dir_changed");
  opened.close();
});

test("a directory that was replaced by a symbolic link is refused with `dir_changed`, and nothing runs", async () => {
  const root = realpathSync(await makeTempFolder());
  const allowed = join(root, "allowed");
  mkdirSync(join(root, "other", "deeper"), { recursive: true });
  symlinkSync(join(root, "other"), allowed);
  const client = await (await makeHostFixture()).connect();
  for (const cwd of [allowed, join(allowed, "deeper"), `${root}/./other`]) {
    expect(await errorCode(client.spawn(specOf(["/usr/bin/touch", join(root, "ran")], { cwd })))).toBe("dir_changed");
  }
  expect(await client.list()).toEqual([]);
  expect(statSync(join(root, "ran"), { throwIfNoEntry: false })).toBeUndefined();
  rmSync(allowed);
  renameSync(join(root, "other"), allowed);
  expect(await errorCode(client.spawn(specOf(["/bin/true"], { cwd: allowed })))).toBeNull();
});
