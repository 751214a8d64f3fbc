import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { TerminalHostClient } from "../../src/terminal-host/terminal-info.ts";
import type { ReadOutput } from "../../src/wire/coding.ts";
import { createWorld, type World } from "../support/gateway.ts";
import { prepareStore } from "../support/prepared-store.ts";
import { serveWorld } from "../support/serving-gateway.ts";
import { hostOf } from "../support/situations.ts";

/** What a session was doing when its gateway was killed, what a person did meanwhile, and what the next gateway has to say. */
interface Row {
  readonly title: string;
  readonly prompt: string;
  /** What the screen shows at the moment of the kill. */
  readonly at: RegExp;
  /** What a person presses while no gateway is running, and what the screen shows when that is done. */
  readonly meanwhile?: { readonly keys: string; readonly until: RegExp };
  readonly says: Partial<ReadOutput>;
}

const claudeRows: readonly Row[] = [
  { title: "works", prompt: "slow 60000\nlines 99", at: /Line 2 of 99/, says: { activity: "working" } },
  { title: "rests", prompt: "say done", at: /● done[\s\S]*manual mode on(?! · esc)/, says: { activity: "idle" } },
  { title: "asks", prompt: "write asks.txt with x", at: /Do you want/, says: { activity: "needs_permission" } },
  { title: "has a question", prompt: "ask Which way?", at: /Enter to select/, says: { activity: "needs_answer" } },
  {
    title: "was allowed what takes long",
    prompt: "run touch allowed.txt; sleep 60",
    at: /Do you want/,
    meanwhile: { keys: "\r", until: /^❯\s*$/m },
    says: { activity: "working", permissions: [] },
  },
  {
    title: "was refused",
    prompt: "write refused.txt with x",
    at: /Do you want/,
    meanwhile: { keys: "\u001b", until: /^❯\s*$/m },
    says: { activity: "idle", permissions: [] },
  },
];

const dialog = /Would you like to/;
const codexRows: readonly Row[] = [
  { title: "works", prompt: "slow 60000\nlines 99", at: /Line 2 of 99/, says: { activity: "working" } },
  { title: "rests", prompt: "say done", at: /Worked for/, says: { activity: "idle" } },
  { title: "asks", prompt: "escalate touch asks.txt", at: dialog, says: { activity: "needs_permission" } },
  {
    title: "was allowed what takes long",
    prompt: "escalate sleep 60",
    at: dialog,
    meanwhile: { keys: "\r", until: /You approved/ },
    says: { activity: "working", permissions: [] },
  },
  {
    title: "was refused",
    prompt: "escalate touch refused.txt",
    at: dialog,
    meanwhile: { keys: "\u001b", until: /interrupted/ },
    says: { activity: "idle", permissions: [] },
  },
];

let world: World;
let token: string;
let host: TerminalHostClient | undefined;
beforeEach(async () => {
  // Codex opens its own dialog only when the hook waits no longer.
  world = await createWorld({ agents: true, env: { POSTERN_PERMISSION_ANSWER_MS: "500" } });
  token = await prepareStore(world);
});
afterEach(async () => {
  await host?.close();
  await world.close();
});

test.each([
  { agent: "claude-code", rows: claudeRows },
  { agent: "codex", rows: codexRows },
])(
  "$agent: what sessions do is known when the gateway was killed and another one has begun",
  { timeout: 180_000 },
  async ({ agent, rows }) => {
    const first = await serveWorld(world, token);
    const terminals = await hostOf(world);
    host = terminals;
    const screens = async (terminalId: string): Promise<string> =>
      (await terminals.snapshot(terminalId)).lines.join("\n");
    const patience = { timeout: 40_000, interval: 100 };
    const asked = await Promise.all(
      rows.map(async (row) => ({
        row,
        ...(await first.api.ask({ agent, dir: world.repository, prompt: row.prompt })),
      })),
    );
    const known = await terminals.list();
    const sessions = asked.map(({ row, sessionId, pid }) => {
      return { row, sessionId, terminalId: known.find((one) => one.pid === pid)?.terminalId ?? "" };
    });
    for (const { row, terminalId } of sessions) await expect.poll(() => screens(terminalId), patience).toMatch(row.at);
    await first.server.end("SIGKILL");
    for (const { row, terminalId } of sessions) {
      if (row.meanwhile === undefined) continue;
      const { keys, until } = row.meanwhile;
      // Keys that come within a second after a dialog was painted are dropped by both agents.
      const press = async (): Promise<string> => {
        const screen = await screens(terminalId);
        if (!until.test(screen)) await terminals.write(terminalId, keys);
        return screens(terminalId);
      };
      await expect.poll(press, { ...patience, interval: 1_000 }).toMatch(until);
    }

    const second = await serveWorld(world, token);
    const read = async () =>
      Promise.all(
        sessions.map(async ({ row, sessionId }) => ({ title: row.title, read: await second.api.read(sessionId) })),
      );
    const expected = sessions.map(({ row }) => ({ title: row.title, read: row.says }));
    // What was answered while no gateway ran is read from transcripts and screens, a moment after the start.
    await expect.poll(read, { timeout: 4_000, interval: 200 }).toMatchObject(expected);
    await sleep(1_500);
    expect(await read()).toMatchObject(expected);
    await second.server.end("SIGTERM");
  },
);
