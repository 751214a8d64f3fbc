import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { type ModelServer, type RecordedRequest, startModelServer } from "../model-server/model-server.ts";
import { echoOf } from "../model-server/script.ts";
import { type RawAgent, type RawAgentOptions, startRawAgent } from "../support/raw-agent.ts";

let server: ModelServer;
let agent: RawAgent | undefined;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  await agent?.close();
  agent = undefined;
  await server.close();
});

async function start(name: RawAgentOptions["agent"], options: Partial<RawAgentOptions>): Promise<RawAgent> {
  const binary = inject("agents")[name];
  agent = await startRawAgent({ agent: name, binary, modelServerUrl: server.url, ...options });
  return agent;
}

const patience = { timeout: 30_000, interval: 100 };

function turns(prompt: string): readonly RecordedRequest[] {
  return server.requests.filter((request) => request.kind === "turn" && request.prompt === prompt);
}

async function untilScreenShows(text: string): Promise<void> {
  await expect.poll(() => agent?.screen().join("\n"), patience).toContain(text);
}

/** Every way in which an agent can be driven here. */
const styles = [
  { title: "Claude Code", name: "claude", args: [] },
  { title: "Codex in code mode", name: "codex", args: [] },
  { title: "Codex with classic function calls", name: "codex", args: ["-m", "some-model"] },
] as const;

describe.each(styles)("$title", ({ name, args }) => {
  test("answers a plain prompt, then one typed into the live terminal", async () => {
    await start(name, { args, prompt: "--hello there" });
    await untilScreenShows(echoOf("--hello there"));
    await agent?.prompt("and once more");
    await untilScreenShows(echoOf("and once more"));
    expect(turns("--hello there")).toHaveLength(1);
    expect(turns("and once more")).toHaveLength(1);
  });

  test("thinks, writes a file, runs a command and mentions both results", async () => {
    const prompt = "think about it\nwrite notes.txt with hello world\nrun cat notes.txt; echo made-$((40+2)) > out.txt";
    const { dir } = await start(name, { args, prompt });
    await untilScreenShows("RESULT 2 ok: hello world");
    expect(await readFile(join(dir, "notes.txt"), "utf8")).toMatch(/^hello world\n?$/);
    expect(await readFile(join(dir, "out.txt"), "utf8")).toBe("made-42\n");
    expect(turns(prompt).map(({ reply }) => reply?.kind)).toEqual(["tool", "tool", "text"]);
  });

  test("waits for a slow answer and shows its end", async () => {
    await start(name, { args, prompt: "slow 2500" });
    await expect.poll(() => turns("slow 2500").length, patience).toBe(1);
    const askedAt = turns("slow 2500")[0]?.at ?? 0;
    await untilScreenShows(echoOf("slow 2500"));
    expect(Date.now() - askedAt).toBeGreaterThan(2_000);
  });

  test("shows an API failure and continues with the next prompt", async () => {
    await start(name, { args, prompt: "fail 400" });
    await untilScreenShows("Scripted failure 400");
    await agent?.prompt("better now");
    await untilScreenShows(echoOf("better now"));
  });
});

test("Claude Code tries again when the vendor is overloaded", async () => {
  await start("claude", { prompt: "fail 529 1" });
  await untilScreenShows(echoOf("fail 529 1"));
  expect(turns("fail 529 1").map(({ reply }) => reply?.kind)).toEqual(["error", "text"]);
});

test.each(["claude", "codex"] as const)(
  "a prompt of 100 KB in argv reaches the model byte for byte (%s)",
  async (name) => {
    const prompt = `start "quoted" $HOME \`x\`\n${"é😀\ttab \\ ' words\n".repeat(4_800)}end`;
    expect(Buffer.byteLength(prompt)).toBeGreaterThan(90_000);
    await start(name, { prompt });
    await expect.poll(() => turns(prompt).length, patience).toBe(1);
  },
);
