import { describe, expect, test } from "vitest";
import { specOf } from "../../test/support/terminal-host.ts";
import { type, viewsOf } from "../../test/support/terminal-views.ts";
import { useTerminalHost } from "../../test/support/use-terminal-host.ts";
import { createMemoryLink } from "../../test/support/viewer-link.ts";
import { systemClock } from "../core/clock.ts";
import type { SpawnSpec } from "../terminal-host/terminal-info.ts";

const patience = { timeout: 15_000, interval: 20 };
const terminalHost = useTerminalHost();

describe("slow viewers", () => {
  const flood = (lines: number): SpawnSpec =>
    specOf(["/bin/sh", "-c", `stty -echo; echo ready; read go; seq ${lines}; echo the end; read go`]);

  test("one that does not read is skipped, delays no other viewer, and ends with the correct screen", {
    timeout: 60_000,
  }, async () => {
    const { spawn, view } = viewsOf(terminalHost());
    const count = 700_000;
    const id = await spawn(flood(count));
    const fast = view(id, { link: createMemoryLink({ keep: false, paint: false }) });
    const stalled = [view(id), view(id, { protocol: "plain" })];
    for (const link of stalled) await expect.poll(() => link.lines(), patience).toContain("ready");
    for (const link of stalled) link.stall();
    const before = fast.offset();
    type(fast, "go\r");
    const bytes = Array.from({ length: count }, (_, n) => String(n + 1).length + 2).reduce((sum, each) => sum + each);
    const whole = bytes + "the end\r\n".length;
    await expect.poll(() => fast.offset() - before, { timeout: 40_000, interval: 50 }).toBe(whole);
    for (const link of stalled) {
      expect(link.mostUnsentBytes()).toBeLessThan(1024 * 1024 + 128 * 1024);
      link.flow();
    }
    for (const link of stalled) {
      await expect.poll(async () => (await link.lines()).slice(-2), patience).toEqual([String(count), "the end"]);
      expect((await link.lines()).slice(-500, -1)).toEqual(
        Array.from({ length: 499 }, (_, n) => String(count - 498 + n)),
      );
    }
    expect(stalled[0]?.screens()).toBe(2);
  });

  test("a program waits at most a second for its only viewer", { timeout: 60_000 }, async () => {
    const { spawn, view, client } = viewsOf(terminalHost());
    const id = await spawn(flood(1_000_000));
    const link = view(id);
    await expect.poll(() => link.lines(), patience).toContain("ready");
    link.stall();
    type(link, "go\r");
    const ended = async (): Promise<boolean> => (await client.snapshot(id)).lines.includes("the end");
    await systemClock.sleep(400);
    expect(await ended()).toBe(false);
    await expect.poll(ended, { timeout: 20_000, interval: 50 }).toBe(true);
    expect(link.mostUnsentBytes()).toBeLessThan(512 * 1024);
    link.flow();
    await expect.poll(async () => (await link.lines()).slice(-2), patience).toEqual(["1000000", "the end"]);
  });

  test("the only viewer, skipped and disconnected when the program exits, still gets the exit", {
    timeout: 60_000,
  }, async () => {
    const { spawn, view, client } = viewsOf(terminalHost());
    const id = await spawn(
      specOf(["/bin/sh", "-c", "stty -echo; echo ready; read go; seq 1000000; echo the end; exit 5"]),
    );
    const link = view(id);
    await expect.poll(() => link.lines(), patience).toContain("ready");
    link.stall();
    type(link, "go\r");
    const terminal = async () => (await client.list()).find(({ terminalId }) => terminalId === id);
    await expect.poll(async () => (await terminal())?.exit?.exitCode, { timeout: 20_000 }).toBe(5);
    await client.release(id);
    link.flow();
    await expect.poll(() => link.closed()?.code, patience).toBe(1000);
    expect((await link.lines()).slice(-2)).toEqual(["1000000", "the end"]);
    expect(link.frames.at(-1)).toMatchObject({ kind: "exit", exitCode: 5 });
  });

  test("one that was skipped and reconnects after the exit still gets it", { timeout: 60_000 }, async () => {
    const { spawn, view, client } = viewsOf(terminalHost());
    const id = await spawn(
      specOf(["/bin/sh", "-c", "stty -echo; echo ready; read go; seq 300000; echo the end; exit 5"]),
    );
    const links = [view(id), view(id)];
    for (const link of links) await expect.poll(() => link.lines(), patience).toContain("ready");
    const [fast, stalled] = links;
    if (fast === undefined || stalled === undefined) throw new Error("There are two.");
    stalled.stall();
    type(fast, "go\r");
    await expect.poll(() => fast.closed()?.code, { timeout: 20_000 }).toBe(1000);
    await client.release(id);
    stalled.flow();
    await expect.poll(() => stalled.closed()?.code, patience).toBe(1000);
    expect((await stalled.lines()).slice(-2)).toEqual(["300000", "the end"]);
    expect(stalled.frames.at(-1)).toMatchObject({ kind: "exit", exitCode: 5 });
  });
});
