import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import fc from "fast-check";
import { expect } from "vitest";
import { type FormatName, transcriptFormats } from "../../src/agents/transcript-formats.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { createTranscripts, type Transcripts } from "../../src/transcripts/index.ts";
import { type Turn, turnSchema } from "../../src/wire/turn.ts";
import { makeTempFolder } from "./temp-folder.ts";
import { looks, madeUp, muddled, mutated, splitLines } from "./transcript-fuzz.ts";

/** How many inputs, and for how long at most; a seed to see a failure again. */
export interface Effort {
  readonly numRuns: number;
  readonly timeLimitMs?: number;
  readonly seed?: number;
}

const all = { limit: 10_000 };
/** No input of these tests is larger than some 100 KB: reading one takes milliseconds, on a busy machine a second. */
const longestReadMs = 5_000;

function parameters({ numRuns, timeLimitMs, seed }: Effort) {
  return {
    numRuns,
    ...(timeLimitMs === undefined ? {} : { interruptAfterTimeLimit: timeLimitMs }),
    ...(seed === undefined ? {} : { seed }),
  };
}

const open = (): Transcripts => createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });

async function readWhole(path: string, format: FormatName) {
  const transcripts = open();
  const began = performance.now();
  const read = await transcripts.read(path, format, all);
  expect(performance.now() - began).toBeLessThan(longestReadMs);
  await transcripts.close();
  if (read === null) throw new Error("There is no transcript.");
  return read;
}

/** The result of reading a file with these bytes. */
export async function readOnce(bytes: Buffer, format: FormatName) {
  const path = join(await makeTempFolder(), "t.jsonl");
  await writeFile(path, bytes);
  return readWhole(path, format);
}

/** Whatever the bytes are: it ends, its turns are numbered and of the form that leaves the gateway, its skipped lines are lines. */
export async function checkReading(
  format: FormatName,
  effort: Effort & { readonly of: "mutated" | "made up" },
): Promise<void> {
  const path = join(await makeTempFolder(), "t.jsonl");
  const files = effort.of === "mutated" ? mutated(format) : madeUp(format);
  await fc.assert(
    fc.asyncProperty(files, async (bytes) => {
      await writeFile(path, bytes);
      const { summary, turns } = await readWhole(path, format);
      expect(turns.map((turn) => turn.index)).toEqual(Array.from({ length: summary.turnCount }, (_, n) => n));
      for (const turn of turns) expect(turnSchema.safeParse(JSON.parse(JSON.stringify(turn))).error).toBeUndefined();
      expect(summary.skippedLines).toBeLessThanOrEqual(splitLines(bytes).length);
      expect(Number.isNaN(Date.parse(summary.updatedAt ?? ""))).toBe(false);
      expect((summary.title ?? "").length).toBeLessThanOrEqual(200);
    }),
    parameters(effort),
  );
}

/** Checks that a file that grows in arbitrary pieces and is read in between gives the same result as one that is read as a whole. */
export async function checkGrowth(format: FormatName, effort: Effort): Promise<void> {
  const path = join(await makeTempFolder(), "t.jsonl");
  const files = fc.oneof(muddled(format), muddled(format), mutated(format), madeUp(format));
  await fc.assert(
    fc.asyncProperty(files, looks, async (bytes, seenAt) => {
      const transcripts = open();
      const seen: Turn[] = [];
      await writeFile(path, "");
      let written = 0;
      for (const { at, how } of seenAt) {
        const to = Math.floor(at * bytes.length);
        await appendFile(path, bytes.subarray(written, to));
        written = to;
        if (how === 1) await transcripts.summary(path, format);
        if (how > 1) seen.push(...(await finished(transcripts, path, { format, limit: [2, 5, 1_000][how - 2] ?? 1 })));
      }
      await appendFile(path, bytes.subarray(written));
      const grown = await transcripts.read(path, format, all);
      await transcripts.close();
      const whole = await readWhole(path, format);
      // A damaged line counts when its turn is read; an earlier read can have counted one that is no longer in any turn.
      const skippedLines = grown?.summary.skippedLines ?? 0;
      expect(skippedLines).toBeGreaterThanOrEqual(whole.summary.skippedLines);
      expect(skippedLines).toBeLessThanOrEqual(splitLines(bytes).length);
      expect(grown).toEqual({ ...whole, summary: { ...whole.summary, skippedLines } });
      // A rollout of Codex may omit what only its oldest form contained.
      if (format === "claude") for (const turn of seen) expect(whole.turns[turn.index]).toEqual(turn);
    }),
    parameters(effort),
  );
}

/** The turns that can no longer change: all except an answer at the end. */
async function finished(
  transcripts: Transcripts,
  path: string,
  { format, limit }: { readonly format: FormatName; readonly limit: number },
): Promise<readonly Turn[]> {
  const { turns = [], summary } = (await transcripts.read(path, format, { limit })) ?? {};
  return turns.filter(({ index, role }) => role === "user" || index < (summary?.turnCount ?? 0) - 1);
}
