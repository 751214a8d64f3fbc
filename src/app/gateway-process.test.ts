import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { errorCode } from "../../test/support/error-code.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { systemClock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { isAlive, startTimeOf } from "../platform/processes.ts";
import { loadConfig } from "./config.ts";
import { findGateway, lookAtMachine, recordGateway, removeGatewayRecord, stopGateway } from "./gateway-process.ts";

async function makeHome() {
  const home = await makeTempFolder();
  await mkdir(join(home, "run"), { mode: 0o700 });
  return loadConfig({ POSTERN_HOME: home });
}

/** A process that takes a moment to end at SIGTERM, or ignores it, recorded as the gateway. */
async function plantGateway(runDir: string, onSigterm = "setTimeout(process.exit, 300)"): Promise<number> {
  const script = `process.on("SIGTERM", () => { ${onSigterm} }); setInterval(() => {}, 1000); console.log("ready")`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout, "data");
  const pid = child.pid ?? 0;
  const startTime = startTimeOf(pid);
  const record = {
    pid,
    startTime,
    version: "1.0.0",
    startedAt: "",
    baseUrl: "http://localhost:1",
    addresses: [],
    auth: "on",
  };
  await writeFile(join(runDir, "gateway.json"), JSON.stringify(record));
  return pid;
}

test("a gateway records its process, and the record counts only while that process runs", async () => {
  const config = await makeHome();
  expect(await findGateway(config)).toBe(null);
  const place = { baseUrl: "http://localhost:7178", addresses: ["http://127.0.0.1:7178"] };
  await recordGateway(config, place);
  expect(await findGateway(config)).toMatchObject({ ...place, pid: process.pid });
  const path = join(config.runDir, "gateway.json");
  const text = await readFile(path, "utf8");
  await writeFile(path, text.replace(startTimeOf(process.pid), "another"));
  expect(await findGateway(config), "another process with the same pid").toBe(null);
  await writeFile(path, text.slice(0, 20));
  expect(await findGateway(config), "a damaged file").toBe(null);
  await recordGateway(config, place);
  const { gateway, memory, terminalHost } = await lookAtMachine(config);
  expect({ gateway, terminalHost }).toMatchObject({ gateway: { pid: process.pid }, terminalHost: null });
  expect(memory.gatewayBytes).toBeGreaterThan(10_000_000);
  expect(Math.abs(Date.now() - process.uptime() * 1000 - Date.parse(gateway?.startedAt ?? ""))).toBeLessThan(1000);
  await removeGatewayRecord(config);
  expect(await findGateway(config)).toBe(null);
});

const running = async (pid: number) => ({
  ...({ manager: "systemd", path: "", installed: true, enabled: true, running: true } as const),
  pid,
});

test("a gateway is stopped by a signal, and the stop waits for its end", async () => {
  const config = await makeHome();
  expect(await errorCode(stopGateway(config, { service: null }))).toBe("gateway_not_running");
  const pid = await plantGateway(config.runDir);
  const other = { status: () => running(1), stop: () => Promise.reject(new Error("It runs another process.")) };
  expect(await stopGateway(config, { service: other })).toEqual({ pid, service: null });
  expect(await findGateway(config)).toBe(null);
});

test("a gateway that ends while the service manager is asked gets no signal: its pid can be another process's", async () => {
  const config = await makeHome();
  const pid = await plantGateway(config.runDir);
  const status = async () => {
    process.kill(pid, "SIGKILL");
    await expect.poll(() => isAlive(pid, startTime)).toBe(false);
    return running(1);
  };
  const startTime = startTimeOf(pid);
  const kill = vi.spyOn(process, "kill");
  onTestFinished(() => kill.mockRestore());
  const stop = () => Promise.reject(new Error("It runs another process."));
  expect(await stopGateway(config, { service: { status, stop } })).toEqual({ pid, service: null });
  expect(kill.mock.calls.filter(([, signal]) => signal === "SIGTERM")).toEqual([]);
});

test("a gateway that ignores the signal ends the wait with the command that kills it", async () => {
  const config = await makeHome();
  const pid = await plantGateway(config.runDir, "");
  let waits = 0;
  // Each check takes a second.
  const clock = { ...systemClock, now: () => waits * 1_000, sleep: async () => void (waits += 1) };
  await expect(stopGateway(config, { service: null, clock })).rejects.toThrow(`\`kill -KILL ${pid}\``);
  expect(waits).toBe(21);
});

test("a gateway that the service manager started is stopped by it; without a manager, by a signal", async () => {
  const config = await makeHome();
  const pid = await plantGateway(config.runDir);
  const stop = async () => {
    process.kill(pid, "SIGTERM");
    return "systemctl --user stop postern.service";
  };
  expect(await stopGateway(config, { service: { status: () => running(pid), stop } })).toEqual({
    pid,
    service: "systemctl --user stop postern.service",
  });
  const next = await plantGateway(config.runDir);
  const missing = () => Promise.reject(new PosternError("service_manager_missing", "There is none."));
  expect(await stopGateway(config, { service: { status: missing, stop } })).toEqual({ pid: next, service: null });
});
