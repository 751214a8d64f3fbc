import { appendFile, copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { codex } from "../agents/codex/codex.ts";
import { transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createTranscripts } from "../transcripts/index.ts";
import type { Transcripts } from "../transcripts/transcripts.ts";
import { TranscriptFollower } from "./transcript-follower.ts";
import { newTurnIsOver, unreadTranscript, withSummary } from "./transcript-view.ts";

const fixtures = join(import.meta.dirname, "../transcripts/fixtures");

/** A follower of a rollout of two prompts, line by line. */
async function followRollout() {
  const path = join(await makeTempFolder(), "rollout.jsonl");
  const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  let view = unreadTranscript;
  const follower = new TranscriptFollower({
    transcripts,
    template: codex,
    onRead: (summary) => {
      view = withSummary(view, summary);
    },
    onChange: async () => undefined,
    onError: (error) => expect.fail(String(error)),
  });
  onTestFinished(async () => {
    follower.close();
    await transcripts.close();
  });
  const text = await readFile(join(fixtures, "codex-0.169.0-steered.jsonl"), "utf8");
  const lines = text.split(/(?<=\n)/).filter((line) => line !== "");
  const endOfTurn = lines.findIndex((line) => line.includes('"task_complete"'));
  const timeOf = (line = ""): number => Date.parse(JSON.parse(line).timestamp);
  await writeFile(path, lines.slice(0, endOfTurn).join(""));
  await follower.follow(path);
  return {
    view: () => view,
    promptAt(at: number) {
      view = { ...view, promptAt: at };
    },
    endedAt: timeOf(lines[endOfTurn]),
    end: async (): Promise<void> => {
      await appendFile(path, lines[endOfTurn] ?? "");
      await follower.refresh();
    },
  };
}

test("a turn is over when the file says so after its prompt was taken", async () => {
  const { view, promptAt, endedAt, end } = await followRollout();
  promptAt(endedAt - 1_000);
  expect(newTurnIsOver(view(), false)).toBe(false);
  await end();
  expect(newTurnIsOver(view(), false)).toBe(true);
});

test("an end that was written before the prompt was taken is the end of the turn before, however late it is read", async () => {
  const { view, promptAt, endedAt, end } = await followRollout();
  promptAt(endedAt + 300);
  await end();
  expect(newTurnIsOver(view(), false)).toBe(false);
});

test("a summary that arrives after the session moved to another file is not taken for the new file's", async () => {
  const folder = await makeTempFolder();
  const [old, next] = [join(folder, "old.jsonl"), join(folder, "next.jsonl")];
  await copyFile(join(fixtures, "codex-0.169.0-steered.jsonl"), old);
  await writeFile(next, "");
  const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  const gate = Promise.withResolvers<void>();
  const slow: Transcripts = {
    ...transcripts,
    summary: async (path, format) => {
      const summary = await transcripts.summary(path, format);
      if (path === old) await gate.promise;
      return summary;
    },
  };
  const counts: (number | undefined)[] = [];
  const follower = new TranscriptFollower({
    transcripts: slow,
    template: codex,
    onRead: (summary) => void counts.push(summary?.turnCount),
    onChange: async () => undefined,
    onError: (error) => expect.fail(String(error)),
  });
  onTestFinished(async () => {
    follower.close();
    await transcripts.close();
  });
  const oldRead = follower.follow(old);
  await follower.follow(next);
  gate.resolve();
  await oldRead;
  expect(counts).toEqual([0]);
});
