import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { type Log, silentLog } from "../core/log.ts";
import { createTranscripts } from "./transcripts.ts";

async function setUp() {
  const path = join(await makeTempFolder(), "transcript.jsonl");
  const message = { role: "user", content: "one" };
  await writeFile(path, `${JSON.stringify({ type: "user", message, uuid: "u" })}\n`);
  const warn = vi.fn<Log["warn"]>();
  const transcripts = createTranscripts({
    formats: transcriptFormats,
    clock: systemClock,
    log: { ...silentLog, warn },
  });
  onTestFinished(() => transcripts.close());
  return { path, warn, transcripts };
}

/** Root can read everything, so the test runs as an unprivileged user. */
async function asNobody(run: () => Promise<void>): Promise<void> {
  if (process.geteuid?.() !== 0) return run();
  process.seteuid?.(65_534);
  try {
    await run();
  } finally {
    process.seteuid?.(0);
  }
}

test("a transcript without read permission is treated as missing, and logged once", async () => {
  const { path, warn, transcripts } = await setUp();
  await chmod(path, 0o000);
  await asNobody(async () => {
    expect(await transcripts.summary(path, "claude")).toBeNull();
    expect(await transcripts.read(path, "claude", { limit: 1 })).toBeNull();
  });
  expect(warn.mock.calls).toEqual([[{ path }, expect.stringContaining("no permission")]]);
  await chmod(path, 0o600);
  expect(await transcripts.summary(path, "claude")).toMatchObject({ turnCount: 1 });
});

test("a transcript that cannot be opened for another reason is an error with a code", async () => {
  const { path, warn, transcripts } = await setUp();
  const refused = transcripts.summary(`${path}\0`, "claude");
  await expect(refused).rejects.toMatchObject({ code: "transcript_unreadable" });
  expect(warn).not.toHaveBeenCalled();
});
