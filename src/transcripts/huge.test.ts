import { describe, expect, test } from "vitest";
import {
  codexEvent as event,
  jsonLine,
  megabyte,
  measuredRead as read,
  writeTranscript as write,
} from "../../test/support/measured-read.ts";
import type { Turn } from "../wire/turn.ts";

const user = (content: unknown): string => jsonLine({ type: "user", message: { role: "user", content } });
const says = (block: object, stop: string): string =>
  jsonLine({ type: "assistant", message: { role: "assistant", content: [block], stop_reason: stop } });
const result = (id: string, text: string): string => user([{ type: "tool_result", tool_use_id: id, content: text }]);
const call = (id: string): string =>
  says({ type: "tool_use", id, name: "Bash", input: { command: "cat big" } }, "tool_use");

function resultsOf(turn: Turn | undefined): { readonly truncated: boolean; readonly length: number }[] {
  return (turn?.blocks ?? []).flatMap((block) =>
    block.type === "tool_call" && block.result !== null
      ? [{ truncated: block.result.truncated, length: block.result.text.length }]
      : [],
  );
}

function* oneLineAndALongTurn(): Generator<string | Buffer> {
  yield user("first prompt");
  yield says({ type: "text", text: "first answer" }, "end_turn");
  yield '{"type":"user","message":{"role":"user","content":"';
  for (let mb = 0; mb < 200; mb++) yield Buffer.alloc(megabyte, "x");
  yield '"}}\n';
  yield user("second prompt");
  const output = "line of output\n".repeat(1_700);
  for (let n = 0; n < 4_000; n++) yield call(`t${n}`) + result(`t${n}`, output);
  yield says({ type: "text", text: "last words" }, "end_turn");
}

test("300 MB with a line of 200 MB and a last turn of 100 MB use little memory, and truncated parts are marked", async () => {
  const { summary, turns, ...cost } = await read(await write(oneLineAndALongTurn()), "claude");
  expect(summary).toMatchObject({ turnCount: 4, skippedLines: 1, lastTurn: { kind: "ended" } });
  expect(turns.map(({ text }) => text)).toEqual(["first prompt", "first answer", "second prompt", "last words"]);
  const results = resultsOf(turns[3]);
  expect(results).toHaveLength(4_000);
  expect(results[0]).toEqual({ truncated: false, length: 25_500 });
  expect(results.at(-1)).toEqual({ truncated: true, length: 1_000 });
  expect(cost.answerMb).toBeLessThan(20);
  expect(cost.grewMb).toBeLessThan(250);
  expect(cost.tookMs).toBeLessThan(30_000);
});

function* longAnswers(turnCount: number): Generator<string> {
  const output = "line of output\n".repeat(1_700);
  for (let turn = 0; turn < turnCount; turn++) {
    yield user(`prompt ${turn}`);
    for (let n = 0; n < 60; n++) yield call(`t${turn}-${n}`) + result(`t${turn}-${n}`, output);
    yield says({ type: "text", text: `answer ${turn}` }, "end_turn");
  }
}

test("a hundred turns of megabytes give a bounded answer: the newest whole, older ones truncated", async () => {
  const { turns, summary, ...cost } = await read(await write(longAnswers(60)), "claude");
  expect(summary.turnCount).toBe(120);
  expect(turns.map(({ index }) => index)).toEqual(Array.from({ length: 100 }, (_, n) => n + 20));
  expect(resultsOf(turns.at(-1))[0]).toEqual({ truncated: false, length: 25_500 });
  expect(resultsOf(turns[1])[0]).toEqual({ truncated: true, length: 1_000 });
  expect(turns[1]?.text).toBe("answer 10");
  expect(cost.answerMb).toBeLessThan(30);
  expect(cost.grewMb).toBeLessThan(250);
});

describe("a turn of Codex that reports every call twice", () => {
  function* twice(): Generator<string> {
    const output = "line of output\n".repeat(1_700);
    yield event({ type: "user_message", message: "go" });
    for (let n = 0; n < 2_000; n++) {
      const item = { type: "CommandExecution", id: `c${n}`, command: "cat big", exit_code: 0 };
      const told = { type: "function_call", call_id: `c${n}`, name: "shell", arguments: "{}" };
      yield jsonLine({ timestamp: "2026-01-01T00:00:00.000Z", type: "response_item", payload: told });
      yield event({ type: "item_completed", item: { ...item, status: "completed", aggregated_output: output } });
    }
  }

  test("is truncated like any other", async () => {
    const { turns, answerMb } = await read(await write(twice()), "codex");
    expect(turns[1]?.blocks).toHaveLength(2_000);
    expect(answerMb).toBeLessThan(12);
  });
});

test("a prompt of 20 MB shows its beginning and how much is missing", async () => {
  const { turns } = await read(await write([user("p".repeat(20 * megabyte))]), "claude");
  expect(turns[0]?.text.length).toBeLessThan(8_000_100);
  expect(turns[0]?.text.slice(-40)).toBe("pppppppp… (12971520 characters cut)".padStart(40, "p"));
});
