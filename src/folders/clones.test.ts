import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { describeOnBothStores, type OpenTestStore } from "../../test/support/database.ts";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { parseCloneAddress } from "./clone-address.ts";
import { createClones, createFolders } from "./index.ts";

const run = promisify(execFile);
const patience = { timeout: 60_000, interval: 20 };

async function setUp(openStore: OpenTestStore) {
  const root = await makeTempFolder();
  const at = (path: string): string => join(root, path);
  for (const dir of ["home/templates/hooks", "state", "code", "outside"]) await mkdir(at(dir), { recursive: true });
  // What the user's Git would run.
  const hook = `#!/bin/sh\ntouch ${at("hook-ran")}\n`;
  await writeFile(at("home/templates/hooks/post-checkout"), hook, { mode: 0o755 });
  const config = `[init]\n\ttemplateDir = ${at("home/templates")}\n[core]\n\thooksPath = ${at("home/templates/hooks")}\n`;
  await writeFile(at("home/.gitconfig"), config);
  const env = { PATH: process.env["PATH"] ?? "", HOME: at("home") };
  const plain = { env: { PATH: env.PATH, HOME: "/nonexistent", GIT_CONFIG_NOSYSTEM: "1" } };
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"];
  for (const place of ["code", "outside"]) {
    await run("git", ["init", "--quiet", "--initial-branch=main", at(`${place}/origin`)], plain);
    await writeFile(at(`${place}/origin/file`), "content\n");
    await run("git", ["-C", at(`${place}/origin`), "add", "."], plain);
    await run("git", ["-C", at(`${place}/origin`), ...identity, "commit", "--quiet", "-m", "Begin"], plain);
  }
  const { db } = await openStore();
  const folders = createFolders({ db, clock: systemClock, home: at("state") });
  await folders.add(at("code"), ["coding", "files"]);
  const clones = createClones({ folders, env, clock: systemClock, log: silentLog });
  onTestFinished(() => clones.close());
  const ended = async (cloneId: string) => {
    await expect.poll(() => clones.find(cloneId).state, patience).not.toBe("running");
    return clones.find(cloneId);
  };
  return { at, folders, clones, ended };
}

describeOnBothStores("a clone", (openStore) => {
  test("becomes a registered folder; no hook or template of the user's Git runs", async () => {
    const { at, folders, clones, ended } = await setUp(openStore);
    const begun = await clones.begin({ address: `file://${at("code/origin")}`, parent: at("code"), name: "copy" });
    expect(begun).toMatchObject({ state: "running", path: at("code/copy") });
    const scopes = ["files", "coding"];
    expect(await ended(begun.cloneId)).toMatchObject({
      state: "done",
      error: null,
      folder: { path: begun.path, scopes },
    });
    expect(await readFile(join(begun.path, "file"), "utf8")).toBe("content\n");
    expect((await folders.list()).map(({ path }) => path)).toEqual([at("code"), at("code/copy")]);
    expect(existsSync(at("hook-ran"))).toBe(false);
    expect(existsSync(join(begun.path, ".git/hooks"))).toBe(false);
    const again = clones.begin({ address: at("code/origin"), parent: at("code"), name: "copy" });
    expect(await errorCode(again)).toBe("clone_target_exists");
    expect(await readFile(join(begun.path, "file"), "utf8")).toBe("content\n");
  });

  test("is refused outside registered folders, and removes what it wrote when it fails", async () => {
    const { at, clones, ended } = await setUp(openStore);
    const into = (parent: string, address: string) =>
      errorCode(clones.begin({ address, parent: at(parent), name: "new" }));
    expect(await into("outside", at("code/origin"))).toBe("dir_not_allowed");
    expect(await into("code", at("outside/origin"))).toBe("dir_not_allowed");
    expect(await into("code", `file://${at("code/../outside/origin")}`)).toBe("dir_not_allowed");
    expect(await into("code/missing", at("code/origin"))).toBe("dir_not_found");
    const { cloneId, path } = await clones.begin({ address: at("code/nowhere"), parent: at("code"), name: "new" });
    expect(await ended(cloneId)).toMatchObject({
      state: "failed",
      error: expect.stringContaining("nowhere"),
      folder: null,
    });
    expect(existsSync(path)).toBe(false);
    expect(await errorCode(clones.cancel("00000000-0000-4000-8000-000000000000"))).toBe("clone_not_found");
  });

  test("sends credentials to its server only, and is cancelled with everything that it started", async () => {
    const { at, clones } = await setUp(openStore);
    const requests: IncomingMessage[] = [];
    const server = createServer((request) => void requests.push(request)); // never answers
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    onTestFinished(() => server.closeAllConnections());
    onTestFinished(() => void server.close());
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const begun = await clones.begin({ address: `http://me:s3cret-77@127.0.0.1:${port}/app.git`, parent: at("code") });
    expect(begun).toMatchObject({ address: `http://127.0.0.1:${port}/app.git`, path: at("code/app") });
    await expect.poll(() => requests.length, patience).toBe(1);
    const login = Buffer.from("me:s3cret-77").toString("base64");
    expect(requests[0]?.headers.authorization).toBe(`Basic ${login}`);
    const commands = async (): Promise<string> => (await run("ps", ["-A", "-ww", "-o", "args="])).stdout;
    const shown = await commands();
    expect(shown).toContain(begun.path);
    expect(shown + JSON.stringify(clones.list())).not.toMatch(/s3cret-77|bWU6czNjcmV0/);
    expect(await clones.cancel(begun.cloneId)).toMatchObject({ state: "cancelled", error: null });
    expect(existsSync(begun.path)).toBe(false);
    await expect.poll(commands, patience).not.toContain(begun.path);
  });
});

test.each([
  "ext::sh -c id",
  "ext::sh",
  "EXT::x",
  "fd::17/x",
  "-uhelper",
  "--upload-pack=id",
  "ssh://-oProxyCommand=id/x",
  "ssh://-oProxyCommand@host/x",
  "-oProxyCommand=id@host:x",
  "host:-x",
  "ssh://me:secret@host/x",
  "file://other/etc",
  "git://host/x",
  "ftp://host/x",
  "https://host",
  "relative/path",
  "../up",
  "https://host/a b",
  "https://host/\u0007",
])("%j is no address", (address) => {
  expect(() => parseCloneAddress(address)).toThrow(expect.objectContaining({ code: "invalid_request" }));
});

test.each([
  ["https://example.org/octo/app.git", "app", "https:http:ssh"],
  ["ssh://git@example.org:2222/octo/app", "app", "https:http:ssh"],
  ["git@example.org:octo/app.git", "app", "https:http:ssh"],
  ["/srv/git/app.git/", "app", "file"],
  ["file:///srv/git/app.git", "app", "file"],
  ["https://example.org/..", "", "https:http:ssh"],
] as const)("%s is named %j", (address, name, protocols) => {
  const parse = () => parseCloneAddress(address);
  if (name === "") expect(parse).toThrow();
  else expect(parse()).toMatchObject({ name, protocols, login: null });
});
