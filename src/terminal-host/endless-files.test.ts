import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { endlessFiles } from "../../test/support/endless-files.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { createRawLog } from "./raw-log.ts";
import { createRecordingReader } from "./recording-reader.ts";
import { clearLeftovers, terminalsDir, writeDescription, writeTerminalRecord } from "./terminal-record.ts";

const nothingRuns = { pid: 0, pidStartTime: "", startedAt: 1, keepRecording: true };

/** The folder of a terminal with some output that no host runs, without its record. */
async function makeLeftover() {
  const stateDir = await makeTempFolder();
  const terminalId = newUuid();
  const dir = join(terminalsDir(stateDir), terminalId);
  mkdirSync(dir, { recursive: true });
  const log = createRawLog(dir, { maxBytes: 1024 * 1024, clock: systemClock, size: { cols: 80, rows: 24 } });
  log.append(Buffer.from("word"));
  log.release();
  return { stateDir, terminalId, dir };
}

async function played(stateDir: string, terminalId: string): Promise<string | null> {
  const recording = await createRecordingReader(stateDir, systemClock)(terminalId);
  if (recording === null) return null;
  await recording.screenAt(recording.endsAt);
  const output: Uint8Array[] = [];
  for await (const event of recording.events()) if ("data" in event) output.push(event.data);
  return Buffer.concat(output).toString();
}

describe.each(Object.entries(endlessFiles))("%s", (_what, put) => {
  test("in place of a terminal's record counts as missing: the next host starts, and removes it", async () => {
    const { stateDir, dir } = await makeLeftover();
    await put(join(dir, "record.json"));
    expect(await clearLeftovers(stateDir, systemClock)).toEqual({ leftovers: 1, recordings: [] });
    expect(readdirSync(terminalsDir(stateDir))).toEqual([]);
  });

  test("in place of a recording's description counts as missing, for the next host and for a reader", async () => {
    const { stateDir, terminalId, dir } = await makeLeftover();
    await put(join(dir, "recording.json"));
    expect(await played(stateDir, terminalId)).toBe("word");
    expect(await clearLeftovers(stateDir, systemClock)).toEqual({ leftovers: 1, recordings: [] });
  });

  test.each([".raw", ".marks"])("in the place of a *%s file is no output, and no screen", async (ending) => {
    const { stateDir, terminalId, dir } = await makeLeftover();
    writeTerminalRecord(dir, nothingRuns);
    const name = readdirSync(dir).find((file) => file.endsWith(ending)) ?? "";
    expect(await played(stateDir, terminalId)).toBe("word");
    rmSync(join(dir, name));
    await put(join(dir, name));
    expect((await played(stateDir, terminalId)) ?? "").toBe("");
    await clearLeftovers(stateDir, systemClock);
  });
});

test("marks that repeatedly lead back do not make output appear twice", async () => {
  const { stateDir, terminalId, dir } = await makeLeftover();
  writeDescription(dir, { startedAt: 1, endedAt: 2, sizeBytes: 4 });
  const mark = (offset: number): Buffer => {
    const bytes = Buffer.alloc(16);
    bytes.writeUIntBE(1_000, 0, 6);
    bytes.writeUIntBE(offset, 6, 6);
    bytes.writeUInt16BE(80, 12);
    bytes.writeUInt16BE(24, 14);
    return bytes;
  };
  const marks = Array.from({ length: 1_000 }, (_, at) => mark(at % 2 === 0 ? 0 : 4));
  await writeFile(join(dir, readdirSync(dir).find((file) => file.endsWith(".marks")) ?? ""), Buffer.concat(marks));
  expect(await played(stateDir, terminalId)).toBe("word");
});
