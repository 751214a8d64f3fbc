import { appendFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import type { Transcripts } from "./transcripts.ts";
import { createTranscripts } from "./transcripts.ts";

let path: string;
let transcripts: Transcripts;

beforeEach(async () => {
  path = join(await makeTempFolder(), "transcript.jsonl");
  transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  onTestFinished(() => transcripts.close());
});

const formats = ["claude", "codex", "gemini"] as const;
const fixture = (name: string): string => join(import.meta.dirname, "fixtures", `${name}.jsonl`);

describe("the state of the last turn while a file grows line by line", () => {
  const cases = {
    "claude-2.1.329-commands":
      "0:none 1:open 2:open 3:open 4:ended 6:open 6:ended 7:open 8:open 8:ended 9:open 10:ended 11:open 11:aborted 12:open 13:ended",
    "claude-2.1.329-denied": "0:none 1:open 2:ended 3:open 4:open 4:ended 5:open 6:open 6:aborted",
    "claude-2.1.329-interruptions":
      "0:none 1:open 2:aborted 3:open 4:failed 5:open 6:open 6:ended 7:open 8:ended 9:open 10:ended 11:open 12:ended 14:ended 15:open 16:ended",
    "claude-2.0.30-print":
      "0:none 1:open 2:open 2:ended 3:open 4:open 4:ended 5:open 6:ended 7:open 8:open 8:ended 9:open 10:ended",
    "codex-0.169.0-interruptions":
      "0:none 1:open 1:aborted 1:open 2:open 2:failed 2:open 3:open 4:open 4:aborted 4:open 5:open 6:open 7:open 7:ended 7:open 8:open 9:open 9:ended",
    // A command whose end is reported after the end of the turn.
    "codex-0.169.0-steered": "0:none 1:open 2:open 3:open 4:open 4:ended",
    "codex-0.137.0-failed": "0:none 1:open 1:failed 1:open 2:open 3:open 3:ended",
    "codex-0.47.0-tools": "0:none 1:open 2:open 2:ended",
    "codex-0.20.0-tools": "0:none 1:open 2:open 2:ended",
    "gemini-0.61.0-tools": "0:none 1:open 2:ended 3:open 4:open 4:ended 5:open 6:ended",
    "gemini-0.61.0-interruptions":
      "0:none 1:open 2:ended 3:open 3:aborted 4:open 4:failed 5:open 6:open 6:aborted 7:open 8:open 8:aborted",
  };
  test.each(Object.entries(cases))("%s", async (name, states) => {
    const seen: string[] = [];
    for (const text of (await readFile(fixture(name), "utf8")).split(/(?<=\n)/)) {
      await appendFile(path, text);
      const summary = await transcripts.summary(path, formats.find((format) => name.startsWith(format)) ?? "codex");
      const state = `${summary?.turnCount}:${summary?.lastTurn.kind}`;
      if (seen.at(-1) !== state) seen.push(state);
    }
    expect(seen.join(" ")).toBe(states);
  });

  test.each([
    ["claude-2.1.329-interruptions", "claude", [1]],
    ["claude-2.1.329-denied", "claude", [5]],
    ["codex-0.169.0-interruptions", "codex", [3]],
    ["codex-0.169.0-review", "codex", []],
    ["gemini-0.61.0-interruptions", "gemini", [5, 7]],
  ] as const)("%s: turns that the user stopped are marked as interrupted", async (name, format, interrupted) => {
    const read = await transcripts.read(fixture(name), format, { limit: 100 });
    expect(read?.turns.flatMap((turn) => (turn.interrupted === true ? [turn.index] : []))).toEqual(interrupted);
  });

  test("a failure has the API's message", async () => {
    const upTo = (text: string, mark: string): string => text.slice(0, text.indexOf("\n", text.indexOf(mark)) + 1);
    const codex = await readFile(fixture("codex-0.169.0-interruptions"), "utf8");
    await writeFile(path, upTo(codex, '"codex_error_info"'));
    expect((await transcripts.summary(path, "codex"))?.lastTurn).toEqual({
      kind: "failed",
      message: "scripted failure",
    });
    const claude = await readFile(fixture("claude-2.1.329-interruptions"), "utf8");
    await writeFile(path, upTo(claude, '"isApiErrorMessage":true'));
    expect((await transcripts.summary(path, "claude"))?.lastTurn).toEqual({
      kind: "failed",
      message: "API Error: 400 scripted failure",
    });
  });
});
