import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { runPostern } from "../support/postern-process.ts";
import { type ShellTerminal, startInShell } from "../support/shell-terminal.ts";

/** A program with every mode that must be put back, which shows what it is sent. */
const program = `
const say = (text) => process.stdout.write(text);
process.stdin.setRawMode(true);
const size = () => process.stdout.columns + "x" + process.stdout.rows;
say("\\x1b[?1h\\x1b=\\x1b[?1000;1002;1006h\\x1b[?1004h\\x1b[?2004h\\x1b[?25l\\x1b[4 q\\x1b[31mready " + size() + "\\r\\n");
let tick = 0;
process.stdout.on("resize", () => say("size " + size() + "\\r\\n"));
process.stdin.on("data", (data) => {
  const text = data.toString("latin1");
  if (text === "q") process.exit(7);
  if (text === "a") say("\\x1b[?1049h\\x1b[2J\\x1b[Halternate\\r\\n");
  else if (text === "d") {
    require("node:child_process").execFileSync("stty", ["-opost"], { stdio: "inherit" });
    say("\\x1b[2J\\x1b[Hstairs"); say("\\ndown\\r"); say("\\nand down\\r\\n");
  }
  else if (text === "b") say("\\x1b[c\\x1b[6n\\x1b[21t\\x1b]52;c;RVZJTA==\\x07\\x1b]11;?\\x07asked\\r\\n");
  else if (text === "c") { const count = () => { say("tick " + ++tick + "\\r\\n"); if (tick < 250) setTimeout(count, 10); }; count(); }
  else say("got " + JSON.stringify(text) + "\\r\\n");
});
`;

const agents = [
  { name: "screen", binary: process.execPath, startArgs: ["-e", program, "{prompt}"], readyPattern: "ready" },
];

let world: World;
let gateway: TestGateway;
let shell: ShellTerminal | undefined;
beforeAll(async () => {
  world = await createWorld({ agents: false, config: { agents } });
  gateway = await startGateway(world);
});
afterEach(async () => {
  await shell?.close();
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

const timeout = 20_000;

async function newSession(): Promise<string> {
  const { body } = await gateway.api.post<{ sessionId: string }>("/api/coding/spawn", {
    agent: "screen",
    dir: world.repository,
    cols: 60,
    rows: 20,
  });
  return body.sessionId;
}

async function attached(
  sessionId: string,
  options: {
    readonly args?: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
    readonly cols?: number;
  } = {},
): Promise<ShellTerminal> {
  const { args = [], env = {}, cols = 80 } = options;
  shell = await startInShell(["attach", sessionId, ...args], {
    env: { ...world.env, HOME: join(world.root, "user"), ...env },
    cols,
  });
  return shell;
}

/** The state of an unchanged terminal. */
const untouched = {
  cursorHidden: false,
  alternate: false,
  modes: {
    applicationCursorKeysMode: false,
    applicationKeypadMode: false,
    bracketedPasteMode: false,
    insertMode: false,
    mouseTrackingMode: "none",
    originMode: false,
    sendFocusMode: false,
    wraparoundMode: true,
  },
};

test("typing and a new size reach the program, and the detach key leaves it alone with everything put back", async () => {
  const sessionId = await newSession();
  const terminal = await attached(sessionId);
  await expect.poll(() => terminal.screen(), { timeout }).toContain("size 80x24");
  terminal.write("hello");
  await expect.poll(() => terminal.screen(), { timeout }).toContain('got "hello"');
  terminal.write("d");
  await expect.poll(() => terminal.screen(), { timeout }).toMatch(/^stairs\n {6}down\nand down\n/);
  terminal.resize(100, 30);
  await expect.poll(() => terminal.screen(), { timeout }).toContain("size 100x30");
  expect(terminal.picture()).toMatchObject({
    cursorHidden: true,
    modes: { bracketedPasteMode: true, mouseTrackingMode: "drag" },
  });
  terminal.write("\x1c");
  const { code, before, after } = await terminal.ended();
  expect({ code, after }).toEqual({ code: 0, after: before });
  expect(terminal.picture()).toMatchObject(untouched);
  expect(terminal.screen()).toContain("Detached.");
});

const crash = 'process.on("SIGUSR2", () => { throw new Error("it broke"); });';
const waysOut = [
  {
    way: "the program's end",
    leave: (terminal: ShellTerminal) => terminal.write("q"),
    code: 7,
    says: "exited with code 7",
  },
  { way: "SIGTERM", leave: (_: ShellTerminal, pid: number) => process.kill(pid, "SIGTERM"), code: 143, says: "" },
  { way: "SIGHUP", leave: (_: ShellTerminal, pid: number) => process.kill(pid, "SIGHUP"), code: 129, says: "" },
  {
    way: "an uncaught error",
    leave: (_: ShellTerminal, pid: number) => process.kill(pid, "SIGUSR2"),
    code: 1,
    says: "it broke",
  },
];

test.each(waysOut)("$way puts the terminal back, from the alternate screen too", async ({ leave, code, says }) => {
  const sessionId = await newSession();
  const crashPath = join(world.root, "crash.mjs");
  await writeFile(crashPath, crash);
  const terminal = await attached(sessionId, { env: { NODE_OPTIONS: `--import=${crashPath}` } });
  await expect.poll(() => terminal.screen(), { timeout }).toContain("size 80x24");
  terminal.write("a");
  await expect.poll(() => terminal.screen(), { timeout }).toContain("alternate");
  expect(terminal.picture()).toMatchObject({ alternate: true, cursorHidden: true });
  leave(terminal, await terminal.commandPid());
  const end = await terminal.ended();
  expect(end).toEqual({ code, before: end.before, after: end.before });
  expect(terminal.picture()).toMatchObject(untouched);
  expect(terminal.screen()).toContain(says);
});

test("no question of the program reaches the user's terminal, nor its clipboard, and no answer of it the program", async () => {
  const terminal = await attached(await newSession());
  await expect.poll(() => terminal.screen(), { timeout }).toContain("size 80x24");
  terminal.write("b");
  await expect.poll(() => terminal.screen(), { timeout }).toContain("asked");
  expect(terminal.output()).not.toMatch(/\x1b\]52|\x1b\[c|\x1b\[6n|\x1b\[21t|\x1b\]11/);
  terminal.write("\x1b[?62;c\x1b[12;40R\x1b]11;rgb:0000/0000/0000\x1b\\\x1bP>|xterm\x1b\\");
  terminal.write("\x1b[200~\x1b[?62;c\x1b[201~");
  // One of each response by the host, in addition to the pasted text.
  await expect.poll(() => terminal.screen(), { timeout }).toContain('got "\\u001b[200~\\u001b[?62;c\\u001b[201~"');
  expect(terminal.screen()).not.toContain("62;c\\u001b[12");
  expect(terminal.screen()).not.toContain(">|xterm\\");
});

test("continues where it was when the gateway restarts, and shows it meanwhile", async () => {
  const sessionId = await newSession();
  const terminal = await attached(sessionId);
  await expect.poll(() => terminal.screen(), { timeout }).toContain("size 80x24");
  terminal.write("c");
  await expect.poll(() => terminal.screen(), { timeout }).toContain("tick 20");
  await gateway.close();
  await expect.poll(() => terminal.screen(), { timeout }).toContain("Connection lost.");
  terminal.write("lost");
  gateway = await startGateway(world);
  await expect.poll(() => terminal.screen(), { timeout }).toContain("tick 250");
  const ticks = [...terminal.output().matchAll(/tick (\d+)\r/g)].map(([, tick]) => Number(tick));
  expect(ticks).toEqual(Array.from({ length: 250 }, (_, index) => index + 1));
  terminal.write("still");
  await expect.poll(() => terminal.screen(), { timeout }).toContain('got "still"');
  expect(terminal.screen()).not.toContain("lost");
  // The alternate screen is sent again.
  terminal.write("a");
  await expect.poll(() => terminal.screen(), { timeout }).toContain("alternate");
  await gateway.close();
  await expect.poll(() => terminal.screen(), { timeout }).toContain("Connection lost.");
  gateway = await startGateway(world);
  await expect.poll(() => terminal.screen(), { timeout }).toMatch(/^alternate\n/);
  expect(terminal.picture()).toMatchObject({
    alternate: true,
    cursorHidden: true,
    modes: { bracketedPasteMode: true },
  });
  terminal.write("\x1c");
  expect((await terminal.ended()).code).toBe(0);
  expect(terminal.picture()).toMatchObject(untouched);
});

test("leaves by its key while the gateway is away", async () => {
  const terminal = await attached(await newSession(), { args: ["--detach-key", "^]"] });
  await expect.poll(() => terminal.screen(), { timeout }).toContain("size 80x24");
  await gateway.close();
  await expect.poll(() => terminal.screen(), { timeout }).toContain("ctrl+] detaches");
  terminal.write("\x1d");
  expect(await terminal.ended()).toMatchObject({ code: 0 });
  expect(terminal.picture()).toMatchObject(untouched);
  gateway = await startGateway(world);
});

test("an observer in a smaller window sees the part around the cursor, changes nothing, and never garbage", async () => {
  const sessionId = await newSession();
  const terminal = await attached(sessionId, { args: ["--observe"], cols: 9 });
  await expect.poll(() => terminal.screen(), { timeout }).toContain("ready 60x\n");
  expect(terminal.screen()).toContain("(session");
  terminal.write("ignored");
  terminal.resize(50, 10);
  await expect.poll(() => terminal.screen(), { timeout }).toContain("ready 60x20");
  expect(terminal.screen()).not.toContain("got");
  terminal.resize(60, 20);
  await expect.poll(() => terminal.picture().alternate, { timeout }).toBe(false);
  await expect.poll(() => terminal.screen(), { timeout }).toMatch(/^ready 60x20\n/);
  terminal.write("\x1c");
  expect(await terminal.ended()).toMatchObject({ code: 0 });
  expect(terminal.picture()).toMatchObject(untouched);
  const { body } = await gateway.api.post<{ status: string }>("/api/coding/coding_read_session", { sessionId });
  expect(body.status).not.toBe("failed");
});

test("of two that type in windows of other sizes each has the terminal while it types, and sees a part of it meanwhile", async () => {
  const sessionId = await newSession();
  const other = await attached(sessionId, { cols: 100 });
  await expect.poll(() => other.screen(), { timeout }).toContain("size 100x24");
  const mine = await attached(sessionId);
  try {
    await expect.poll(() => mine.screen(), { timeout }).toContain("size 100x24");
    expect(mine.picture().alternate).toBe(true);
    for (const round of [1, 2]) {
      for (const [typing, cols, looking] of [
        [mine, 80, other],
        [other, 100, mine],
      ] as const) {
        const word = `${cols}-${round}`;
        typing.write(word);
        await expect.poll(() => typing.picture().alternate, { timeout }).toBe(false);
        await expect
          .poll(() => typing.screen(), { timeout })
          .toMatch(new RegExp(`got "${word}"[^]*size ${cols}x24|size ${cols}x24[^]*got "${word}"`));
        await expect.poll(() => looking.picture().alternate, { timeout }).toBe(true);
        await expect.poll(() => looking.screen(), { timeout }).toContain(`got "${word}"`);
      }
    }
    // The size was changed once for each that typed, and for the one that came first.
    const sizes = [...other.screen().matchAll(/size (\d+)x24/g)].map(([, cols]) => cols);
    expect(sizes).toEqual(["100", "80", "100", "80", "100"]);
  } finally {
    await other.close();
  }
});

test("without a terminal, a session or a gateway it says so and leaves the terminal alone", async () => {
  const env = { ...world.env, HOME: join(world.root, "user") };
  const piped = await runPostern(["attach", "0b0c"], { env });
  expect(piped).toMatchObject({ code: 1, stderr: expect.stringContaining("not_a_terminal") });
  const unknown = await attached("0b0c");
  expect(await unknown.ended()).toMatchObject({ code: 1 });
  expect(unknown.screen()).toContain("session_not_found");
  await unknown.close();
  const alone = await attached("0b0c", { env: { POSTERN_HOME: join(world.root, "other-home") } });
  expect(await alone.ended()).toMatchObject({ code: 3 });
  expect(alone.screen()).toContain("gateway_not_running");
});
