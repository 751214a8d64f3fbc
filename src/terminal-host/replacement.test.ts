import { describe, expect, test } from "vitest";
import { makeHostFixture, specOf, waitUntil } from "../../test/support/terminal-host.ts";
import { systemClock } from "../core/clock.ts";
import { isPosternError } from "../core/errors.ts";
import { isAlive } from "../platform/processes.ts";
import { probeTerminalHost } from "./client.ts";

test("a host of another version without terminals retires immediately", async () => {
  const fixture = await makeHostFixture();
  const older = await fixture.connect({ version: "1.0.0" });
  const first = older.host();
  await older.close();
  const newer = await fixture.connect({ version: "1.1.0" });
  expect(newer.host()).toMatchObject({ version: "1.1.0" });
  expect(newer.host()?.pid).not.toBe(first?.pid);
});

test("one with terminals keeps them and new ones, and retires when the last is released", async () => {
  const fixture = await makeHostFixture();
  const older = await fixture.connect({ version: "1.0.0" });
  const one = await older.spawn(specOf(["/bin/cat"]));
  await older.close();

  const newer = await fixture.connect({ version: "1.1.0" });
  const losses: unknown[] = [];
  newer.onExit((ended) => ended === null && losses.push(ended));
  expect(newer.host()).toMatchObject({ version: "1.0.0" });
  await newer.write(one.terminalId, "still here\n");
  await waitUntil(async () => (await newer.snapshot(one.terminalId)).lines.includes("still here"));
  const other = await newer.spawn(specOf(["/bin/cat"]));
  for (const { terminalId } of [one, other]) {
    await newer.end(terminalId, { graceMs: 2_000 });
    expect(newer.host()).toMatchObject({ version: "1.0.0" });
    await newer.release(terminalId);
  }
  const next = await newer.spawn(specOf(["/bin/cat"]));
  expect(newer.host()).toMatchObject({ version: "1.1.0" });
  expect(await newer.list()).toMatchObject([{ terminalId: next.terminalId, exit: null }]);
  expect(losses, "nothing was lost with it").toEqual([]);
});

test("a spawn while a host retires runs once, in that host or the next", async () => {
  for (let round = 0; round < 2; round += 1) {
    const fixture = await makeHostFixture();
    const older = await fixture.connect({ version: "1.0.0" });
    const { terminalId } = await older.spawn(specOf(["/bin/true"]));
    await waitUntil(async () => (await older.list())[0]?.exit !== null);
    await older.close();
    const newer = await fixture.connect({ version: "1.1.0" });
    const [, spawned] = await Promise.all([newer.release(terminalId), newer.spawn(specOf(["/bin/cat"]))]);
    const [other] = await Promise.all([newer.spawn(specOf(["/bin/cat"])), newer.end(spawned.terminalId)]);
    const alive = (await newer.list()).filter(({ exit }) => exit === null);
    expect(alive.map((info) => info.terminalId)).toEqual([other.terminalId]);
  }
});

test("a retiring host answers earlier requests: the end of its last terminal, which is released at its exit", async () => {
  for (let round = 0; round < 3; round += 1) {
    const fixture = await makeHostFixture();
    const older = await fixture.connect({ version: "1.0.0" });
    const { terminalId } = await older.spawn(specOf(["/bin/cat"]));
    await older.close();
    const newer = await fixture.connect({ version: "1.1.0" });
    const released = Promise.withResolvers<void>();
    newer.onExit((ended) => {
      if (ended?.terminalId === terminalId) newer.release(terminalId).then(released.resolve, released.reject);
    });
    const [exit] = await Promise.all([newer.end(terminalId), released.promise]);
    expect(exit).toMatchObject({ signal: expect.anything() });
    expect(await newer.list()).toEqual([]);
    expect(newer.host()).toMatchObject({ version: "1.1.0" });
  }
});

test("every request while a host retires is answered, by that host or the next", async () => {
  for (let round = 0; round < 3; round += 1) {
    const fixture = await makeHostFixture();
    const older = await fixture.connect({ version: "1.0.0" });
    const { terminalId } = await older.spawn(specOf(["/bin/true"]));
    await waitUntil(async () => (await older.list())[0]?.exit !== null);
    await older.close();
    const newer = await fixture.connect({ version: "1.1.0" });
    const first = newer.host()?.pid;
    const refusals = new Set<unknown>();
    const asked: Promise<void>[] = [];
    const ask = (call: Promise<unknown>) => {
      const noted = call.then(
        () => undefined,
        (error: unknown) => void refusals.add(isPosternError(error) ? error.code : error),
      );
      asked.push(noted);
      return noted;
    };
    const released = newer.release(terminalId);
    while (newer.host() === null || newer.host()?.pid === first) {
      void ask(newer.release(terminalId));
      void ask(newer.end(terminalId));
      await Promise.race([ask(newer.resize(terminalId, { cols: 80, rows: 24 })), ask(newer.look(terminalId))]);
    }
    await released;
    await Promise.all(asked);
    expect([...refusals]).toEqual(["terminal_gone"]);
  }
});

describe("closing an unused host", () => {
  test("ends the one that this client started", async () => {
    const fixture = await makeHostFixture({ idleExitMs: 60_000 });
    const client = await fixture.connect({ version: "1.0.0" });
    const { pid, pidStartTime } = client.host() ?? { pid: 0, pidStartTime: "" };
    await client.closeUnused();
    await waitUntil(() => !isAlive(pid, pidStartTime));
    expect(await probeTerminalHost(fixture.socketPath, systemClock)).toBeNull();
  });

  test("does not end one that another client started, or one with terminals", async () => {
    const fixture = await makeHostFixture();
    const first = await fixture.connect({ version: "1.0.0" });
    const found = first.host();
    await (await fixture.connect({ version: "1.0.0" })).closeUnused();
    const { terminalId } = await first.spawn(specOf(["/bin/cat"]));
    await first.closeUnused();
    const next = await fixture.connect({ version: "1.0.0" });
    expect(next.host()).toEqual(found);
    expect(await next.list()).toMatchObject([{ terminalId, exit: null }]);
  });
});
