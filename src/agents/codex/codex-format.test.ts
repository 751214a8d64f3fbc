import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { outline } from "../../../test/support/turn-outline.ts";
import { systemClock } from "../../core/clock.ts";
import { silentLog } from "../../core/log.ts";
import { createTranscripts } from "../../transcripts/transcripts.ts";
import { transcriptFormats } from "../transcript-formats.ts";

const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
afterAll(() => transcripts.close());

async function read(fixture: string) {
  const path = join(import.meta.dirname, "../../transcripts/fixtures", `codex-${fixture}.jsonl`);
  const answer = await transcripts.read(path, "codex", { limit: 1_000 });
  if (answer === null) throw new Error(`no fixture ${fixture}`);
  return { ...answer, outline: outline(answer.turns) };
}

const noFile = "ls: cannot access '/nonexistent': No such file or directory\\n";
const twoThings = `assistant: (**Two commands**\n\nI run two.) | exec_command ok "one\\n" | exec_command failed "Exit code 2\\n${noFile}" | Done with the tool.`;
const twoThingsByShell = twoThings.replaceAll("exec_command", "shell");

describe("a rollout of Codex", () => {
  test("in code mode shows what the scripts did, not the scripts", async () => {
    const { outline, turns, summary } = await read("0.169.0-code-mode");
    expect(outline).toEqual([
      "user: hello there",
      "assistant: You said: hello there",
      "user: please think about it",
      "assistant: (**Thinking**\n\nLet me think.) | I thought.",
      "user: now run it",
      'assistant: I will run it. | exec_command ok "hello from bash\\n" | Done with the tool.',
      "user: do two things",
      twoThings,
      "user: write a file",
      'assistant: apply_patch ok "Success. Updated the following files:\\nA note.txt\\n" | Done with the tool.',
    ]);
    expect(turns[5]).toMatchObject({
      model: "gpt-6.1-sol",
      usage: { inputTokens: 200, outputTokens: 40, cacheReadTokens: 80 },
    });
    expect(turns[5]?.blocks[1]).toMatchObject({ input: { command: "echo hello from bash", cwd: "/code/project" } });
    expect(turns[9]?.blocks[0]).toMatchObject({
      input: { changes: { "/code/project/note.txt": { type: "add", content: "a note\n" } } },
    });
    expect(summary).toMatchObject({
      agentSessionId: "01a1fde4-2810-7942-bffd-15defe0880ad",
      cwd: "/code/project",
      branch: null,
      model: "gpt-6.1-sol",
      title: "hello there",
      turnCount: 10,
      lastTurn: { kind: "ended" },
      skippedLines: 0,
    });
  });

  test("with classic function calls shows each call once, though it has two lines", async () => {
    const { outline, turns } = await read("0.169.0-classic");
    expect(outline[5]).toBe('assistant: I will run it. | exec_command ok "hello from bash\\n" | Done with the tool.');
    expect(outline[7]).toBe(twoThings);
    expect(outline[9]).toBe(
      'assistant: apply_patch failed "unsupported custom tool call: apply_patch" | Done with the tool.',
    );
    expect(turns[7]?.model).toBe("some-model");
  });

  test("with a review has the user's request as a turn, and no command that the user ran in the terminal", async () => {
    const { outline, summary } = await read("0.169.0-review");
    expect(outline).toEqual([
      "user: first words",
      "assistant: ECHO first words #78e561c8",
      "user: /review look at the README",
      "assistant: ECHO look at the README #2c2fca1c",
      "user: after review",
      "assistant: ECHO after review #6b725f31",
      "user: after compact",
      "assistant: ECHO after compact #1e307e08",
    ]);
    expect(summary).toMatchObject({ title: "first words", lastTurn: { kind: "ended" }, skippedLines: 0 });
  });

  test("names calls of MCP tools as the model does", async () => {
    const { turns } = await read("0.169.0-mcp");
    expect(turns[3]?.blocks[0]).toMatchObject({
      name: "mcp__calc__add",
      input: { a: 2, b: 3 },
      result: { ok: true, text: "5" },
    });
  });

  test("shows aborted scripts, and prompts steered into a running turn as separate turns", async () => {
    const { outline } = await read("0.169.0-interruptions");
    expect(outline).toEqual([
      "user: slow talk",
      "user: please fail",
      "user: run sleep",
      'assistant: I will run it. | exec_command failed "aborted by user after 4.9s"',
      "user: slow again",
      "user: steered hello",
      "assistant: You said: steered hello",
      "user: after resume",
      "assistant: You said: after resume",
    ]);
  });

  test("has no turn for a compaction, and continues after a kill", async () => {
    const { outline } = await read("0.169.0-compacted");
    expect(outline).toEqual([
      "user: hello there",
      "assistant: You said: hello there",
      "user: after compact",
      "assistant: You said: after compact",
      "user: slow talk",
      "user: after the kill",
      "assistant: You said: after the kill",
    ]);
  });

  test("that was forked has the id of the fork", async () => {
    const { outline, summary } = await read("0.169.0-fork");
    expect(outline).toEqual(["user: in the fork", "assistant: You said: in the fork"]);
    expect(summary.agentSessionId).toBe("01a1fdff-3033-7641-a1cc-053800862f59");
  });

  test("of 0.137 and 0.98, with both events and the model's items, counts nothing twice", async () => {
    const { outline, turns } = await read("0.137.0-tools");
    expect(outline).toEqual(["user: do two things and think", twoThings]);
    expect(turns[1]?.usage).toEqual({ inputTokens: 200, outputTokens: 40, cacheReadTokens: 80 });
    const resumed = await read("0.98.0-resumed");
    expect(resumed.outline).toEqual([
      "user: please fail",
      "user: now run it",
      'assistant: I will run it. | exec_command ok "hello from bash\\n" | Done with the tool.',
    ]);
    expect(resumed.turns[2]?.usage).toEqual({ inputTokens: 200, outputTokens: 40, cacheReadTokens: 80 });
  });

  test("of 0.47 and 0.34 counts tokens reported before the answer, and a repeated count once", async () => {
    const recent = await read("0.47.0-tools");
    expect(recent.outline).toEqual(["user: do two things and think", twoThingsByShell]);
    expect(recent.turns[1]?.usage).toEqual({ inputTokens: 200, outputTokens: 40, cacheReadTokens: 80 });
    const older = await read("0.34.0-patch");
    expect(older.outline).toEqual([
      "user: write a file",
      'assistant: apply_patch ok "Success. Updated the following files:\\nA note.txt\\n" | Done with the tool.',
    ]);
    expect(older.turns[1]?.usage).toEqual({ inputTokens: 200, outputTokens: 40, cacheReadTokens: 80 });
  });

  test("of 0.20, with bare items without times, is still read", async () => {
    const { outline, turns, summary } = await read("0.20.0-tools");
    expect(outline).toEqual(["user: do two things and think", twoThingsByShell]);
    expect(turns[1]).toMatchObject({ at: null, endedAt: null, model: null, usage: null });
    expect(summary).toMatchObject({
      agentSessionId: "dfe92d8d-24d8-4007-a105-142ea820a0cd",
      lastTurn: { kind: "ended" },
      skippedLines: 0,
    });
  });
});
