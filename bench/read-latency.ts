// How long until a line that an agent wrote shows in coding_read_session with waitMs? Target: within 100 ms. Measured through the HTTP
// interface of a gateway: sessions on disk of both agents, one of 300 MB, one whose open turn is 30 MB long, and a live one.
//
// `node bench/read-latency.ts [rounds]`
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createWorld, startGateway } from "../test/support/gateway.ts";
import { makeCorpus } from "./corpus.ts";
import { median, quantile, sizeOf } from "./measure.ts";

const targetMs = 100;
const rounds = sizeOf({ full: 60, small: 2, position: 0 });
const warmUps = sizeOf({ full: 5, small: 1 });

const sleeper = {
  name: "sleeper",
  binary: "/bin/sh",
  startArgs: ["-c", "exec sleep 600", "{sessionId}", "{prompt}"],
  transcript: { format: "claude", path: "~/claude/projects/*/{sessionId}.jsonl" },
};
const world = await createWorld({ agents: true, config: { agents: [sleeper] } });
const gateway = await startGateway(world);

interface Case {
  readonly name: string;
  readonly sessionId: string;
  readonly path: string;
  /** The line with which an agent says these words in the middle of a turn. */
  says(words: string): string;
}

const now = (): string => new Date().toISOString();
const line = (value: object): string => `${JSON.stringify(value)}\n`;

function claudeLines(sessionId: string) {
  const common = { isSidechain: false, sessionId, cwd: world.repository, timestamp: now() };
  return {
    prompt: (words: string) => line({ type: "user", message: { role: "user", content: words }, ...common }),
    says: (words: string) => {
      const message = { role: "assistant", content: [{ type: "text", text: words }], stop_reason: "tool_use" };
      return line({ message, type: "assistant", ...common, timestamp: now() });
    },
    did: (id: string, output: string) =>
      line({
        message: { role: "assistant", content: [{ type: "tool_use", id, name: "Bash", input: {} }] },
        type: "assistant",
        ...common,
      }) +
      line({
        type: "user",
        message: { role: "user", content: [{ tool_use_id: id, type: "tool_result", content: output }] },
        ...common,
      }),
  };
}

function onDisk(name: string, sessionId: string, text: readonly string[]): Case {
  const path = join(world.root, "claude", "projects", "-work", `${sessionId}.jsonl`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text.join(""));
  return { name, sessionId, path, says: claudeLines(sessionId).says };
}

function codexOnDisk(): Case {
  const sessionId = "01a1fde1-f2ef-79d0-960c-fb083cfe0840";
  const path = join(
    world.root,
    "codex",
    "sessions",
    "2026",
    "11",
    "21",
    `rollout-2026-11-21T10-00-00-${sessionId}.jsonl`,
  );
  mkdirSync(dirname(path), { recursive: true });
  const event = (payload: object): string => line({ timestamp: now(), type: "event_msg", payload });
  const item = (value: object): string => event({ type: "item_completed", thread_id: sessionId, item: value });
  const says = (text: string): string => item({ type: "AgentMessage", id: text, content: [{ type: "Text", text }] });
  const meta = { id: sessionId, cwd: world.repository, history_mode: "paginated" };
  const prompt = item({ type: "UserMessage", id: "u", content: [{ type: "text", text: "go" }] });
  writeFileSync(
    path,
    line({ timestamp: now(), type: "session_meta", payload: meta }) +
      event({ type: "task_started" }) +
      prompt +
      says("ok"),
  );
  return { name: "codex, on disk", sessionId, path, says };
}

async function giant(): Promise<Case> {
  const { files } = await makeCorpus({
    dir: world.root,
    seed: 1,
    files: 1,
    bytes: sizeOf({ full: 1_000_000_000, small: 60_000_000 }),
  });
  const [file] = files;
  if (file === undefined) throw new Error("no giant was made");
  const { prompt, says } = claudeLines(file.sessionId);
  appendFileSync(file.path, `\n${prompt("go")}${says("ok")}`);
  return { name: "claude, on disk, 300 MB", sessionId: file.sessionId, path: file.path, says };
}

async function live(): Promise<Case> {
  const { sessionId } = await gateway.api.ask({ agent: "sleeper", dir: world.repository, prompt: "go" });
  const { prompt, says } = claudeLines(sessionId);
  return onDisk("live", sessionId, [prompt("go"), says("ok")]);
}

async function measure({ name, sessionId, path, says }: Case): Promise<boolean> {
  const first = await gateway.api.read(sessionId, { last: 1, blocks: false });
  const after = (first.turns[0]?.index ?? 0) - 1;
  const tookMs: number[] = [];
  for (let round = -warmUps; round < rounds; round++) {
    const words = `words of round ${round}.`;
    const answer = gateway.api.read(sessionId, { after, waitMs: 20_000, blocks: false });
    // Long enough that the gateway waits by then: what was written before is not news.
    await sleep(300 + Math.random() * 100);
    const began = performance.now();
    appendFileSync(path, says(words));
    const { turns } = await answer;
    const took = performance.now() - began;
    if (turns.at(-1)?.text.endsWith(words) !== true) throw new Error(`${name}: the answer came without the line`);
    if (round >= 0) tookMs.push(took);
  }
  const [p50, p99] = [median(tookMs), quantile(tookMs, 0.99)];
  console.log(
    `${name}: p50 ${p50.toFixed(1)} ms, ratio ${(p50 / targetMs).toFixed(2)}; p99 ${p99.toFixed(1)} ms, ratio ${(p99 / targetMs).toFixed(2)} (limit ${targetMs} ms); ${rounds} rounds`,
  );
  return p99 <= targetMs;
}

const [plainId, longId] = ["7e331baa-5715-4a38-9016-9f9ed7b1c1ec", "7e331baa-5715-4a38-9016-9f9ed7b1c1ed"];
const plain = claudeLines(plainId);
const long = claudeLines(longId);
const results = Array.from({ length: 1_000 }, (_, n) => long.did(`t${n}`, "output ".repeat(4_300)));
const cases = [
  onDisk("claude, on disk", plainId, [plain.prompt("go"), plain.says("ok")]),
  codexOnDisk(),
  onDisk("claude, on disk, an open turn of 30 MB", longId, [long.prompt("go"), ...results]),
  await giant(),
  await live(),
];
const within: boolean[] = [];
for (const each of cases) within.push(await measure(each));
await gateway.close();
await world.close();
process.exitCode = within.every(Boolean) ? 0 : 1;
