import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { outline } from "../../../test/support/turn-outline.ts";
import { systemClock } from "../../core/clock.ts";
import { silentLog } from "../../core/log.ts";
import { createTranscripts } from "../../transcripts/transcripts.ts";
import { transcriptFormats } from "../transcript-formats.ts";

const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
afterAll(() => transcripts.close());

async function readFile(path: string) {
  const answer = await transcripts.read(path, "gemini", { limit: 1_000 });
  if (answer === null) throw new Error(`no file ${path}`);
  return { ...answer, outline: outline(answer.turns) };
}

const read = (fixture: string) =>
  readFile(join(import.meta.dirname, "../../transcripts/fixtures", `gemini-0.61.0-${fixture}.jsonl`));

describe("a transcript of Gemini CLI", () => {
  test("shows a call once, though its answer is written again when the call has ended", async () => {
    const { outline: told, turns, summary } = await read("tools");
    expect(told).toHaveLength(6);
    expect(told.slice(0, 3)).toEqual([
      "user: hello there",
      "assistant: ECHO hello there #12998c01",
      "user: think about it\nrun echo hi > x.txt\nsay done",
    ]);
    expect(told[3]).toMatch(/^assistant: \(Thinking\nabout it\) \| run_shell_command ok .* \| done\nRESULT 1 ok/s);
    expect(turns[3]).toMatchObject({
      at: "2026-11-22T03:42:15.288Z",
      endedAt: "2026-11-22T03:42:16.832Z",
      model: "gemini-2.5-pro",
      usage: { inputTokens: 200, outputTokens: 20, cacheReadTokens: 40 },
    });
    expect(turns[3]?.blocks[1]).toMatchObject({ input: { command: "echo hi > x.txt" } });
    expect(summary).toMatchObject({
      agentSessionId: "11112222-3333-4444-8555-666677778888",
      cwd: "/code/project",
      model: "gemini-2.5-pro",
      title: "hello there",
      createdAt: "2026-11-22T03:42:13.009Z",
      updatedAt: "2026-11-22T03:42:24.492Z",
      lastTurn: { kind: "ended" },
      skippedLines: 0,
    });
  });

  test("keeps cancelled prompts, and does not read copies of its history or files named in a prompt as prompts", async () => {
    const { outline: told, summary } = await read("interruptions");
    const cancelled = `failed "[Operation Cancelled] Reason: User denied execution."`;
    expect(told).toEqual([
      "user: -look at @x.txt me@example.com",
      "assistant: ECHO --- End of content --- #a402c596",
      "user: slow 5000\nsay slow answer",
      "user: fail 400",
      "user: ask Really?",
      `assistant: ask_user ${cancelled}`,
      "user: write y.txt with hi",
      `assistant: write_file ${cancelled}`,
    ]);
    expect(summary.lastTurn).toEqual({ kind: "aborted" });
  });

  test("continues where it was resumed; the second file that a resume creates has no turns", async () => {
    const { outline: told, summary } = await read("resumed");
    expect(told).toEqual([
      "user: hello",
      "assistant: ECHO hello #2cf24dba",
      "user: second0",
      "assistant: ECHO second0 #816b5a8a",
      "user: second1",
      "assistant: ECHO second1 #21a50b1b",
    ]);
    expect(summary).toMatchObject({ cwd: "/code/project", lastTurn: { kind: "ended" } });
    expect((await read("left-by-resumes")).summary).toMatchObject({
      turnCount: 0,
      agentSessionId: summary.agentSessionId,
    });
  });

  test("is open while a call runs, and reports a failure in the agent's words", async () => {
    const path = join(await makeTempFolder(), "t.jsonl");
    await writeFile(path, "");
    const states: unknown[] = [];
    const lines: readonly object[] = [
      { sessionId: "11112222-3333-4444-8555-666677778888", projectHash: "0", summary: "A title of its own" },
      { id: "1", type: "user", content: [{ text: "go" }] },
      { id: "2", type: "gemini", content: "I run it.", toolCalls: [{ id: "c", name: "run", args: {} }] },
      {
        id: "2",
        type: "gemini",
        content: "I run it.",
        toolCalls: [{ id: "c", name: "run", args: {}, status: "error" }],
      },
      { id: "3", type: "user", content: [{ functionResponse: { id: "c" } }] },
      { id: "4", type: "info", content: "A new version is there." },
      { id: "5", type: "error", content: "[API Error: no]" },
      { $rewindTo: "1" },
    ];
    for (const line of lines) {
      await appendFile(path, `${JSON.stringify(line)}\n`);
      states.push((await transcripts.summary(path, "gemini"))?.lastTurn.kind);
    }
    expect(states).toEqual(["none", "open", "open", "open", "open", "open", "failed", "aborted"]);
    const { outline: told, summary } = await readFile(path);
    expect(told).toEqual(["user: go", 'assistant: I run it. | run failed ""']);
    expect(summary.title).toBe("A title of its own");
  });
});
