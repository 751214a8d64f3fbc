import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs, styleText } from "node:util";
import { plainLine, plainText } from "../src/cli/plain-text.ts";
import type { Block } from "../src/wire/turn.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../test/support/gateway.ts";
import { installAgents } from "./install-agents.ts";

// `npm run demo [-- --once]`: a gateway with a temporary home, both real agents and a scripted model. It runs one session per agent
// through the public API and prints the turns. Then it stays up until Ctrl-C, or exits with --once.

const { values } = parseArgs({ options: { once: { type: "boolean", default: false } } });

/** Far more than the sessions take; an agent that does not answer ends the demo with an error. */
const patienceMs = 90_000;

const dim = (text: string): string => styleText("dim", text);
const bold = (text: string): string => styleText("bold", text);

function say(text: string): void {
  console.log(text);
}

/** Prints the lines of `text` after `label`, which is on the first line only. */
function labelled(label: string, text: string): void {
  const width = 9;
  plainText(text)
    .trim()
    .split("\n")
    .forEach((line, index) => say(`  ${bold((index === 0 ? label : "").padEnd(width))}${line}`));
}

function showBlock(block: Block): void {
  if (block.type === "text") labelled("agent", block.text);
  else if (block.type === "thinking") labelled("", dim(`(thinks: ${block.text.trim()})`));
  else {
    const outcome =
      block.result === null ? "…" : block.result.ok ? styleText("green", "ok") : styleText("red", "failed");
    labelled("tool", `${block.name} ${dim(cut(JSON.stringify(block.input), 90))} ${outcome}`);
    if (block.result !== null) for (const line of resultLines(block.result.text)) labelled("", dim(`  ${line}`));
  }
}

function cut(text: string | undefined, length: number): string {
  const line = plainLine(text ?? "");
  return line.length > length ? `${line.slice(0, length)}…` : line;
}

const shownResultLines = 4;

function resultLines(text: string): readonly string[] {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(0, shownResultLines).map((line) => cut(line, 100));
}

/** Prints a session's turns as they arrive. */
interface Follower {
  /** Prints each new block once it is complete, until the agent has answered `prompts` prompts and is idle. */
  until(prompts: number): Promise<void>;
}

function createFollower(gateway: TestGateway, sessionId: string): Follower {
  /** How many blocks of each turn are printed; 0 or 1 for a turn of the user. */
  const shown = new Map<number, number>();
  let after = -1;

  async function showNew(prompts: number): Promise<boolean> {
    const { turns, nextAfter, activity, status } = await gateway.api.read(sessionId, { after, waitMs: 1_000 });
    if (status === "failed") throw new Error(`The agent of session ${sessionId} could not start.`);
    const idle = activity === "idle" || status === "completed";
    for (const turn of turns) {
      const before = shown.get(turn.index) ?? 0;
      // The last block of a running turn can still grow: it is shown when another follows, or at the end.
      const ended = idle || turn.index <= nextAfter;
      const complete = turn.role === "user" ? 1 : ended ? turn.blocks.length : completeBlocks(turn.blocks);
      if (turn.role === "assistant") turn.blocks.slice(before, complete).forEach(showBlock);
      else if (before === 0) labelled("you", turn.text);
      shown.set(turn.index, Math.max(before, complete));
    }
    after = nextAfter;
    return idle && (shown.get(2 * prompts - 1) ?? 0) > 0;
  }

  return {
    async until(prompts) {
      for (const deadline = Date.now() + patienceMs; !(await showNew(prompts)); await sleep(50)) {
        if (Date.now() > deadline)
          throw new Error(`Session ${sessionId} did not finish within ${patienceMs / 1000} s.`);
      }
    },
  };
}

function completeBlocks(blocks: readonly Block[]): number {
  const open = blocks.findIndex((block) => block.type === "tool_call" && block.result === null);
  return open === -1 ? Math.max(0, blocks.length - 1) : open;
}

/** A new session, then a second prompt into the same live process. */
async function converse(world: World, gateway: TestGateway, agent: string): Promise<void> {
  const { api } = gateway;
  const dir = world.repository;
  const prompt = [
    "Leave a note in this repository and show me that it is there.",
    "think A note first, then a look at it.",
    `write notes-of-${agent}.md with Written by ${agent} in a terminal that Postern keeps alive.`,
    `run git status --short && cat notes-of-${agent}.md`,
    "say The note is there.",
  ].join("\n");
  const started = await api.ask({ agent, dir, prompt, permissionMode: "all" });
  const { sessionId } = started;
  say(`\n${styleText("cyan", `── ${agent}`)} ${dim(`session ${sessionId}, process ${started.pid}`)}`);
  const follower = createFollower(gateway, sessionId);
  await follower.until(1);
  const second = await api.ask({ dir, sessionId, prompt: "And what do you say to a second prompt?\nslow 800" });
  say(dim(`  second prompt: ${second.started}, process ${second.pid}`));
  await follower.until(2);
}

/** Resolves at Ctrl-C at any time: agents outlive a gateway, so the demo must always clean up. */
function interruption(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
}

async function main(): Promise<void> {
  const interrupted = interruption();
  say(bold("Postern demo") + dim(": real agents, a scripted model, nothing leaves this machine"));
  await installAgents((sentence) => say(dim(sentence)));
  const world = await createWorld({ agents: true });
  try {
    const startedAt = performance.now();
    const gateway = await startGateway(world);
    try {
      say(dim(`gateway     ${gateway.app.baseUrl}, up after ${Math.round(performance.now() - startedAt)} ms`));
      say(dim(`model       ${world.modelServer.url}`));
      say(dim(`repository  ${world.repository}`));
      await Promise.race([interrupted, show(world, gateway, interrupted)]);
    } finally {
      await gateway.close();
    }
  } finally {
    say(dim("Ending the agents and removing the temporary folders …"));
    await world.close();
  }
}

async function show(world: World, gateway: TestGateway, interrupted: Promise<void>): Promise<void> {
  for (const agent of ["claude-code", "codex"]) await converse(world, gateway, agent);
  if (values.once) return;
  await invite(gateway);
  await interrupted;
}

async function invite(gateway: TestGateway): Promise<void> {
  const { accountId } = await gateway.app.accounts.owner();
  const scopes = ["coding:read", "coding:write"] as const;
  const wanted = { name: "demo", scopes, folders: null, expiresAt: null };
  const { token } = await gateway.app.accounts.tokens.create(accountId, wanted);
  const { url } = await gateway.app.accounts.signIn.createUrl(accountId, gateway.app.baseUrl);
  say(`\n${bold(`The gateway is running at ${gateway.app.baseUrl}`)}. Press Ctrl-C to stop it.`);
  say(`Sign in (single use, expires in 10 minutes): ${url}`);
  say(dim("Your own prompts are echoed back, because there is no real model."));
  say("With curl:");
  say(`  curl -H 'Authorization: Bearer ${token}' ${gateway.app.baseUrl}/manifest`);
}

try {
  await main();
} catch (error) {
  console.error(`The demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
