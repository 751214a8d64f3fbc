import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import { isAlive, sendSignal, startTimeOf } from "../platform/processes.ts";
import { clearLeftovers, TERMINAL_ID_VARIABLE, terminalsDir, writeTerminalRecord } from "./terminal-record.ts";

async function startProgram(env: Readonly<Record<string, string>>): Promise<{ pid: number; pidStartTime: string }> {
  const child = spawn(process.execPath, ["-e", `console.log("ready"); setInterval(() => {}, 1000)`], {
    detached: true,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...env },
  });
  const pid = child.pid ?? 0;
  onTestFinished(() => void sendSignal(pid, "SIGKILL"));
  await once(child.stdout, "data");
  return { pid, pidStartTime: startTimeOf(pid) };
}

function terminalDir(stateDir: string, terminalId: string): string {
  const dir = join(terminalsDir(stateDir), terminalId);
  mkdirSync(dir, { recursive: true });
  return dir;
}

test("the recorded process is ended and the folder removed", async () => {
  const stateDir = await makeTempFolder();
  const program = await startProgram({});
  writeTerminalRecord(terminalDir(stateDir, newUuid()), { ...program, startedAt: 1, keepRecording: true });
  expect(await clearLeftovers(stateDir, systemClock)).toEqual({ leftovers: 1, recordings: [] });
  expect(isAlive(program.pid, program.pidStartTime)).toBe(false);
  expect(readdirSync(terminalsDir(stateDir))).toEqual([]);
});

test("a process that reuses the pid of a recorded one is left alone", async () => {
  const stateDir = await makeTempFolder();
  const program = await startProgram({});
  writeTerminalRecord(terminalDir(stateDir, newUuid()), {
    ...program,
    pidStartTime: "another.1",
    startedAt: 1,
    keepRecording: true,
  });
  await clearLeftovers(stateDir, systemClock);
  expect(isAlive(program.pid, program.pidStartTime)).toBe(true);
});

test.runIf(process.platform === "linux")("a process without a record is known by its environment", async () => {
  const stateDir = await makeTempFolder();
  const terminalId = newUuid();
  const program = await startProgram({ [TERMINAL_ID_VARIABLE]: terminalId });
  const other = await startProgram({ [TERMINAL_ID_VARIABLE]: newUuid() });
  terminalDir(stateDir, terminalId);
  await clearLeftovers(stateDir, systemClock);
  expect(isAlive(program.pid, program.pidStartTime)).toBe(false);
  expect(isAlive(other.pid, other.pidStartTime)).toBe(true);
});

test("an invalid record ends nothing and does not stop the host", async () => {
  const stateDir = await makeTempFolder();
  for (const text of ["", "{", `{"pid":"1"}`, `{"pid":1}`, `{"pid":-1,"pidStartTime":"x"}`]) {
    writeFileSync(join(terminalDir(stateDir, newUuid()), "record.json"), text);
  }
  writeFileSync(join(terminalsDir(stateDir), "stray-file"), "");
  expect(await clearLeftovers(stateDir, systemClock)).toEqual({ leftovers: 6, recordings: [] });
  expect(readdirSync(terminalsDir(stateDir))).toEqual([]);
});
