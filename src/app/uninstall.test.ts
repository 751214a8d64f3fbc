import { mkdir, readdir, rename, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { acquireProcessLock } from "../storage/process-lock.ts";
import { loadConfig } from "./config.ts";
import { findInstalledParts } from "./uninstall.ts";

async function makeState() {
  const root = await makeTempFolder();
  const home = join(root, "home");
  await mkdir(join(home, "backups"), { recursive: true, mode: 0o700 });
  await writeFile(join(home, "postern.db"), "");
  await writeFile(join(home, "backups", "postern.db.before-0012-worktree-names"), "");
  const state = async () => {
    const config = loadConfig({ POSTERN_HOME: home, HOME: root });
    const parts = await findInstalledParts(config, { service: null, program: import.meta.filename });
    return parts.find(({ name }) => name === "state") ?? null;
  };
  return { root, home, state };
}

test("the state folder is deleted with everything that Postern made", async () => {
  const { root, home, state } = await makeState();
  expect(await (await state())?.remove()).toBe(null);
  expect(await readdir(root)).toEqual([]);
  expect(await state()).toBe(null);
  await mkdir(home);
  expect(await state(), "an empty folder").toBe(null);
});

test("a backup in the state folder stays, and so does anything else that Postern did not make", async () => {
  const { home, state } = await makeState();
  await writeFile(join(home, "backups", "postern-2026.tar.gz"), "");
  await writeFile(join(home, "restored-notes"), "");
  expect(await (await state())?.remove()).toContain("has other files: ");
  expect(await readdir(home)).toEqual(["backups", "restored-notes"]);
  expect(await readdir(join(home, "backups"))).toEqual(["postern-2026.tar.gz"]);
});

test("nothing is deleted under a running gateway, as when a person keeps that", async () => {
  const { home, state } = await makeState();
  const part = await state();
  const lock = acquireProcessLock(join(home, "gateway.lock"));
  expect(await errorCode(Promise.resolve(part?.remove()))).toBe("gateway_running");
  expect(await readdir(home)).toContain("postern.db");
  lock.close();
  expect(await part?.remove()).toBe(null);
});

test("a folder in which no gateway ever ran is none of Postern's", async () => {
  const { home, state } = await makeState();
  await rename(join(home, "postern.db"), join(home, "notes.db"));
  expect(await state()).toBe(null);
});

test("a state folder behind a link is deleted, with the link", async () => {
  const { root, home, state } = await makeState();
  await rename(home, join(root, "disk"));
  await symlink(join(root, "disk"), home);
  expect(await (await state())?.remove()).toBe(null);
  expect(await readdir(root)).toEqual([]);
});

test("the service of another state folder stays", async () => {
  const { root, home } = await makeState();
  const path = join(root, "postern.service");
  const text = (folder: string) => `ExecStart="node" "--env-file-if-exists=${folder}/service.env" "postern.js" "serve"`;
  const never = () => Promise.reject(new Error("Nothing is removed here."));
  const service = { path, text: text(home), status: never, stop: never, uninstall: never };
  const names = async () => {
    const config = loadConfig({ POSTERN_HOME: home, HOME: root });
    return (await findInstalledParts(config, { service, program: import.meta.filename })).map(({ name }) => name);
  };
  await writeFile(path, text(home).replace("node", "another-node"));
  expect(await names()).toEqual(["service", "state"]);
  await writeFile(path, text(join(root, "main")));
  expect(await names()).toEqual(["state"]);
});
