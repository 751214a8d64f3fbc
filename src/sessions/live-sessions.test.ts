import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { openSqliteTestStore } from "../../test/support/database.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { makeHostFixture, specOf } from "../../test/support/terminal-host.ts";
import { setUpTold } from "../../test/support/told-session.ts";
import { createCustomTemplate, customAgentSchema } from "../agents/custom/custom.ts";
import type { AgentTemplate } from "../agents/template.ts";
import { transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { silentLog } from "../core/log.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import { createTranscripts } from "../transcripts/index.ts";
import { type LaunchOrder, launchDirOf } from "./launch.ts";
import { AgentEndedUnfollowed, createLiveSessions, type LiveSessionsDeps } from "./live-sessions.ts";
import { openPermissionHooks } from "./permission-hooks.ts";
import { createPromptQueue, type PromptQueue } from "./prompt-queue.ts";
import { createSessionStore } from "./session-store.ts";

/** Live sessions with real terminals and a real store; `change` replaces dependencies. */
async function setUp(
  change: Partial<LiveSessionsDeps> = {},
  queueOf = (queue: PromptQueue): PromptQueue => queue,
  hostOf = (host: TerminalHostClient): TerminalHostClient => host,
) {
  const home = await makeTempFolder();
  const host = await (await makeHostFixture()).connect();
  const { db } = await openSqliteTestStore();
  const [clock, log] = [systemClock, silentLog];
  const hooks = await openPermissionHooks({ socketPath: join(home, "hooks.sock"), clock, log });
  onTestFinished(() => hooks.close());
  const stored = createSessionStore(db, { nodeId: "local" });
  let readings = 0;
  const store = { ...stored, launchIds: () => ((readings += 1), stored.launchIds()) };
  const queue = queueOf(createPromptQueue(db, clock));
  const live = createLiveSessions({
    ...{ home, host: hostOf(host), hooks, clock, log, store, queue },
    transcripts: createTranscripts({ formats: transcriptFormats, clock, log }),
    events: setUpTold().events,
    permissionAnswerMs: 1_000,
    idleTimeoutMs: null,
    hookCommand: "true",
    maxSessions: 1,
    templateOf: () => null,
    environmentOf: () => ({}),
    isOthers: () => false,
    ...change,
  });
  onTestFinished(() => live.close());
  return { home, host, store, live, readingsOfAllLaunches: () => readings };
}

const agent = createCustomTemplate(
  customAgentSchema.parse({ name: "cat", binary: "/bin/cat", startArgs: [], resumeArgs: ["-"], readyPattern: "never" }),
);

function orderFor(home: string, kind: LaunchOrder["kind"], template = agent): LaunchOrder {
  return {
    ...{ kind, sessionId: "s1", template, binary: "/bin/cat", env: {}, dir: home, trustDir: true },
    ...{ prompt: null, model: null, systemPrompt: null, permissionMode: "ask", size: { cols: 80, rows: 24 } },
  };
}

/** An agent that is ready immediately, with an empty composer. */
const readyAgent: AgentTemplate = {
  ...agent,
  composerPainted: () => true,
  composer: { text: () => "", pastedWord: /never/, clearKeys: () => "", mayHoldEnter: false, getsPromptBack: false },
};

/** Starts an agent, and lets the store fail this many times before the agent is followed. */
async function launchWhileFailing(failures: number, template = agent) {
  let left = failures;
  const { home, host, store, live } = await setUp({ templateOf: () => template }, (queue) => ({
    ...queue,
    async open(sessionId) {
      left -= 1;
      if (left >= 0) throw new Error("the store is busy");
      return queue.open(sessionId);
    },
  }));
  const record = sessionRecord({ sessionId: "s1", agent: agent.name, dir: home });
  const launching = live.launch(orderFor(home, "start", template), async (names) => {
    const named = { ...record, ...names };
    await store.insert(named);
    return named;
  });
  return { host, live, launching };
}

test("an agent is followed even if the store failed as it started", async () => {
  const { live, launching } = await launchWhileFailing(2);
  const session = await launching;
  expect(await live.findAlive("s1")).toBe(session);
  await live.end(session);
  expect(session.exit).not.toBeNull();
});

test("a terminal that has just ended holds no draft", async () => {
  const { host, live, launching } = await launchWhileFailing(0, readyAgent);
  const session = await launching;
  await expect.poll(() => session.state.activity).toBe("idle");
  vi.spyOn(host, "look").mockRejectedValue(new PosternError("terminal_gone", "There is no live terminal."));
  expect(await session.draft()).toBe("");
  await live.end(session);
});

test("an agent that cannot be followed does not run on", async () => {
  const { host, live, launching } = await launchWhileFailing(100);
  await expect(launching).rejects.toBeInstanceOf(AgentEndedUnfollowed);
  expect([live.all(), await host.list()]).toEqual([[], []]);
});

test("a terminal without a session is ended, and another part's terminal is left alone", async () => {
  const [stray, others] = [specOf(["/bin/cat"]), specOf(["/bin/cat"])];
  const { host, live } = await setUp({ isOthers: (terminalId) => terminalId === others.terminalId });
  for (const spec of [stray, others]) await host.spawn(spec);
  await live.reconcile();
  expect(await host.list()).toMatchObject([{ terminalId: others.terminalId, exit: null }]);
});

test("a resume removes the folder of the launch before it, without reading the launches of all other sessions", async () => {
  const { home, store, live, readingsOfAllLaunches } = await setUp({ templateOf: () => agent });
  const record = sessionRecord({ sessionId: "s1", agent: agent.name, dir: home });
  await store.insert(record);
  const launches: string[] = [];
  for (const kind of ["start", "resume"] as const) {
    const session = await live.launch(orderFor(home, kind), async (names) => {
      launches.push(names.launchId);
      await store.update("s1", { ...names, updatedAt: 2 });
      return { ...record, ...names };
    });
    await live.end(session);
  }
  expect(launches.map((launchId) => existsSync(launchDirOf(home, launchId)))).toEqual([false, true]);
  expect(readingsOfAllLaunches()).toBe(0);
});

test("after the host was lost, what the next one runs is read again until that succeeds", async () => {
  const stray = specOf(["/bin/cat"]);
  let lose = (): void => undefined;
  let failures = 2;
  const { host, live } = await setUp({}, undefined, (real) => ({
    ...real,
    onExit(listener) {
      lose = () => listener(null);
      return () => undefined;
    },
    async list() {
      failures -= 1;
      if (failures >= 0) throw new Error("no host");
      return real.list();
    },
  }));
  await host.spawn(stray);
  lose();
  await expect.poll(() => host.list()).toEqual([]);
  expect(failures).toBeLessThan(0);
  expect(live.all()).toEqual([]);
});
