import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { sessionSummary } from "../../test/support/scripted-gateway.ts";
import { sessionRecord } from "../../test/support/session-record.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { transcriptFormats } from "../agents/transcript-formats.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createTranscripts, type Transcripts } from "../transcripts/index.ts";
import type { ReadInput, SessionSummary } from "../wire/coding.ts";
import type { LocatedSession } from "./locate.ts";
import { untilNews } from "./read.ts";

/** A clock on which no poll ever happens, so that only the kernel's notifications count. */
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
  transcripts = createTranscripts({ formats: transcriptFormats, clock: withoutPolls, log: silentLog });
  summary = { status: "completed", activity: null };
  onTestFinished(() => transcripts.close());
  await writeFile(path, prompt("one") + says("first words"));
});

interface Wait {
  /** The end of the wait; ten seconds, unless the test sets less. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  /** Called when it has checked and is waiting; `looks` counts its checks. */
  readonly meanwhile?: (looks: () => number) => Promise<void>;
}

/** Whether something new arrived before the wait was over. */
async function news(input: Partial<ReadInput> = {}, wait: Wait = {}): Promise<boolean> {
  const { signal = AbortSignal.timeout(10_000), clock = withoutPolls, meanwhile } = wait;
  const record = sessionRecord({ sessionId, agent: "claude-code", transcriptPath: path });
  const session: LocatedSession = {
    record,
    stored: true,
    template: claudeCode,
    env: {},
    live: null,
    accountId: "owner",
  };
  const transcriptOf = () => transcripts.summary(path, "claude");
  let looks = 0;
  const locator = {
    locate: async () => session,
    transcriptOf,
    async summaryOf() {
      const turnCount = (await transcriptOf())?.turnCount ?? 0;
      looks += 1;
      return sessionSummary({ ...summary, turnCount });
    },
  };
  const waits = Promise.withResolvers<void>();
  const watched: Clock = {
    ...clock,
    after(delayMs, callback) {
      waits.resolve();
      return clock.after(delayMs, callback);
    },
  };
  const caller = { accountId: "a", scopes: new Set<never>(), folders: null };
  const happened = meanwhile === undefined ? undefined : waits.promise.then(() => meanwhile(() => looks));
  await untilNews(
    { locator, transcripts, clock: watched },
    { input: { sessionId, ...input }, caller },
    { timeoutMs: 60_000, signal },
  );
  await happened;
  return !signal.aborted;
}

test("growth of the last turn, a new turn and its end are each seen in the file alone", async () => {
  for (const text of [says("more"), says("the end", "end_turn"), prompt("two"), says("first words")]) {
    expect(await news({}, { meanwhile: () => appendFile(path, text) })).toBe(true);
  }
});

test("the same words again are growth, though nothing else changed", async () => {
  expect(await news({}, { meanwhile: () => appendFile(path, says("first words")) })).toBe(true);
});

test("lines that are no part of a turn are looked at, and are no news", async () => {
  const enough = new AbortController();
  async function meanwhile(looks: () => number): Promise<void> {
    for (const text of [line({ type: "mode", mode: "normal", sessionId }), says("half a line").slice(0, -20)]) {
      const before = looks();
      await appendFile(path, text);
      await vi.waitFor(() => expect(looks()).toBeGreaterThan(before), { timeout: 8_000 });
    }
    enough.abort();
  }
  expect(await news({}, { signal: enough.signal, meanwhile })).toBe(false);
});

test("a turn after the one that was asked for is there at once, an open one is waited for", async () => {
  expect(await news({ after: -1 })).toBe(true);
  expect(await news({ after: 0 }, { signal: AbortSignal.timeout(200) })).toBe(false);
  await appendFile(path, says("the end", "end_turn"));
  expect(await news({ after: 0 })).toBe(true);
});

test("a change that no file shows is seen at the next look", async () => {
  const meanwhile = async () => {
    summary = { status: "running", owner: "external" };
  };
  expect(await news({}, { clock: systemClock, meanwhile })).toBe(true);
});

test("an activity that changed since the caller's last call is news at once, the one that it knows is not", async () => {
  summary = { status: "running", activity: "needs_permission" };
  expect(await news({ after: 0, activity: "working" })).toBe(true);
  const signal = AbortSignal.timeout(200);
  expect(await news({ after: 0, activity: "needs_permission" }, { signal })).toBe(false);
});
