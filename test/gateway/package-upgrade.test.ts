import { existsSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { packPostern } from "../../tools/pack.ts";
import { preparePackageInstall } from "../../tools/package-install.ts";
import { useBrowser } from "../support/browser.ts";
import { freePort } from "../support/free-port.ts";
import { createApiClient, createWorld } from "../support/gateway.ts";
import { installPackaged } from "../support/packaged-postern.ts";
import { expectOnTerminal, expectTurn, openSession } from "../support/session-page.ts";
import { makeTempFolder } from "../support/temp-folder.ts";

const browser = useBrowser();
const patience = { timeout: 60_000, interval: 200 };
const scopes = "coding:read,coding:write";

test("npm replaces the package and `postern service install` the gateway, in mid-turn: no agent ends, no turn is lost, the page is back", {
  timeout: 400_000,
}, async () => {
  const nodes = await preparePackageInstall(console.log);
  const { tarball, version, later } = await packPostern(console.log);
  const postern = await installPackaged(await makeTempFolder(), { tarball, node: nodes[24] });
  await symlink(resolve(import.meta.dirname, "../support/small-systemctl.mjs"), join(postern.path, "systemctl"));
  const port = await freePort();
  const world = await createWorld({ agents: false, config: { port }, env: { PATH: postern.path } });
  onTestFinished(async () => {
    await postern.run(["service", "uninstall"], world.env);
    await world.close();
  });
  const run = async (...argv: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await postern.run(argv, world.env);
    expect(stderr, `postern ${argv.join(" ")}`).not.toContain("postern: ");
    return stdout;
  };
  const status = async () => JSON.parse(await run("service", "status", "--json"));
  const hostFinding = async (): Promise<{ level: string; message: string }> =>
    JSON.parse(await run("doctor", "--json")).findings.find(
      ({ check }: { check: string }) => check === "terminal host",
    );

  await run("coding", "setup", "--yes", "--default", "codex");
  await run("service", "install");
  await expect.poll(status, patience).toMatchObject({ running: true, version, installedVersion: version });
  const token = (await run("token", "create", "--name", "test", "--scopes", scopes)).trim();
  const api = createApiClient(`http://127.0.0.1:${port}`, token);
  const { sessionId, pid } = await api.ask({
    agent: "codex",
    dir: world.repository,
    prompt: "say one",
    waitMs: 30_000,
  });
  const untilIdle = () =>
    expect.poll(async () => (await api.read(sessionId, { waitMs: 10_000 })).activity, patience).toBe("idle");
  await untilIdle();
  const visit = await browser.visit((await run("login-link")).trim());
  await openSession(visit.page, sessionId);
  await expectTurn(visit.page, "one");
  const [, hostPid] = /\(pid (\d+)\)/.exec((await hostFinding()).message) ?? [];

  await postern.install(later.tarball);
  expect(await run("--version")).toBe(`${later.version}\n`);
  expect(await status()).toMatchObject({ running: true, version, installedVersion: later.version });
  expect(await run("service", "status")).toContain(
    `Version ${later.version} is installed, but ${version} is running. To switch: postern service install (agents keep running).`,
  );

  const prompt = "slow 5000\nsay the whole long answer\nlines 30";
  await api.ask({ dir: world.repository, sessionId, prompt });
  const midTurn = { activity: "working", pid, turns: { length: 3 } };
  await expect.poll(() => api.read(sessionId), patience).toMatchObject(midTurn);
  expect(await run("service", "install")).toContain(`Replaced version ${version} with ${later.version}`);
  await expect.poll(status, patience).toMatchObject({ running: true, version: later.version });
  expect(existsSync(`/proc/${pid}`)).toBe(true);
  expect(await hostFinding()).toMatchObject({
    level: "ok",
    message: expect.stringMatching(
      `^Version ${version} \\(pid ${hostPid}\\) with 1 terminal\\. Version \\S+ replaces it`,
    ),
  });

  await untilIdle();
  const { turns } = await api.read(sessionId);
  expect(turns.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
  expect(turns[3]?.text).toContain("Line 30 of 30");
  await expectTurn(visit.page, "Line 30 of 30");
  await expectOnTerminal(visit.page, "Line 30 of 30");
  const next = await api.ask({ dir: world.repository, sessionId, prompt: "say three", waitMs: 30_000 });
  expect(next).toMatchObject({ started: "reconnect", pid });
  await expectOnTerminal(visit.page, "three");

  await run("coding", "close", sessionId);
  await expect.poll(async () => (await hostFinding()).message, patience).toContain(`Version ${later.version} `);
});
