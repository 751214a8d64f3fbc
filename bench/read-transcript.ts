/**
 * How long does it take to read the last 20 turns of a 200 MB transcript, first and again, and what does it cost in memory?
 * Compared with a bare loop, in the same run, that reads the same file and parses every line.
 *
 * `node bench/read-transcript.ts [megabytes]`
 */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { createReadStream, createWriteStream, rmSync } from "node:fs";
import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { type FormatName, transcriptFormats } from "../src/agents/transcript-formats.ts";
import { systemClock } from "../src/core/clock.ts";
import { silentLog } from "../src/core/log.ts";
import { createTranscripts } from "../src/transcripts/index.ts";
import { makeTestFolder } from "../test/support/test-folder.ts";
import { sizeOf } from "./measure.ts";

const turnsToRead = 20;

interface Measured {
  readonly firstMs: number;
  readonly warmMs: number;
  readonly grownMs: number;
  readonly extraRssMb: number;
  readonly longestStretchMs: number;
  readonly turnCount: number;
  readonly turnKb: number;
}

const [mode, argument, format] = process.argv.slice(2);
if (mode === "--measure" && argument !== undefined)
  console.log(JSON.stringify(await measure(argument, format === "codex" ? "codex" : "claude")));
else if (mode === "--bare" && argument !== undefined) console.log(JSON.stringify(await bareLoop(argument)));
else await main(sizeOf({ full: 200, small: 10, position: 0 }));

async function main(megabytes: number): Promise<void> {
  const folder = makeTestFolder("bench");
  try {
    for (const agent of ["claude", "codex"] as const) {
      const path = join(folder, `${agent}.jsonl`);
      await generate(path, agent, megabytes * 1024 * 1024);
      const bare: { ms: number } = JSON.parse(child("--bare", path, agent));
      const ours: Measured = JSON.parse(child("--measure", path, agent));
      console.log(
        `${agent}: ${megabytes} MB, ${ours.turnCount} turns of ${ours.turnKb.toFixed(0)} KB | first ${ours.firstMs.toFixed(0)} ms` +
          ` | again ${ours.warmMs.toFixed(2)} ms | after a turn was added ${ours.grownMs.toFixed(2)} ms` +
          ` | extra RSS ${ours.extraRssMb.toFixed(0)} MB | longest stretch ${ours.longestStretchMs.toFixed(0)} ms` +
          ` | bare loop ${bare.ms.toFixed(0)} ms, ratio ${(ours.firstMs / bare.ms).toFixed(3)}`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function child(what: string, path: string, agent: FormatName): string {
  return execFileSync(process.execPath, [import.meta.filename, what, path, agent], { encoding: "utf8" });
}

async function measure(path: string, agent: FormatName): Promise<Measured> {
  const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const rssBefore = process.memoryUsage.rss();
  delay.enable();
  const read = async (): Promise<{ readonly ms: number; readonly turns: number }> => {
    const began = performance.now();
    const answer = await transcripts.read(path, agent, { limit: turnsToRead });
    if (answer?.turns.length !== turnsToRead) throw new Error(`read ${answer?.turns.length} turns`);
    return { ms: performance.now() - began, turns: answer.summary.turnCount };
  };
  const first = await read();
  delay.disable();
  const extraRssMb = (process.resourceUsage().maxRSS * 1024 - rssBefore) / 1024 / 1024;
  const warm = await read();
  await appendFile(path, [...turnLines(agent, 1_000_000)].join(""));
  const grown = await read();
  await transcripts.close();
  return {
    firstMs: first.ms,
    warmMs: warm.ms,
    grownMs: grown.ms,
    extraRssMb,
    longestStretchMs: delay.max / 1e6,
    turnCount: first.turns,
    turnKb: (2 * [...turnLines(agent, 7)].join("").length) / 1024 / 2,
  };
}

async function bareLoop(path: string): Promise<{ readonly ms: number; readonly lines: number }> {
  const began = performance.now();
  let lines = 0;
  for await (const line of createInterface({ input: createReadStream(path, { highWaterMark: 1024 * 1024 }) })) {
    if (typeof JSON.parse(line) === "object") lines++;
  }
  return { ms: performance.now() - began, lines };
}

async function generate(path: string, agent: FormatName, bytes: number): Promise<void> {
  const file = createWriteStream(path);
  let written = 0;
  for (let turn = 0; written < bytes; turn++) {
    for (const line of turnLines(agent, turn)) {
      written += line.length;
      if (!file.write(line)) await once(file, "drain");
    }
  }
  file.end();
  await once(file, "finish");
}

/** One prompt and its answer: a dozen tool calls whose results go from 200 bytes to 60 KB, and the other lines that agents write. */
function* turnLines(agent: FormatName, turn: number): Generator<string> {
  yield* agent === "claude" ? claudeTurn(turn) : codexTurn(turn);
}

function filler(turn: number, step: number): string {
  const size = 200 + ((turn * 7919 + step * 104_729) % 100) ** 2 * 6;
  return '  const total = "sum" + items.map((item) => item.price).join("\\n"); // é\n'.repeat(Math.ceil(size / 74));
}

function* claudeTurn(turn: number): Generator<string> {
  const common = {
    userType: "external",
    cwd: "/code/project",
    sessionId: "7e331baa-5715-4a38-9016-9f9ed7b1c1ec",
    version: "2.1.329",
    gitBranch: "main",
  };
  const timestamp = new Date(1_795_000_000_000 + turn * 60_000).toISOString();
  const line = (value: object): string => `${JSON.stringify(value)}\n`;
  const message = (id: number, block: object, stop: string): object => ({
    parentUuid: `${turn}-${id}`,

    message: {
      id: `msg_${turn}_${id}`,
      type: "message",
      role: "assistant",
      model: "claude-opus-5-5",
      content: [block],
      stop_reason: stop,
      stop_sequence: null,
      usage: { input_tokens: 11, cache_creation_input_tokens: 0, cache_read_input_tokens: 7, output_tokens: 20 },
    },
    type: "assistant",
    uuid: `${turn}-${id}-a`,
    timestamp,
    ...common,
  });
  yield line({
    parentUuid: `${turn}`,

    type: "user",
    message: { role: "user", content: `Prompt ${turn}: please go on.` },
    uuid: `${turn}-u`,
    timestamp,
    origin: { kind: "human" },
    ...common,
  });
  yield line({
    parentUuid: `${turn}`,

    attachment: { type: "environment", content: filler(turn, 99) },
    type: "attachment",
    timestamp,
    ...common,
  });
  for (let step = 0; step < 12; step++) {
    const id = `toolu_${turn}_${step}`;
    yield line({ type: "api-request", id, params: { betas: "x".repeat(900) } });
    yield line(
      message(step, { type: "tool_use", id, name: "Bash", input: { command: `cat file-${step}.ts` } }, "tool_use"),
    );
    const text = filler(turn, step);
    yield line({
      parentUuid: `${turn}-${step}`,

      type: "user",
      message: { role: "user", content: [{ tool_use_id: id, type: "tool_result", content: text, is_error: false }] },
      uuid: `${turn}-${step}-r`,
      timestamp,
      toolUseResult: { stdout: text, stderr: "", interrupted: false },
      ...common,
    });
  }
  yield line(message(99, { type: "text", text: `Done with ${turn}.` }, "end_turn"));
  yield line({ type: "system", subtype: "turn_duration", durationMs: 1, timestamp, ...common });
}

function* codexTurn(turn: number): Generator<string> {
  const timestamp = new Date(1_795_000_000_000 + turn * 60_000).toISOString();
  const thread = "01a1fde1-f2ef-79d0-960c-fb083cfe084c";
  const line = (type: string, payload: object): string =>
    `${JSON.stringify({ timestamp, ordinal: turn, type, payload })}\n`;
  const item = (value: object): string =>
    line("event_msg", { type: "item_completed", thread_id: thread, turn_id: `${turn}`, item: value });
  if (turn === 0)
    yield line("session_meta", {
      id: thread,
      cwd: "/code/project",
      cli_version: "0.169.0",
      history_mode: "paginated",
      base_instructions: { text: filler(0, 5) },
    });
  yield line("event_msg", { type: "task_started", turn_id: `${turn}` });
  yield line("turn_context", {
    turn_id: `${turn}`,
    cwd: "/code/project",
    model: "gpt-6.1-sol",
    collaboration_mode: filler(turn, 98),
  });
  yield line("response_item", {
    type: "message",
    role: "user",
    content: [{ type: "input_text", text: `Prompt ${turn}: please go on.` }],
  });
  yield item({
    type: "UserMessage",
    id: `u${turn}`,
    content: [{ type: "text", text: `Prompt ${turn}: please go on.` }],
  });
  for (let step = 0; step < 12; step++) {
    const text = filler(turn, step);
    const id = `call_${turn}_${step}`;
    yield line("response_item", {
      type: "function_call",
      id: `fc_${turn}_${step}`,
      name: "exec_command",
      arguments: JSON.stringify({ cmd: `cat file-${step}.ts` }),
      call_id: id,
    });
    yield item({
      type: "CommandExecution",
      id,
      command: ["/bin/bash", "-lc", `cat file-${step}.ts`],
      cwd: "file:///code/project",
      status: "completed",
      aggregated_output: text,
      exit_code: 0,
    });
    yield line("response_item", {
      type: "function_call_output",
      call_id: id,
      output: `Process exited with code 0\nOutput:\n${text}`,
    });
    yield line("token_usage_record", {
      thread_id: thread,
      response_id: id,
      usage: { input_tokens: 100, cached_input_tokens: 40, output_tokens: 20 },
    });
  }
  yield item({ type: "AgentMessage", id: `m${turn}`, content: [{ type: "Text", text: `Done with ${turn}.` }] });
  yield line("event_msg", { type: "task_complete", turn_id: `${turn}`, last_agent_message: `Done with ${turn}.` });
}
