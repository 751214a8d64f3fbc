import { appendFile, copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { outline } from "../../../test/support/turn-outline.ts";
import { systemClock } from "../../core/clock.ts";
import { silentLog } from "../../core/log.ts";
import type { Transcripts } from "../../transcripts/transcripts.ts";
import { createTranscripts } from "../../transcripts/transcripts.ts";
import { transcriptFormats } from "../transcript-formats.ts";

// A real session: three prompts, back to before the second, two more, back to before the last, and one more.
const session = "01a1feb7-a81c-78e1-ba88-cbce731fe35d";
const names = [
  `rollout-2026-11-21T15-26-51-${session}.jsonl`,
  `rollout-2026-11-21T15-26-58-${session}_01a1feb7-c4a9-70f2-8db5-f4159d6e854d.jsonl`,
  `rollout-2026-11-21T15-27-05-${session}_01a1feb7-de25-7130-b785-4033a55f3d06.jsonl`,
] as const;

let root: string;
let transcripts: Transcripts;
let paths: string[];

beforeEach(async () => {
  root = await makeTempFolder();
  transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  onTestFinished(() => transcripts.close());
  paths = [];
  for (const [index, name] of names.entries()) {
    const path = join(root, "2026", "11", "21", name);
    await mkdir(dirname(path), { recursive: true });
    await copyFile(
      join(import.meta.dirname, "../../transcripts/fixtures", `codex-0.169.0-rewound-${index + 1}.jsonl`),
      path,
    );
    paths.push(path);
  }
});

async function told(path = paths[2] ?? ""): Promise<string[]> {
  const { turns = [] } = (await transcripts.read(path, "codex", { limit: 100 })) ?? {};
  return outline(turns).filter((line) => line.startsWith("user: "));
}

const kept = ["user: first words", "user: fourth words", "user: sixth words"];

describe("a rollout that continues an earlier part", () => {
  test("is one conversation with it, without the turns that were undone", async () => {
    expect(await told(paths[0])).toEqual(["user: first words", "user: second words", "user: third words"]);
    expect(await told(paths[1])).toEqual(["user: first words", "user: fourth words", "user: fifth words"]);
    expect(await told()).toEqual(kept);
    const read = await transcripts.read(paths[2] ?? "", "codex", { after: 3, limit: 1 });
    expect(read?.turns.map(({ index }) => index)).toEqual([5]);
    expect(read?.summary).toMatchObject({
      agentSessionId: session,
      cwd: "/code/project",
      title: "first words",
      turnCount: 6,
      lastTurn: { kind: "ended" },
      skippedLines: 0,
    });
    expect(read?.summary.createdAt).toMatch(/^2026-11-21T15:26:5/);
  });

  test("grows like any other transcript, byte for byte", async () => {
    const [, , last = ""] = paths;
    const bytes = await readFile(last);
    await writeFile(last, "");
    for (let at = 0; at < bytes.length; at += 1_500) {
      await appendFile(last, bytes.subarray(at, at + 1_500));
      await transcripts.read(last, "codex", { limit: 2 });
    }
    expect(await told()).toEqual(kept);
  });

  test("finds the earlier part in the folder of an earlier day", async () => {
    const earlier = join(root, "2026", "10", "30", names[0]);
    await mkdir(dirname(earlier), { recursive: true });
    await rename(paths[0] ?? "", earlier);
    expect(await told()).toEqual(kept);
  });

  test("is read alone if the earlier part is missing or does not match", async () => {
    const first = await readFile(paths[0] ?? "");
    await writeFile(paths[0] ?? "", first.subarray(0, 2_000));
    expect(await told()).toEqual(kept.slice(1));
    await rm(paths[0] ?? "");
    expect(await told()).toEqual(kept.slice(1));
    await rm(paths[1] ?? "");
    expect(await told()).toEqual(kept.slice(2));
  });

  test("that refers to itself, or has an invalid reference, is read alone", async () => {
    const [, , last = ""] = paths;
    const text = await readFile(last, "utf8");
    for (const base of [`"01a1feb7-de25-7130-b785-4033a55f3d06"`, '"../../etc"', "7", '""']) {
      await writeFile(last, text.replace('"01a1feb7-c4a9-70f2-8db5-f4159d6e854d","end', `${base},"end`));
      expect((await told()).at(-1)).toBe("user: sixth words");
    }
    await writeFile(last, text.replace(/"end_byte_offset":\d+/, '"end_byte_offset":1e300'));
    expect(await told()).toEqual(kept.slice(2));
  });
});
