import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makeHostFixture } from "../../test/support/terminal-host.ts";
import { silentLog } from "../core/log.ts";
import { processRow } from "../platform/process-table.ts";
import { sendSignal } from "../platform/processes.ts";
import type { Scope } from "../wire/access.ts";
import type { Caller } from "../wire/caller.ts";
import { createCustomTemplate, customAgentSchema } from "./custom/custom.ts";
import type { SetupJobOrigin, SetupJobRecord } from "./ports.ts";
import { createAgentSetupJobs } from "./setup-jobs.ts";
import type { AgentTemplate } from "./template.ts";

const patience = { timeout: 15_000, interval: 20 };
const minuteMs = 60_000;
const callerWith = (...scopes: readonly Scope[]): Caller => ({
  accountId: "owner",
  scopes: new Set(scopes),
  folders: null,
});
const admin = callerWith("admin");
const by: SetupJobOrigin = { accountId: "owner", from: { address: "127.0.0.1", userAgent: "A browser" } };
const another: SetupJobOrigin = { accountId: "anna", from: { address: "::1", userAgent: null } };

/** Logins of an agent that is this Node, in a real terminal host, with the test's clock. */
async function setUp(
  script = "console.log('Go to https://login.invalid'); process.stdin.once('data', () => process.exit(3));",
  begins: Promise<void> = Promise.resolve(),
) {
  const fixture = await makeHostFixture();
  const host = await fixture.connect();
  const clock = createFakeClock();
  const changed: string[] = [];
  const notes: SetupJobRecord[] = [];
  const templates = new Map(
    [
      { name: "agent", loginArgs: ["-e", script] },
      { name: "other", loginArgs: ["-e", script] },
      { name: "third", loginArgs: [] },
      { name: "keyed", loginArgs: [] },
    ].map((each): [string, AgentTemplate] => [
      each.name,
      {
        ...createCustomTemplate(
          customAgentSchema.parse({ ...each, binary: "/x", startArgs: [], keyVariables: ["AGENT_KEY"] }),
        ),
        releases:
          each.name === "keyed"
            ? null
            : { npmPackage: `@agents/${each.name}`, minimum: "1.0.0", newestTested: "1.0.0", updateCommand: "true" },
      },
    ]),
  );
  const template = (name: string): AgentTemplate => {
    const found = templates.get(name === "alias" ? "agent" : name);
    if (found === undefined) throw new Error(`no ${name}`);
    return found;
  };
  const bin = await makeTempFolder();
  const logins = createAgentSetupJobs({
    host: {
      ...host,
      async spawn(spec) {
        await begins;
        return host.spawn(spec);
      },
    },
    clock,
    log: silentLog,
    note: async (told) => void notes.push(told),
    agents: {
      template,
      async resolve(name) {
        return { template: template(name), binary: name === "gone" ? join("/", "missing") : process.execPath };
      },
      environmentOf: () => ({ PATH: bin, TERM: "xterm-256color", HOME: "/", AGENT_KEY: "sk-key" }),
      loginChanged: (name) => void changed.push(name),
    },
  });
  const terminalOf = (loginId: string): string => {
    const found = logins.find(loginId, admin);
    if (found === null) throw new Error("Unknown login.");
    return found.terminalId;
  };
  const lives = async (terminalId: string): Promise<boolean> =>
    (await host.list()).some((info) => info.terminalId === terminalId && info.exit === null);
  /** The host's files of live and ended terminals. */
  const folders = (): readonly string[] => readdirSync(join(fixture.stateDir, "terminals"));
  const screen = async (setupJobId: string): Promise<string> =>
    (await host.snapshot(terminalOf(setupJobId))).lines.join("\n");
  return { host, clock, changed, notes, logins, terminalOf, lives, folders, screen, bin };
}

test("a login runs in a terminal; a second call returns the same one, another agent has its own", async () => {
  const { host, logins, terminalOf, changed, clock } = await setUp();
  const [first, second] = await Promise.all([logins.logIn("agent", { by }), logins.logIn("agent", { by })]);
  expect(first.sessionId).toMatch(/^login-[0-9a-f-]{36}$/);
  expect([first.began, second.began]).toEqual([true, false]);
  expect(second.sessionId).toBe(first.sessionId);
  expect((await logins.logIn("other", { by })).sessionId).not.toBe(first.sessionId);
  const terminalId = terminalOf(first.sessionId);
  expect(logins.owns(terminalId)).toBe(true);
  const screen = async (): Promise<string> => (await host.snapshot(terminalId)).lines.join("\n");
  await expect.poll(screen, patience).toContain("https://login.invalid");
  expect(changed).toEqual([]);

  await host.write(terminalId, "code\r");
  await expect.poll(() => changed, patience).toEqual(["agent"]);
  // Its last screen remains available for a moment, and the next login is a new job.
  expect(terminalOf(first.sessionId)).toBe(terminalId);
  expect((await logins.logIn("agent", { by })).sessionId).not.toBe(first.sessionId);
  await clock.advance(minuteMs);
  expect(logins.find(first.sessionId, admin)).toBeNull();
  await expect
    .poll(async () => (await host.list()).some((info) => info.terminalId === terminalId), patience)
    .toBe(false);
});

test("only a caller with admin finds it", async () => {
  const { logins } = await setUp();
  const { sessionId } = await logins.logIn("agent", { by });
  expect(logins.find(sessionId, callerWith("coding:read", "coding:write", "coding:drive"))).toBeNull();
  expect(logins.find("login-none", admin)).toBeNull();
});

test("it ends after two minutes without a viewer, and after ten in any case", async () => {
  const { logins, clock, lives, terminalOf } = await setUp();
  const alone = terminalOf((await logins.logIn("other", { by })).sessionId);
  const { sessionId } = await logins.logIn("agent", { by });
  const watched = terminalOf(sessionId);
  const stop = logins.find(sessionId, admin)?.watch();
  const stopAnother = logins.find(sessionId, admin)?.watch();
  await clock.advance(2 * minuteMs);
  await expect.poll(() => lives(alone), patience).toBe(false);
  stop?.();
  stop?.(); // has no effect a second time
  await clock.advance(3 * minuteMs);
  expect(await lives(watched)).toBe(true);
  stopAnother?.();
  await clock.advance(minuteMs);
  logins.find(sessionId, admin)?.watch(); // a reloaded page
  await clock.advance(2 * minuteMs);
  expect(await lives(watched)).toBe(true);
  await clock.advance(2 * minuteMs);
  await expect.poll(() => lives(watched), patience).toBe(false);
});

test("an agent without a login is refused, and running jobs end with the gateway", async () => {
  const { logins, lives, terminalOf } = await setUp();
  expect(await errorCode(logins.logIn("keyed", { by }))).toBe("invalid_request");
  const terminalId = terminalOf((await logins.logIn("agent", { by })).sessionId);
  await logins.close();
  expect(await lives(terminalId)).toBe(false);
  expect(logins.owns(terminalId)).toBe(false);
});

test("its output is not kept, whether it ended before the gateway or with it", async () => {
  const { host, logins, terminalOf, changed, folders } = await setUp();
  const ended = terminalOf((await logins.logIn("agent", { by })).sessionId);
  const running = terminalOf((await logins.logIn("other", { by })).sessionId);
  for (const terminalId of [ended, running]) {
    const screen = async (): Promise<string> => (await host.snapshot(terminalId)).lines.join("\n");
    await expect.poll(screen, patience).toContain("https://login.invalid");
  }
  await host.write(ended, "code\r");
  await expect.poll(() => changed, patience).toEqual(["agent"]);
  expect(folders().toSorted()).toEqual([ended, running].toSorted());
  await logins.close();
  expect(folders()).toEqual([]);
  expect(await host.recording(ended)).toBeNull();
});

test("its output is not kept when its host is lost", async () => {
  const { host, logins, terminalOf, folders } = await setUp();
  const terminalId = terminalOf((await logins.logIn("agent", { by })).sessionId);
  const screen = async (): Promise<string> => (await host.snapshot(terminalId)).lines.join("\n");
  await expect.poll(screen, patience).toContain("https://login.invalid");
  const { pid } = host.host() ?? { pid: 0 };
  sendSignal(pid, "SIGKILL");
  await expect.poll(() => logins.owns(terminalId), patience).toBe(false);
  expect(await host.list()).toEqual([]);
  expect(folders()).toEqual([]);
});

test("a program that exits immediately is an ended login", async () => {
  const { logins, changed } = await setUp("process.exit(1)");
  await logins.logIn("agent", { by });
  await expect.poll(() => changed, patience).toEqual(["agent"]);
});

/** An npm that runs the given script. */
async function plantNpm(bin: string, script: string): Promise<void> {
  await writeFile(join(bin, "npm"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

test("an installation runs npm without keys, one at a time, and reports how it ended", async () => {
  const { logins, bin, screen, clock, lives, terminalOf } = await setUp();
  expect(await errorCode(logins.install("keyed", { by }))).toBe("invalid_request");
  expect(await errorCode(logins.install("agent", { by }))).toBe("agent_binary_missing");
  await plantNpm(bin, `echo "npm $* key:$AGENT_KEY"; read line; exit 7`);
  const [{ sessionId }, again] = await Promise.all([logins.install("agent", { by }), logins.install("agent", { by })]);
  expect(again.sessionId).toBe(sessionId);
  expect(logins.ofAgent("agent")).toEqual([{ kind: "install", sessionId, state: "running", exitCode: null, ahead: 0 }]);
  expect(logins.ofAgent("other")).toEqual([]);
  expect(logins.find(sessionId, callerWith("coding:drive", "coding:read"))).toBeNull();
  await expect.poll(() => screen(sessionId), patience).toMatch(/^npm install --global @agents\/agent key:\s*$/m);
  // It needs no viewer.
  await clock.advance(9 * minuteMs);
  expect(await lives(terminalOf(sessionId))).toBe(true);
  const log = await logins.logIn("agent", { by });
  expect(logins.ofAgent("agent").map(({ kind }) => kind)).toEqual(["install", "login"]);
  await logins.cancel("agent", "login", { by });
  expect(logins.find(log.sessionId, admin)).toBeNull();
  await clock.advance(2 * minuteMs);
  await expect.poll(() => logins.ofAgent("agent")[0]?.state, patience).toBe("ended");
});

test("a cancelled job ends with its processes and leaves nothing; the next one starts from scratch", async () => {
  const { logins, bin, screen, terminalOf, lives, folders } = await setUp();
  await plantNpm(bin, "trap '' HUP; /bin/sleep 600 & echo child:$!; wait");
  const { sessionId } = await logins.install("agent", { by });
  await expect.poll(() => screen(sessionId), patience).toMatch(/child:\d+/);
  const child = Number(/child:(\d+)/.exec(await screen(sessionId))?.[1]);
  const terminalId = terminalOf(sessionId);
  await logins.cancel("agent", "install", { by });
  expect(await lives(terminalId)).toBe(false);
  expect(processRow(child)?.zombie ?? true).toBe(true);
  expect(logins.ofAgent("agent")).toEqual([]);
  expect(folders()).toEqual([]);
  await logins.cancel("agent", "install", { by }); // the second one has no effect
  await plantNpm(bin, "exit 0");
  const next = await logins.install("agent", { by });
  expect(next.sessionId).not.toBe(sessionId);
  await expect
    .poll(() => logins.ofAgent("agent"), patience)
    .toEqual([{ kind: "install", sessionId: next.sessionId, state: "ended", exitCode: 0, ahead: 0 }]);
});

test("a job requested while another is being cancelled starts after that one's end", async () => {
  const { logins, bin, screen, terminalOf, lives } = await setUp();
  await plantNpm(bin, "trap '/bin/sleep 0.3; exit 1' HUP TERM; echo begun; while :; do /bin/sleep 0.05; done");
  const first = await logins.install("agent", { by });
  await expect.poll(() => screen(first.sessionId), patience).toContain("begun");
  const terminalId = terminalOf(first.sessionId);
  const cancelled = logins.cancel("agent", "install", { by });
  const next = await logins.install("agent", { by });
  expect(next.sessionId).not.toBe(first.sessionId);
  expect(await lives(terminalId)).toBe(false);
  await cancelled;
  expect(logins.ofAgent("agent").map(({ sessionId }) => sessionId)).toEqual([next.sessionId]);
  await logins.cancel("agent", "install", { by });
});

test("a job cancelled before its terminal exists leaves no terminal", async () => {
  const begins = Promise.withResolvers<void>();
  const { logins, host, folders, notes } = await setUp(undefined, begins.promise);
  const asked = logins.logIn("agent", { by });
  await expect.poll(() => logins.ofAgent("agent"), patience).toHaveLength(1);
  await logins.cancel("agent", "login", { by });
  begins.resolve();
  await asked;
  const actions = notes.map(({ action }) => action);
  expect(actions, "the beginning is noted first").toEqual(["agent_login_started", "agent_login_cancelled"]);
  expect(await host.list()).toEqual([]);
  expect(folders()).toEqual([]);
});

test("a login method that the agent does not have is refused", async () => {
  const { logins } = await setUp();
  expect(await errorCode(logins.logIn("agent", { method: "code", by }))).toBe("invalid_request");
});

test("the start, cancellation and end of a job are audited once, with the agent's name and the caller", async () => {
  const { logins, bin, notes, host, terminalOf } = await setUp();
  await plantNpm(bin, "exit 0");
  await Promise.all([logins.logIn("alias", { by }), logins.logIn("agent", { by: another })]);
  await logins.logIn("agent", { by: another });
  const login = { subject: "agent", details: {} };
  expect(notes).toEqual([{ ...by, ...login, action: "agent_login_started" }]);
  await logins.cancel("alias", "login", { by: another });
  await logins.cancel("alias", "login", { by: another }); // nothing is running
  expect(notes.slice(1)).toEqual([{ ...another, ...login, action: "agent_login_cancelled" }]);
  await logins.install("agent", { by });
  await expect.poll(() => notes.length, patience).toBe(4);
  expect(notes.slice(2)).toEqual([
    { ...by, ...login, action: "agent_install_started" },
    { ...by, subject: "agent", details: { exitCode: 0 }, action: "agent_install_ended" },
  ]);
  await logins.cancel("agent", "install", { by }); // this only closes its terminal, which is not audited
  const { sessionId } = await logins.logIn("agent", { by });
  await host.write(terminalOf(sessionId), "code\r");
  await expect
    .poll(() => notes.at(-1), patience)
    .toEqual({
      ...by,
      subject: "agent",
      details: { exitCode: 3 },
      action: "agent_login_ended",
    });
  expect(notes).toHaveLength(6);
});

test("leaving a page ends its login soon, unless it is watched elsewhere; cancelling ends it immediately", async () => {
  const { logins, clock, lives, terminalOf, notes } = await setUp();
  const { sessionId } = await logins.logIn("agent", { by });
  const terminalId = terminalOf(sessionId);
  const here = logins.find(sessionId, admin)?.watch();
  let elsewhere = logins.find(sessionId, admin)?.watch();
  const leave = () => logins.cancel("agent", "login", { by, unlessWatched: true });
  await leave();
  here?.();
  await clock.advance(minuteMs);
  expect(await lives(terminalId)).toBe(true);

  // The other page reloads while this one is left again.
  await leave();
  await clock.advance(2_000);
  elsewhere?.();
  await clock.advance(1_500);
  elsewhere = logins.find(sessionId, admin)?.watch();
  await clock.advance(minuteMs);
  expect(await lives(terminalId)).toBe(true);

  await leave();
  elsewhere?.();
  await clock.advance(5_000);
  await expect.poll(() => lives(terminalId), patience).toBe(false);
  expect(notes.map(({ action }) => action)).toEqual(["agent_login_started", "agent_login_cancelled"]);

  const next = terminalOf((await logins.logIn("agent", { by })).sessionId);
  logins.find((await logins.logIn("agent", { by })).sessionId, admin)?.watch();
  await logins.cancel("agent", "login", { by });
  expect(await lives(next)).toBe(false);
});

test("installations are queued: one npm at a time, each with its position", async () => {
  const { logins, bin, host, terminalOf, screen, notes } = await setUp();
  await plantNpm(bin, 'echo "npm $*"; read line; exit 0');
  const first = await logins.install("agent", { by });
  const second = await logins.install("other", { by });
  const third = await logins.install("third", { by });
  expect(await logins.install("other", { by })).toEqual({ ...second, began: false });
  const told = (name: string) => logins.ofAgent(name).map(({ state, ahead }) => [state, ahead]);
  expect([told("agent"), told("other"), told("third")]).toEqual([[["running", 0]], [["waiting", 1]], [["waiting", 2]]]);
  expect(logins.find(second.sessionId, admin)).toBeNull();
  expect(await host.list()).toHaveLength(1);

  await logins.cancel("other", "install", { by });
  expect([told("other"), told("third")]).toEqual([[], [["waiting", 1]]]);
  await expect.poll(() => screen(first.sessionId), patience).toContain("npm install");
  await host.write(terminalOf(first.sessionId), "\r");
  await expect.poll(() => told("third"), patience).toEqual([["running", 0]]);
  await expect.poll(() => screen(third.sessionId), patience).toContain("npm install --global @agents/third");
  const again = await logins.install("other", { by });
  await logins.cancel("third", "install", { by });
  await expect.poll(() => screen(again.sessionId), patience).toContain("npm install --global @agents/other");
  expect(notes.filter(({ subject }) => subject === "other").map(({ action }) => action)).toEqual([
    "agent_install_started",
    "agent_install_cancelled",
    "agent_install_started",
  ]);
});

test("queued installations outlive the terminal host: the next one starts in the new host", async () => {
  const { logins, bin, host, screen, notes } = await setUp();
  await plantNpm(bin, 'echo "npm $*"; read line; exit 0');
  await logins.install("agent", { by });
  const second = await logins.install("other", { by });
  const third = await logins.install("third", { by });
  const { pid } = host.host() ?? { pid: 0 };
  sendSignal(pid, "SIGKILL");
  const told = (name: string) => logins.ofAgent(name).map(({ state, ahead }) => [state, ahead]);
  await expect.poll(() => told("agent"), patience).toEqual([]);
  expect([told("other"), told("third")]).toEqual([[["running", 0]], [["waiting", 1]]]);
  await expect.poll(() => screen(second.sessionId).catch(() => ""), patience).toContain("@agents/other");
  await logins.cancel("other", "install", { by });
  await expect.poll(() => screen(third.sessionId).catch(() => ""), patience).toContain("@agents/third");
  expect(notes.filter(({ action }) => action === "agent_install_ended").map(({ subject }) => subject)).toEqual([
    "agent",
  ]);
});

test("a login that was left and requested again in time keeps running", async () => {
  const { logins, clock, notes } = await setUp();
  const { sessionId } = await logins.logIn("agent", { by });
  await clock.advance(10_000);
  await logins.cancel("agent", "login", { by, unlessWatched: true });
  await clock.advance(2_500);
  expect(await logins.logIn("agent", { by: another })).toEqual({ sessionId, began: false });
  await clock.advance(1_000);
  logins.find(sessionId, admin)?.watch();
  await clock.advance(minuteMs);
  expect(notes.map(({ action }) => action)).toEqual(["agent_login_started"]);
});
