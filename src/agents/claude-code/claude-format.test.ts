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
  const path = join(import.meta.dirname, "../../transcripts/fixtures", `claude-${fixture}.jsonl`);
  const answer = await transcripts.read(path, "claude", { limit: 1_000 });
  if (answer === null) throw new Error(`no fixture ${fixture}`);
  return { ...answer, outline: outline(answer.turns) };
}

describe("a transcript that Claude Code wrote", () => {
  test("holds prompts and answers with thinking and tool calls, and nothing that was injected", async () => {
    const { outline, summary } = await read("2.1.329-tools");
    expect(outline).toEqual([
      "user: hello there",
      "assistant: You said: hello there",
      "user: please think about it",
      "assistant: (Let me think about it.) | I thought.",
      "user: now run it",
      'assistant: I will run it. | Bash ok "hello from bash" | Done with the tool.',
      "user: do two things",
      `assistant: (Two commands.) | Running two. | Bash ok "one" | Bash failed "Exit code 2\\nls: cannot access '/nonexistent': No such file or directory" | Done with the tool.`,
      "user: write a file",
      'assistant: Write ok "File created successfully at: /code/project/note.txt (file state is current in your context — no need to Read it back)" | Done with the tool.',
      "user: use an agent",
      expect.stringMatching(/^assistant: Agent ok "Async agent launched.* \| Done with the tool\. \| You said: $/s),
    ]);
    expect(summary).toMatchObject({
      agentSessionId: "b8ca35c0-b559-474a-8e61-ffb86ff410cc",
      cwd: "/code/project",
      branch: "master",
      model: "claude-opus-5-5",
      title: "hello there",
      createdAt: "2026-11-21T11:35:50.920Z",
      turnCount: 12,
      lastTurn: { kind: "ended" },
      skippedLines: 0,
    });
  });

  test("counts the usage of a message once, however many lines it has", async () => {
    const { turns } = await read("2.1.329-tools");
    expect(turns[3]).toMatchObject({ usage: { inputTokens: 11, outputTokens: 20, cacheReadTokens: 7 } });
    expect(turns[7]).toMatchObject({
      usage: { inputTokens: 22, outputTokens: 40, cacheReadTokens: 14 },
      model: "claude-opus-5-5",
      at: "2026-11-21T11:36:04.391Z",
      endedAt: "2026-11-21T11:36:04.512Z",
    });
    expect(turns[6]).toMatchObject({ usage: null, model: null, text: "do two things" });
  });

  test("distinguishes interruptions, API errors, queued prompts and shell lines", async () => {
    const { outline } = await read("2.1.329-interruptions");
    expect(outline).toEqual([
      "user: slow talk",
      "assistant: one two three four five six seven eight nine ten one two ",
      "user: please fail",
      "assistant: API Error: 400 scripted failure",
      "user: run sleep",
      expect.stringMatching(
        /^assistant: I will run it\. \| Bash failed .*Blocked: standalone sleep.* \| Done with the tool\.$/,
      ),
      "user: slow again",
      expect.stringMatching(/^assistant: one two three/),
      "user: queued hello",
      "assistant: You said: queued hello",
      "user: after resume",
      "assistant: You said: after resume",
      "user: !echo bang",
      "assistant: You said: <bash-stdout>bang</bash-stdout><bash-stderr></bash-stderr>",
      "user: after compact",
      "assistant: You said: after compact",
    ]);
  });

  test("shows a prompt sent during a turn, a custom command that the model answered, and no compaction", async () => {
    const { outline, summary } = await read("2.1.329-commands");
    expect(outline).toEqual([
      "user: long job",
      'assistant: Bash ok "step" | Bash ok "step"',
      "user: QQ meanwhile do this",
      expect.stringMatching(/^assistant: Done with the tool/),
      "user: /greet the world",
      'assistant: Bash ok "step" | Done with the tool.',
      "user: run it",
      'assistant: I will run it. | Bash ok "hello from bash" | Done with the tool.',
      "user: after compact",
      "assistant: You said: after compact",
      "user: slow talk",
      "user: after the kill",
      "assistant: You said: after the kill",
    ]);
    expect(summary.title).toBe("My session");
  });

  test("has no turn for /clear", async () => {
    const { outline } = await read("2.1.329-cleared");
    expect(outline).toEqual(["user: in the cleared one", "assistant: You said: in the cleared one"]);
  });

  test("is aborted after a denied permission, and the call shows why", async () => {
    const { outline, summary } = await read("2.1.329-denied");
    expect(outline.at(-1)).toMatch(/^assistant: Write failed "The user doesn't want to proceed with this tool use/);
    expect(summary.lastTurn).toEqual({ kind: "aborted" });
  });

  test("returns results of MCP tools and answered questions", async () => {
    const { turns } = await read("2.1.329-mcp");
    expect(turns[1]?.blocks[0]).toEqual({
      type: "tool_call",
      id: "toolu_scriptedmwqch1gn1",
      name: "mcp__calc__add",
      input: { a: 2, b: 3 },
      result: { ok: true, text: "5", truncated: false },
    });
    expect(outline(turns)[3]).toMatch(/^assistant: AskUserQuestion ok "Your questions have been answered/);
  });

  test("returns a pasted prompt without the tags around it", async () => {
    const { turns } = await read("2.1.329-paste");
    expect(turns[2]?.text).toBe("line one\nline two\n\n  indented \"quoted\" 'single' $HOME `x` 😀 ünï");
    expect(turns[6]?.text).toBe(" !touch /tmp/pwned");
  });

  test("of versions 2.0 and 1.0 is read the same way", async () => {
    const told = [
      "user: think about two things",
      expect.stringMatching(
        /^assistant: \(Two commands\.\) \| Running two\. \| Bash ok "one" \| Bash failed ".*" \| Done with the tool\.$/,
      ),
      "user: write a file",
      'assistant: Write ok "File created successfully at: /code/project/note.txt" | Done with the tool.',
      "user: please fail",
      'assistant: {"title":"A small title"}',
      "user: use an agent",
      'assistant: Task ok "You said: subtask: say hi" | Done with the tool.',
    ];
    const recent = await read("2.0.30-print");
    expect(recent.outline).toEqual([...told, "user: hello again", "assistant: You said: hello again"]);
    expect(recent.turns[1]?.usage).toEqual({ inputTokens: 22, outputTokens: 40, cacheReadTokens: 14 });
    const old = await read("1.0.64-continued");
    expect(old.outline).toEqual(told);
    expect(old.summary.title).toBe("A small title");
  });
});
