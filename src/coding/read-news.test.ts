import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { sessionSummary } from "../../test/support/scripted-gateway.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import type { ReadInput, SessionSummary } from "../wire/coding.ts";
import { claudeCode } from "./agents/claude-code.ts";
import type { LocatedSession } from "./locate.ts";
import { untilNews } from "./read-news.ts";
import { createTranscripts, type Transcripts } from "./transcripts/index.ts";

/** A clock on which no poll ever comes: only what the kernel tells counts. */
const withoutPolls: Clock = {
  ...systemClock,
  after: (delayMs, callback) => (delayMs >= 500 ? () => undefined : systemClock.after(delayMs, callback)),
};

const sessionId = "7e331baa-5715-4a38-9016-9f9ed7b1c1ec";
const line = (value: object): string => `${JSON.stringify(value)}\n`;
const prompt = (words: string): string => line({ type: "user", message: { role: "user", content: words } });
const says = (words: string, stop: "tool_use" | "end_turn" = "tool_use"): string =>
  line({
    type: "assistant",
    message: { role: "assistant", content: [{ type: "text", text: words }], stop_reason: stop },
  });

let path: string;
let transcripts: Transcripts;
let summary: Partial<SessionSummary>;

beforeEach(async () => {
  path = join(await makeTempFolder(), "t.jsonl");
  transcripts = createTranscripts({ clock: withoutPolls, log: silentLog });
  summary = { status: "completed", activity: null };
  onTestFinished(() => transcripts.close());
  await writeFile(path, prompt("one") + says("first words"));
});

/** Whether news came, or the time was up (a second, unless the test gives less). */
async function news(
  input: Partial<ReadInput> = {},
  { timeoutMs = 10_000, clock = withoutPolls } = {},
): Promise<boolean> {
  const record: LocatedSession["record"] = {
    ...{ sessionId, aliases: [], agent: "claude-code", dir: "/work", title: null, model: null, permissionMode: "ask" },
    ...{ transcriptPath: path, launchId: null, terminalId: null, createdAt: 0, updatedAt: 0, closedAt: null },
    ...{ exitCode: null, signal: null, lastScreen: null, continuedBy: null },
  };
  const session: LocatedSession = { record, stored: true, template: claudeCode, env: {}, live: null };
  const transcriptOf = () => transcripts.summary(path, "claude");
  const locator = {
    locate: async () => session,
    transcriptOf,
    summaryOf: async () => sessionSummary({ ...summary, turnCount: (await transcriptOf())?.turnCount ?? 0 }),
  };
  const timeUp = AbortSignal.timeout(timeoutMs);
  const caller = { accountId: "a", scopes: new Set<never>(), folders: null };
  await untilNews(
    { locator, transcripts, clock },
    { input: { sessionId, ...input }, caller },
    { timeoutMs: 60_000, signal: timeUp },
  );
  return !timeUp.aborted;
}

test("growth of the last turn, a new turn and its end are each told by the file alone", async () => {
  for (const text of [says("more"), says("the end", "end_turn"), prompt("two"), says("first words")]) {
    const told = news();
    await sleep(50);
    await appendFile(path, text);
    expect(await told).toBe(true);
  }
});

test("the same words again are growth, though nothing else changed", async () => {
  const told = news();
  await sleep(50);
  await appendFile(path, says("first words"));
  expect(await told).toBe(true);
});

test("lines that are no part of a turn are no news", async () => {
  const told = news({}, { timeoutMs: 400 });
  await sleep(50);
  await appendFile(path, line({ type: "mode", mode: "normal", sessionId }));
  await appendFile(path, says("half a line").slice(0, -20));
  expect(await told).toBe(false);
});

test("a turn after the one that was asked for is there at once, an open one is waited for", async () => {
  expect(await news({ after: -1 })).toBe(true);
  expect(await news({ after: 0 }, { timeoutMs: 200 })).toBe(false);
  await appendFile(path, says("the end", "end_turn"));
  expect(await news({ after: 0 })).toBe(true);
});

test("what no file tells is seen at the next look", async () => {
  const told = news({}, { clock: systemClock });
  await sleep(50);
  summary = { status: "running", owner: "external" };
  expect(await told).toBe(true);
});
