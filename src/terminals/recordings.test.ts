import { access, mkdir } from "node:fs/promises";
import { join } from "node:path";
import headlessModule from "@xterm/headless";
import { expect, test } from "vitest";
import { openSqliteTestStore, type TestStore } from "../../test/support/database.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { ended, makeHostFixture, scriptSpec, waitUntil } from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { silentLog } from "../core/log.ts";
import { sessionError } from "../sessions/errors.ts";
import { launchDirOf } from "../sessions/launch.ts";
import type { LocatedSession, SessionLocator } from "../sessions/locate.ts";
import { createPromptQueue } from "../sessions/prompt-queue.ts";
import { createSessionStore, type SessionStore } from "../sessions/session-store.ts";
import type { ConnectedTerminalHost } from "../terminal-host/client.ts";
import { createRecordings, type Recordings } from "./recordings.ts";

const record = sessionRecord({ sessionId: "first" });

interface World {
  readonly db: TestStore["db"];
  readonly host: ConnectedTerminalHost;
  readonly store: SessionStore;
  readonly recordings: Recordings;
  readonly home: string;
  readonly forgotten: string[];
  readonly alive: Set<string>;
  /** Runs a program as one launch of the session; `during` is called while it runs. */
  launch(script: string, during?: (terminalId: string) => Promise<void>): Promise<string>;
}

// On a busy machine.
const patienceMs = 15_000;

const caller = { accountId: "owner", scopes: new Set(["coding:read"] as const), folders: null };

async function openWorld(): Promise<World> {
  const { db } = await openSqliteTestStore();
  const store = createSessionStore(db, { nodeId: "local" });
  const host = await (await makeHostFixture()).connect();
  const home = await makeTempFolder();
  const forgotten: string[] = [];
  const alive = new Set<string>();
  await store.insert(record);
  // Sessions of the store, visible to everyone: the folder rule belongs to the locator, and is tested there.
  async function locate(sessionId: string): Promise<LocatedSession> {
    const found = await store.find(sessionId);
    if (found === null) throw sessionError("session_not_found", "There is none.");
    const live: Partial<LocatedSession> = alive.has(sessionId) ? { live: Object.create(null) } : { live: null };
    const template = { transcriptFormat: "codex" };
    return Object.assign(Object.create(null), { record: found, stored: true, template, ...live });
  }
  const locator: Pick<SessionLocator, "locate" | "withSession"> = {
    locate,
    withSession: async (sessionId, _caller, task) => task(await locate(sessionId)),
  };
  const publisher = {
    publish: ({ memos }: { memos: ReadonlyMap<string, string | null> }) => void forgotten.push(...memos.keys()),
    flush: async () => void forgotten.push("written"),
  };
  const catalog = {
    async forget({ agent, sessionId }: { readonly agent: string; readonly sessionId: string }) {
      forgotten.push(`${agent} ${sessionId} ${(await store.find(sessionId))?.title ?? "without a title"}`);
      return { finished: Promise.resolve("done" as const) };
    },
  };
  const erasure = {
    async finish() {
      forgotten.push("erased");
      return alive.has("reader") ? ("pending" as const) : ("done" as const);
    },
  };
  const queue = createPromptQueue(db, systemClock);
  const recordings = createRecordings({
    db,
    host,
    locator,
    store,
    queue,
    publisher,
    catalog,
    async forgetShares() {},
    async forgetLooks() {},
    attachments: { forget: async () => 0 },
    notes: { forget: async () => undefined },
    async forgetInChats(names) {
      forgotten.push(`chats ${names.join(" ")}`);
      return 2;
    },
    erasure,
    clock: systemClock,
    home,
    log: silentLog,
  });
  return {
    db,
    host,
    store,
    recordings,
    home,
    forgotten,
    alive,
    async launch(script, during) {
      const spec = scriptSpec(script, { cols: 40, rows: 10 });
      const { terminalId } = spec;
      await store.update("first", { terminalId, updatedAt: Date.now() });
      await host.spawn(spec);
      await during?.(terminalId);
      await ended(host, terminalId);
      await host.release(terminalId);
      await store.update("first", { terminalId: null, updatedAt: Date.now() });
      return terminalId;
    },
  };
}

type CastEvent = readonly [number, "o" | "r", string];

async function play(recordings: Recordings, from?: string | number, sessionId = "first") {
  let text = "";
  for await (const page of await recordings.play(sessionId, { from, signal: new AbortController().signal }, caller))
    text += page;
  const [head, ...events] = text.trimEnd().split("\n");
  const parsed: CastEvent[] = events.map((line) => JSON.parse(line));
  return {
    head: JSON.parse(head ?? ""),
    events: parsed,
    output: parsed.map(([, code, data]) => (code === "o" ? data : "")).join(""),
  };
}

/** The last screen of a player. */
async function lastScreen({ head, events }: Awaited<ReturnType<typeof play>>): Promise<string> {
  const terminal = new headlessModule.Terminal({ cols: head.width, rows: head.height, allowProposedApi: true });
  for (const [, code, data] of events) {
    if (code === "o") await new Promise<void>((done) => terminal.write(data, done));
    else terminal.resize(Number(data.split("x")[0]), Number(data.split("x")[1]));
  }
  const { active } = terminal.buffer;
  const rows = Array.from({ length: terminal.rows }, (_, row) =>
    active.getLine(active.baseY + row)?.translateToString(true),
  );
  return `${rows.join("\n")}|${active.cursorX},${active.cursorY}|${active.type}`;
}

/** Writes pieces that split characters and sequences, a few milliseconds apart. Raw mode, because the answer to its query must not be echoed. */
const pieces = `
process.stdin.setRawMode(true);
const all = Buffer.from(${JSON.stringify(
  `\x1b]52;c;RVZJTA==\x07Grüße 漢字 😀 \x1b[31mred\x1b[0m\r\n\x1b]0;title\x07\x1b[6n\x1b[5;3Hhere 🎉\x1b[?1049h\x1b[2J\x1b[Hother\x1b[3;3H\x1b[1mbold\x1b[m`,
)});
let at = 0;
const next = () => { if (at >= all.length) return; process.stdout.write(all.subarray(at, at + 3)); at += 3; setTimeout(next, 4); };
next();`;

test("a recording is valid text however it was split, with each size at its place, and nothing that acts outside the terminal", async () => {
  const { recordings, launch, host } = await openWorld();
  const untilReturn = `process.stdin.on("data", (data) => { if (data.includes(10)) process.exit(0); });`;
  const terminalId = await launch(`${pieces}${untilReturn}`, async (id) => {
    await waitUntil(async () => (await host.snapshot(id)).lines.join("").includes("bold"), patienceMs);
    await host.resize(id, { cols: 50, rows: 12 });
    await host.write(id, "\n");
  });
  const cast = await play(recordings);
  expect(cast.head).toMatchObject({ version: 2, width: 40, height: 10 });
  expect(cast.output).toContain("Grüße 漢字 😀");
  expect(cast.output).toContain("here 🎉");
  expect(cast.output).not.toMatch(/\ufffd|\]52|\[6n/);
  expect(cast.events.filter(([, code]) => code === "r").at(-1)?.[2]).toBe("50x12");
  const times = cast.events.map(([at]) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times[0]).toBeLessThan(5);
  const { terminals } = await recordings.info("first", caller);
  expect(terminals).toMatchObject([{ terminalId, live: false }]);
  expect(terminals[0]?.sizeBytes).toBeGreaterThan(50);
});

test("from any moment it starts with the screen of that moment, and ends like the whole recording", async () => {
  const { recordings, launch } = await openWorld();
  await launch(pieces);
  const whole = await play(recordings);
  const wanted = await lastScreen(whole);
  const lengthS = whole.events.at(-1)?.[0] ?? 0;
  expect(wanted).toContain("bold");
  const startMs = Date.parse((await recordings.info("first", caller)).terminals[0]?.beginsAt ?? "");
  for (const share of [0, 0.1, 0.2, 0.35, 0.5, 0.62, 0.71, 0.83, 0.97, 1, 2]) {
    const fromS = Math.round(lengthS * share * 1_000) / 1_000;
    const cast = await play(recordings, fromS);
    expect(await lastScreen(cast), `from ${fromS} of ${lengthS}`).toBe(wanted);
    expect(cast.output, `from ${fromS}`).not.toMatch(/\ufffd|\]52/);
    if (share > 0 && share <= 1) expect(cast.events[0]?.[0]).toBeGreaterThanOrEqual(fromS);
  }
  const at = new Date(startMs + lengthS * 500).toISOString();
  expect(await lastScreen(await play(recordings, at))).toBe(wanted);
});

test("terminals follow each other, each on an empty screen, and each session has its own part of a shared terminal", async () => {
  const { recordings, launch, store, host } = await openWorld();
  await launch(`console.log("launch one")`);
  let second = "";
  await launch(
    `console.log("launch two"); process.stdin.on("data", (d) => { console.log("after " + d); if (String(d).includes("end")) process.exit(); })`,
    async (id) => {
      second = id;
      const says = (text: string) =>
        waitUntil(async () => (await host.snapshot(id)).lines.join("").includes(text), patienceMs);
      await says("launch two");
      await store.succeed(
        "first",
        { ...record, sessionId: "next", terminalId: id, updatedAt: Date.now() + 1 },
        async () => undefined,
      );
      await new Promise((later) => setTimeout(later, 20));
      await host.write(id, "next\n");
      await says("after next");
      expect((await recordings.info("next", caller)).terminals).toMatchObject([{ terminalId: id, live: true }]);
      expect((await recordings.info("first", caller)).terminals).toMatchObject([
        { live: false },
        { terminalId: id, live: false },
      ]);
      await host.write(id, "end\n");
    },
  );
  const first = await play(recordings);
  expect(first.output).toMatch(/launch one[^]*\x1bc[^]*launch two/);
  expect(first.output).not.toContain("after");
  expect(await lastScreen(first)).not.toContain("launch one");
  const next = await play(recordings, undefined, "next");
  expect(await lastScreen(next)).toMatch(/^launch two\n[^]*after next[^]*after end/);
  expect(second).not.toBe("");
});

test("forgetting removes recordings, inbox and memo, but not of a live terminal or one that another session used later", async () => {
  const { db, recordings, launch, store, home, forgotten, alive, host } = await openWorld();
  const launchId = newUuid();
  await mkdir(launchDirOf(home, launchId), { recursive: true });
  await store.update("first", { launchId, lastScreen: "secret", title: "secret", transcriptPath: "/code/t.jsonl" });
  const waiting = { promptId: "p", sessionId: "first", prompt: "secret", state: "queued", started: "new" } as const;
  await createPromptQueue(db, systemClock).add({ ...waiting, idempotency: null, undriven: false });
  const one = await launch(`console.log("one")`);
  const two = await launch(`console.log("two")`, (id) =>
    store.succeed(
      "first",
      { ...record, sessionId: "next", terminalId: id, updatedAt: Date.now() },
      async () => undefined,
    ),
  );
  alive.add("first");
  await expect(recordings.forget("first", caller)).rejects.toMatchObject({ code: "session_busy" });
  alive.clear();
  const gone = await recordings.forget("first", caller);
  expect(gone).toMatchObject({ sessionId: "first", recordings: 1, hookInboxes: 1, kept: 1, pending: false });
  expect(gone).toMatchObject({ transcript: "/code/t.jsonl", message: expect.stringContaining("/code/t.jsonl") });
  expect(gone).toMatchObject({
    chatMessages: 2,
    attachments: 0,
    message: expect.stringContaining("2 waiting chat messages will not be sent"),
  });
  expect(gone.recordingBytes).toBeGreaterThan(3);
  expect(await host.recording(one)).toBeNull();
  expect(await host.recording(two)).not.toBeNull();
  await expect(access(join(home, "sessions", launchId))).rejects.toThrow("ENOENT");
  expect(await store.find("first")).toMatchObject({ launchId: null, lastScreen: null, title: null });
  expect(await db.selectFrom("queued_prompts").select(["prompt", "state"]).execute()).toEqual([
    { prompt: "", state: "lost" },
  ]);
  // Checked while everything exists, because erased data must have been written before.
  expect(forgotten).toEqual(["codex first secret", "chats first", "first", "written", "erased"]);
  expect(await recordings.info("first", caller)).toEqual({ terminals: [] });
  await expect(
    recordings.play("first", { from: undefined, signal: new AbortController().signal }, caller),
  ).rejects.toMatchObject({
    code: "recording_not_found",
  });
  alive.add("reader");
  const next = await recordings.forget("next", caller);
  expect(next).toMatchObject({
    recordings: 1,
    kept: 0,
    pending: true,
    message: expect.stringContaining("in the background"),
  });
  expect(await host.recording(two)).toBeNull();
});
