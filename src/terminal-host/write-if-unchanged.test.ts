import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { scriptSpec, waitUntil } from "../../test/support/terminal-host.ts";
import { useTerminalHost } from "../../test/support/use-terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createRawLog } from "./raw-log.ts";
import { createReadScheduler } from "./read-scheduler.ts";
import { createScreens } from "./screens.ts";
import { startTerminal } from "./terminal.ts";

const running = useTerminalHost();

/** Echoes its input, and shows a dialog when it gets `d`. */
const program = `
  process.stdin.setRawMode(true);
  process.stdin.on("data", (data) => {
    const keys = String(data);
    process.stdout.write(keys === "d" ? "\\r\\nDo you want to proceed?" : "[" + keys + "]");
  });
  process.stdout.write("READY>");`;

test("input is written while the screen is the one looked at, and not after any new output", async () => {
  const host = running();
  const { terminalId } = await host.spawn(scriptSpec(program));
  onTestFinished(async () => void (await host.end(terminalId, { graceMs: 100 })));
  const shows = (text: string) => async () => (await host.look(terminalId)).lines.join("\n").includes(text);
  await waitUntil(shows("READY>"), 15_000);
  const seen = await host.look(terminalId);
  expect(await host.writeIfUnchanged(terminalId, "one", seen)).toBe(true);
  await waitUntil(shows("[one]"));
  const before = await host.look(terminalId);
  await host.write(terminalId, "d");
  await waitUntil(shows("Do you want to proceed?"));
  expect(await host.writeIfUnchanged(terminalId, "\r", before)).toBe(false);
  expect(await host.writeIfUnchanged(terminalId, "y", await host.look(terminalId))).toBe(true);
  await waitUntil(shows("[y]"));
  expect(await shows("[\r]")()).toBe(false);
});

test("output that ends in the middle of a sequence is not a change", async () => {
  const host = running();
  const { terminalId } = await host.spawn(scriptSpec("process.stdout.write('READY>\\x1b['); process.stdin.resume()"));
  onTestFinished(async () => void (await host.end(terminalId, { graceMs: 100 })));
  await waitUntil(async () => (await host.look(terminalId)).lines[0] === "READY>", 15_000);
  expect(await host.writeIfUnchanged(terminalId, "one", await host.look(terminalId))).toBe(true);
});

test("unread output is a change, and so is input that the program has not read yet", async () => {
  const folder = await makeTempFolder();
  const written = join(folder, "written");
  const spec = scriptSpec(`
    process.stdin.setRawMode(true);
    process.stdin.once("data", () => {
      process.stdin.pause();
      require("node:fs").writeSync(1, "a dialog");
      require("node:fs").writeFileSync(${JSON.stringify(written)}, "");
      setInterval(() => {}, 1000);
    });
    process.stdout.write("READY>");`);
  const rawLogMaxBytes = 1024 * 1024;
  const log = createRawLog(join(folder, "log"), { maxBytes: rawLogMaxBytes, clock: systemClock, size: spec });
  const screens = createScreens({ clock: systemClock, log: silentLog });
  const turns = createReadScheduler(systemClock);
  const deps = { clock: systemClock, turns, screens, log, rawLogMaxBytes, onExit: () => undefined };
  const terminal = startTerminal(spec, deps);
  onTestFinished(async () => {
    process.kill(terminal.info().pid, "SIGKILL");
    await expect.poll(() => terminal.info().exit).not.toBeNull();
    terminal.forget();
  });
  await expect.poll(() => log.endOffset, { timeout: 15_000 }).toBe("READY>".length);
  const offset = log.endOffset;
  void terminal.write(Buffer.from("d"));
  // This thread reads nothing during that time.
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; !existsSync(written) && waitedMs < 10_000; waitedMs += 5) Atomics.wait(pause, 0, 0, 5);
  const writing = terminal.writeIfUnchanged(Buffer.from("\r"), offset);
  expect(log.endOffset).toBe("READY>a dialog".length);
  expect(await writing).toBe(false);

  const more = Buffer.alloc(256 * 1024, "x");
  const typing = terminal.write(more);
  typing.catch(() => undefined); // the program does not read it
  expect(await terminal.writeIfUnchanged(Buffer.from("\r"), log.endOffset)).toBe(false);
});
