import { describe, expect, test } from "vitest";
import {
  codexEvent,
  jsonLine,
  measuredRead,
  megabyte,
  writePackedTranscript,
} from "../../test/support/measured-read.ts";

describe("a compressed rollout", () => {
  const message = (text: string): string => codexEvent({ type: "user_message", message: text });

  test("that unpacks to more than a gigabyte is read up to there, and marked as incomplete", async () => {
    function* bomb(): Generator<string> {
      const filler = jsonLine({ type: "world_state", payload: "x".repeat(megabyte) });
      yield message("first");
      for (let mb = 0; mb < 1_100; mb++) yield mb === 500 ? message("in the middle") : filler;
      yield message("too far");
    }
    const { turns, summary, ...cost } = await measuredRead(await writePackedTranscript(bomb()), "codex");
    expect(turns.map(({ text }) => text)).toEqual(["first", "in the middle"]);
    expect(summary.skippedLines).toBe(1);
    expect(cost.grewMb).toBeLessThan(250);
    expect(cost.tookMs).toBeLessThan(60_000);
  });

  test("of 200 MB is read like a plain one, its last turns and the whole", async () => {
    function* rollout(): Generator<string> {
      for (let turn = 0; turn < 200; turn++) {
        yield message(`prompt ${turn}`);
        for (let step = 0; step < 40; step++) {
          const told = { type: "function_call", call_id: `c${turn}-${step}`, name: "shell", arguments: "{}" };
          const gave = { type: "function_call_output", call_id: told.call_id, output: `${turn} `.repeat(6_000) };
          for (const payload of [told, gave])
            yield jsonLine({ timestamp: "2026-01-01T00:00:00Z", type: "response_item", payload });
        }
        yield codexEvent({ type: "agent_message", message: `answer ${turn}` });
      }
    }
    const { turns, summary, ...cost } = await measuredRead(await writePackedTranscript(rollout()), "codex");
    expect(summary.turnCount).toBe(400);
    expect(turns.map(({ text }) => text).slice(-2)).toEqual(["prompt 199", "answer 199"]);
    expect(turns[0]?.text).toBe("prompt 150");
    expect(cost.grewMb).toBeLessThan(350);
    expect(cost.answerMb).toBeLessThan(30);
  });
});
