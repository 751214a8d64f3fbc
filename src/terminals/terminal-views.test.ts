import { describe, expect, test } from "vitest";
import { makeHostFixture, scriptSpec, specOf, waitUntil } from "../../test/support/terminal-host.ts";
import { reader, reading, type, viewsOf } from "../../test/support/terminal-views.ts";
import { useTerminalHost } from "../../test/support/use-terminal-host.ts";
import { createMemoryLink } from "../../test/support/viewer-link.ts";
import { PosternError } from "../core/errors.ts";

const patience = { timeout: 15_000, interval: 20 };
const terminalHost = useTerminalHost();

describe("a viewer", () => {
  test.for(["plain", "v1"] as const)("(%s) sees what was there and what comes, then how it ended", async (protocol) => {
    const { spawn, view } = viewsOf(terminalHost());
    const id = await spawn(scriptSpec(reading));
    const early = view(id, { protocol });
    await expect.poll(() => early.lines(), patience).toContain("ready");
    type(early, "abc");
    await expect.poll(() => early.lines(), patience).toContain("<616263>");
    const late = view(id, { protocol });
    await expect.poll(() => late.lines(), patience).toEqual(await early.lines());
    type(late, "\x04");
    await expect.poll(() => [early.closed()?.code, late.closed()?.code], patience).toEqual([1000, 1000]);
    expect(await early.lines()).toEqual(["ready", "<616263><04>"]);
    expect(await late.lines()).toEqual(["ready", "<616263><04>"]);
    for (const link of [early, late]) {
      expect(link.frames.filter(({ kind }) => kind === "exit")).toEqual([{ kind: "exit", exitCode: 7, signal: null }]);
      expect(link.frames.at(-1)?.kind).toBe("exit");
    }
  });

  test("gets every byte before the exit frame, and in whole characters", async () => {
    const { spawn, view } = viewsOf(terminalHost());
    const script = `process.stdin.once("data", () => {
      process.stdout.write("日本👍ü".repeat(40000) + '\\n{"kind":"exit","exitCode":3,"signal":null}\\n' + "end", () => process.exit(3));
    }); console.log("ready");`;
    const id = await spawn(scriptSpec(script));
    const plain = view(id, { protocol: "plain", link: createMemoryLink({ paint: false }) });
    await expect.poll(() => plain.texts.join(""), patience).toContain("ready");
    type(plain, "\r");
    await expect.poll(() => plain.closed()?.code, patience).toBe(1000);
    const text = plain.texts.join("");
    expect(text).not.toContain("\ufffd");
    expect(text.match(/日本👍ü/g)).toHaveLength(40_000);
    expect(text.endsWith('{"kind":"exit","exitCode":3,"signal":null}\r\nend')).toBe(true);
    expect(plain.frames).toEqual([{ kind: "exit", exitCode: 3, signal: null }]);
  });

  test("resumes where it left off, with nothing lost or repeated", async () => {
    const { spawn, view } = viewsOf(terminalHost());
    const id = await spawn(specOf(["/bin/sh", "-c", "read go; seq 20000; read go; seq 20001 40000; read go"]));
    const first = view(id);
    await expect.poll(() => first.frames[0]?.kind, patience).toBe("hello");
    type(first, "go\r");
    await expect.poll(() => first.output().includes("\n20000\r"), patience).toBe(true);
    const at = first.offset() - 5_000;
    first.viewer?.leave();
    const again = view(id, { continueAt: { terminalId: id, offset: at } });
    await expect.poll(() => again.frames[0], patience).toMatchObject({ kind: "hello", continued: true, offset: at });
    type(again, "go\r");
    await expect.poll(() => again.output().includes("\n40000\r"), patience).toBe(true);
    expect(again.screens()).toBe(0);
    const whole = Buffer.concat([first.output().subarray(0, first.output().byteLength - 5_000), again.output()]);
    const numbers = whole.toString().match(/\d+(?=\r)/g) ?? [];
    expect(numbers).toEqual(Array.from({ length: 40_000 }, (_, n) => String(n + 1)));
  });

  test("that was in another terminal gets the screen", async () => {
    const { spawn, view } = viewsOf(terminalHost());
    const id = await spawn(scriptSpec(reading));
    const link = view(id, { continueAt: { terminalId: "another", offset: 1 } });
    await expect.poll(() => link.lines(), patience).toContain("ready");
    expect(link.frames[0]).toMatchObject({ kind: "hello", continued: false, terminalId: id });
    expect(link.screens()).toBe(1);
  });

  test("can type before the terminal is ready, in order and within a limit", async () => {
    const found = Promise.withResolvers<void>();
    const { spawn, view, client } = viewsOf(terminalHost(), {
      sources: [
        async (id) => {
          await found.promise;
          return { terminalId: id, watch: () => () => undefined };
        },
      ],
    });
    const id = await spawn(scriptSpec(reading));
    await waitUntil(async () => (await client.snapshot(id)).lines[0] === "ready");
    const link = view(id);
    type(link, '{"kind":"resize","cols":50,"rows":10}');
    type(link, "a");
    link.viewer?.receive(Buffer.from('{"kind":"input","data":"b"}'), false);
    link.viewer?.receive(Buffer.from("c"), true);
    const greedy = view(id);
    for (let count = 0; count < 17; count += 1) type(greedy, "x".repeat(64 * 1024));
    expect(greedy.closed()?.code).toBe(4400);
    found.resolve();
    await expect.poll(async () => (await link.lines()).join(""), patience).toMatch(/<61>?<?62>?<?63>/);
    expect(await client.snapshot(id)).toMatchObject({ cols: 50, rows: 10 });
  });
});

describe("drivers and observers", () => {
  test("an observer neither types nor resizes, and gets the number of other viewers", async () => {
    const { spawn, view, client } = viewsOf(terminalHost());
    const id = await spawn(scriptSpec(reading, { cols: 70, rows: 20 }));
    const observer = view(id, { caller: reader, size: { cols: 30, rows: 10 } });
    await expect.poll(() => observer.lines(), patience).toContain("ready");
    expect(observer.frames[0]).toMatchObject({ kind: "hello", mode: "observe" });
    type(observer, "nothing");
    type(observer, '{"kind":"resize","cols":30,"rows":10}');
    const desk = view(id);
    type(desk, "yes");
    await expect.poll(() => observer.lines(), patience).toEqual(["ready", "<796573>"]);
    expect(await client.snapshot(id)).toMatchObject({ cols: 70, rows: 20 });
    await expect
      .poll(() => observer.frames.at(-1), patience)
      .toEqual({ kind: "viewers", drivers: 1, observers: 1, sizer: false });
    desk.viewer?.leave();
    expect(observer.frames.at(-1)).toEqual({ kind: "viewers", drivers: 0, observers: 1, sizer: false });
  });

  test("a size that could not be applied is sent again with the next key", async () => {
    const host = terminalHost();
    let refused = 0;
    const { spawn, view } = viewsOf({
      ...host,
      async resize(id, size) {
        if (refused >= 2) return host.resize(id, size);
        refused += 1;
        throw new PosternError("terminal_host_unavailable", "It is busy.");
      },
    });
    const id = await spawn(scriptSpec(reading));
    const desk = view(id, { size: { cols: 40, rows: 11 } });
    await expect.poll(() => desk.lines(), patience).toContain("ready");
    type(desk, "a");
    await expect.poll(() => desk.lines(), patience).toContain("<61>");
    expect(refused).toBe(2);
    type(desk, "b");
    await expect.poll(() => desk.size(), patience).toEqual({ cols: 40, rows: 11 });
  });

  test("the terminal has the size of the driver that acted last, and all viewers are notified", async () => {
    const { spawn, view, client } = viewsOf(terminalHost());
    const id = await spawn(scriptSpec(reading, { cols: 70, rows: 20 }));
    const desk = view(id, { size: { cols: 100, rows: 30 } });
    await expect.poll(() => desk.size(), patience).toEqual({ cols: 100, rows: 30 });
    const phone = view(id, { size: { cols: 40, rows: 15 } });
    await expect.poll(() => phone.size(), patience).toEqual({ cols: 100, rows: 30 });
    type(phone, "x");
    for (const link of [desk, phone]) await expect.poll(() => link.size(), patience).toEqual({ cols: 40, rows: 15 });
    expect(phone.frames.at(-1)).toMatchObject({ kind: "size" });
    expect(phone.frames.findLast(({ kind }) => kind === "viewers")).toMatchObject({ drivers: 2, sizer: true });
    phone.viewer?.leave();
    await expect.poll(() => desk.size(), patience).toEqual({ cols: 100, rows: 30 });
    expect(await client.snapshot(id)).toMatchObject({ cols: 100, rows: 30 });
  });

  test("of three viewers, whose terminals all answer, the program gets one answer", async () => {
    const { spawn, view } = viewsOf(terminalHost());
    const asking = `
      process.stdin.setRawMode(true);
      let all = "";
      process.stdin.on("data", (data) => {
        all += data.toString("latin1");
        if (all.endsWith("go")) { all = ""; process.stdout.write("\\x1b[6n\\x1b[c\\x1b]11;?\\x1b\\\\"); }
        else if (/rgb:.*\\\\$/.test(all)) process.stdout.write("answered\\r\\n");
        else if (all.endsWith("tell")) process.stdout.write("got " + JSON.stringify(all) + "\\r\\n");
      });
      console.log("ready");`;
    const id = await spawn(scriptSpec(asking, { cols: 200 }));
    const links = [view(id), view(id), view(id, { protocol: "plain" })];
    for (const link of links) await expect.poll(() => link.lines(), patience).toContain("ready");
    const [first] = links;
    if (first === undefined) throw new Error("There are three.");
    type(first, "go");
    // Answers arrive in the order of the queries: the one for the colour is the last.
    for (const link of links) await expect.poll(() => link.lines(), patience).toContain("answered");
    for (const link of links) type(link, "\x1b[2;1R\x1b[?1;2c\x1b]11;rgb:ffff/ffff/ffff\x1b\\");
    type(first, "tell");
    await expect.poll(async () => (await first.lines()).join("\n"), patience).toContain("got");
    const got = (await first.lines()).join("\n");
    expect(got.match(/\[2;1R/g)).toHaveLength(1);
    expect(got.match(/\[\?1;2c/g)).toHaveLength(1);
    expect(got.match(/rgb:/g)).toHaveLength(1);
    expect(got).not.toContain("rgb:ffff/ffff/ffff");
  });

  test("a viewer is recorded while it is connected", async () => {
    const { spawn, view, watched } = viewsOf(terminalHost());
    const id = await spawn(scriptSpec(reading));
    const desk = view(id, { permissionsInTerminal: true });
    const observer = view(id, { permissionsInTerminal: true, mode: "observe" });
    await expect.poll(() => watched.length, patience).toBe(2);
    desk.viewer?.leave();
    desk.viewer?.leave();
    observer.viewer?.leave();
    const words = ["drive with permissions", "observe"];
    expect(watched.toSorted()).toEqual(["+", "-"].flatMap((sign) => words.map((word) => `${sign} ${word}`)).toSorted());
  });
});

describe("a viewer's link", () => {
  test.for([
    ["session_not_found", 4404],
    ["session_busy", 4409],
    ["dir_not_allowed", 4403],
    ["too_many_sessions", 1013],
    ["terminal_host_unavailable", 1012],
    ["agent_not_configured", 4400],
  ] as const)("is closed for %s with %d", async ([code, close]) => {
    const { view } = viewsOf(terminalHost(), {
      sources: [() => Promise.reject(new PosternError(code, "The words of it."))],
    });
    const link = view("any");
    await expect.poll(() => link.closed(), patience).toMatchObject({ code: close });
    if (close < 4_000) return;
    expect(link.closed()?.reason).toContain("The words of it.");
  });

  test("goes to the resumed program when the one it found is being ended in that moment", async () => {
    let ending = true;
    const resumed: string[] = [];
    const { spawn, view } = viewsOf(terminalHost(), {
      sources: [(terminalId) => (ending ? { terminalId, watch: () => ((ending = false), null) } : null)],
      gone: {
        resume: async (terminalId) => (resumed.push(terminalId), { terminalId, watch: () => () => undefined }),
        remains: () => Promise.reject(new PosternError("session_not_found", "There is no such session.")),
      },
    });
    const id = await spawn(scriptSpec(reading));
    const driving = view(id);
    await expect.poll(async () => (await driving.lines()).join("\n"), patience).toContain("ready");
    expect(resumed).toEqual([id]);
  });

  test("gives an observer of an ended program the last screen and the exit, and a driver a new program", async () => {
    const resumed: unknown[] = [];
    const { spawn, view } = viewsOf(terminalHost(), {
      sources: [() => null],
      gone: {
        resume: async (sessionId, _caller, { size }) => {
          resumed.push(size);
          return { terminalId: sessionId, watch: () => () => undefined };
        },
        remains: async () => ({
          terminalId: "gone",
          screen: { ansi: "the last\r\nscreen", cols: 80, rows: 24, offset: 18 },
          exitCode: 129,
          signal: "SIGHUP",
        }),
      },
    });
    const id = await spawn(scriptSpec(reading));
    for (const protocol of ["plain", "v1"] as const) {
      const observer = view(id, { caller: reader, protocol });
      await expect.poll(() => observer.closed()?.code, patience).toBe(1000);
      expect(await observer.lines()).toEqual(["the last", "screen"]);
      expect(observer.frames.at(-1)).toEqual({ kind: "exit", exitCode: 129, signal: "SIGHUP" });
    }
    // A reconnecting driver has not asked to resume the agent.
    for (const offset of [18, undefined]) {
      const back = view(id, { continueAt: { terminalId: id, offset } });
      await expect.poll(() => back.closed()?.code, patience).toBe(1000);
      expect(back.frames.at(-1)).toEqual({ kind: "exit", exitCode: 129, signal: "SIGHUP" });
    }
    expect(resumed).toEqual([]);
    const desk = view(id, { size: { cols: 90_000, rows: 30 } });
    await expect.poll(() => desk.lines(), patience).toContain("ready");
    expect(resumed).toEqual([{ cols: 1_000, rows: 30 }]);
  });

  test("is refused when a terminal has too many viewers", async () => {
    const { spawn, view } = viewsOf(terminalHost());
    const id = await spawn(scriptSpec(reading));
    const links = Array.from({ length: 65 }, () => view(id, { link: createMemoryLink({ paint: false }) }));
    await expect.poll(() => links.filter((link) => link.closed() !== null).length, patience).toBe(1);
    expect(links.find((link) => link.closed() !== null)?.closed()?.code).toBe(1013);
    await expect.poll(() => links.filter((link) => link.frames.length > 0).length, patience).toBe(64);
    links[0]?.viewer?.leave();
    const next = view(id);
    await expect.poll(() => next.frames[0]?.kind, patience).toBe("hello");
  });

  test("can be reopened after a lost terminal host or a stopped gateway", async () => {
    const host = await (await makeHostFixture()).connect();
    const { spawn, view, views, client } = viewsOf(host);
    const stopped = view(await spawn(scriptSpec(reading)));
    await expect.poll(() => stopped.lines(), patience).toContain("ready");
    process.kill(host.host()?.pid ?? 0, "SIGKILL");
    await expect.poll(() => stopped.closed()?.code, patience).toBe(1012);
    await expect.poll(() => client.list().catch(() => null), patience).toEqual([]);
    const next = await spawn(scriptSpec(reading));
    const link = view(next);
    await expect.poll(() => link.lines(), patience).toContain("ready");
    views.close();
    expect(link.closed()?.code).toBe(1012);
    expect(view(next).closed()?.code).toBe(1012);
  });
});
