import { closeSync, createWriteStream, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";
import { onTestFinished } from "vitest";
import { type FormatName, transcriptFormats } from "../../src/agents/transcript-formats.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { createTranscripts } from "../../src/transcripts/index.ts";
import { makeTempFolder } from "./temp-folder.ts";

export const megabyte = 1024 * 1024;

/** A value as a line of JSON. */
export const jsonLine = (value: object): string => `${JSON.stringify(value)}\n`;

/** An event as Codex writes it. */
export const codexEvent = (payload: object): string =>
  jsonLine({ timestamp: "2026-01-01T00:00:00.000Z", type: "event_msg", payload });

/** Writes a transcript of any size, piece by piece; it is removed when the test ends. */
export async function writeTranscript(pieces: Iterable<string | Buffer>): Promise<string> {
  const path = join(await makeTempFolder(), "huge.jsonl");
  const file = openSync(path, "w");
  for (const piece of pieces) writeSync(file, typeof piece === "string" ? Buffer.from(piece) : piece);
  closeSync(file);
  return path;
}

/** The same, compressed. */
export async function writePackedTranscript(pieces: Iterable<string>): Promise<string> {
  const path = join(await makeTempFolder(), "rollout.jsonl.zst");
  await pipeline(Readable.from(pieces), createZstdCompress(), createWriteStream(path));
  return path;
}

/** Reads the last 100 turns, and says how much memory (at most) and time the reading took, and how long the answer is. */
export async function measuredRead(path: string, format: FormatName) {
  const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  onTestFinished(() => transcripts.close());
  const before = process.memoryUsage.rss();
  let most = before;
  const sampler = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 5);
  const began = performance.now();
  const answer = await transcripts.read(path, format, { limit: 100 });
  const tookMs = performance.now() - began;
  clearInterval(sampler);
  if (answer === null) throw new Error("There is no transcript.");
  return { ...answer, tookMs, grewMb: (most - before) / megabyte, answerMb: JSON.stringify(answer).length / megabyte };
}
