import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { transcriptFormats } from "../src/agents/transcript-formats.ts";
import { systemClock } from "../src/core/clock.ts";
import { silentLog } from "../src/core/log.ts";
import { createTranscripts } from "../src/transcripts/index.ts";
import { makeTempFolder } from "../test/support/temp-folder.ts";
import { makeCorpus } from "./corpus.ts";

const shape = { seed: 7, files: 150, bytes: 6_000_000 };

async function digest(dir: string): Promise<string> {
  const hash = createHash("sha256");
  const names = await readdir(dir, { recursive: true });
  for (const name of names.toSorted()) {
    const path = join(dir, name);
    const { mode, mtimeMs } = await stat(path);
    hash.update(name);
    // What mode 000 holds only root may read; the rest of the corpus is enough to compare.
    if ((await stat(path)).isFile() && (mode & 0o777) !== 0) hash.update(`${mtimeMs}`).update(await readFile(path));
  }
  return hash.digest("hex");
}

describe("a corpus", () => {
  test("is the same, byte for byte, for the same seed, and another for another", async () => {
    const [one, same, other] = [await makeTempFolder(), await makeTempFolder(), await makeTempFolder()];
    await makeCorpus({ dir: one, ...shape });
    await makeCorpus({ dir: same, ...shape });
    await makeCorpus({ dir: other, ...shape, seed: 8 });
    expect(await digest(same)).toBe(await digest(one));
    expect(await digest(other)).not.toBe(await digest(one));
  });

  test("has the shape that was asked for: one giant, a long tail, all that goes wrong on a real machine", async () => {
    const { files } = await makeCorpus({ dir: await makeTempFolder(), ...shape });
    const sizes = files.map(({ sizeBytes }) => sizeBytes).toSorted((one, other) => one - other);
    const sum = sizes.reduce((total, size) => total + size, 0);
    expect(files).toHaveLength(shape.files);
    expect(sum / shape.bytes).toBeGreaterThan(0.85);
    expect(sum / shape.bytes).toBeLessThan(1.2);
    expect((sizes.at(-1) ?? 0) / sum).toBeGreaterThan(0.25);
    expect(sizes[75]).toBeLessThan(sum / shape.files / 2);
    expect(new Set(files.map(({ kind }) => kind))).toEqual(
      new Set(["session", "sub-agent", "empty", "garbage", "unreadable"]),
    );
    expect(files.some(({ path }) => path.endsWith(".zst"))).toBe(true);
    expect(files.some(({ firstMessage }) => /[\u3040-\u30ff\u4e00-\u9fff]/.test(firstMessage ?? ""))).toBe(true);
    const times = files.map(({ modifiedMs }) => modifiedMs);
    expect((Math.max(...times) - Math.min(...times)) / 86_400_000).toBeGreaterThan(500);
  });

  test("is read by both readers as its maker knows it", async () => {
    const { files } = await makeCorpus({ dir: await makeTempFolder(), ...shape });
    const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
    onTestFinished(() => transcripts.close());
    for (const file of files) {
      const read = await transcripts.read(file.path, file.format, { limit: 1_000_000 });
      if (file.kind === "unreadable" && read === null) continue;
      const { summary, turns = [] } = read ?? {};
      expect.soft(summary, file.path).toMatchObject({
        turnCount: file.turnCount,
        title: file.title,
        skippedLines: file.skippedLines,
        sizeBytes: file.sizeBytes,
      });
      expect.soft(turns[0]?.text ?? null, file.path).toBe(file.firstMessage);
      if (file.turnCount > 0) {
        expect.soft(summary, file.path).toMatchObject({ cwd: file.cwd, agentSessionId: file.sessionId });
      }
      const rare = file.rare === null ? null : turns[file.rare.turnIndex];
      if (file.rare !== null) expect.soft(rare?.text, file.path).toContain(file.rare.word);
    }
  });
});
