import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { newUuid } from "../../src/core/ids.ts";
import type { SubmitLogInput } from "../../src/wire/logs.ts";
import type { Block, Turn } from "../../src/wire/turn.ts";
import type { ApiClient, World } from "./gateway.ts";

const hourMs = 3_600_000;

/** A time before now, as the API takes it. */
function hoursAgo(hours: number): string {
  return new Date(Date.now() - hours * hourMs).toISOString();
}

/** An entry's id. */
async function remember(api: ApiClient, entry: SubmitLogInput): Promise<string> {
  const { status, body } = await api.post<{ readonly logId: string }>("/api/v1/logs", entry);
  if (status !== 201) throw new Error(`An entry was answered with ${status}: ${JSON.stringify(body)}`);
  return body.logId;
}

/** Turns as a session has them: a prompt, and what the agent did. */
function turnsOf(prompt: string, blocks: readonly Block[], at: string): Turn[] {
  const rest = { at, endedAt: at, model: null, usage: null };
  const text = blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n\n");
  return [
    { ...rest, index: 0, role: "user", text: prompt, blocks: [{ type: "text", text: prompt }] },
    { ...rest, index: 1, role: "assistant", text, blocks: [...blocks] },
  ];
}

/** A finished tool call. */
function call(name: string, input: unknown, result: { readonly text: string; readonly ok?: boolean }): Block {
  return { type: "tool_call", id: newUuid(), name, input, result: { ok: true, truncated: false, ...result } };
}

/** What two sessions and a few notes leave behind, over some days. Ids of the entries. */
export async function fillMemory(api: ApiClient, dir: string) {
  const edit = (path: string): Block =>
    call("Edit", { file_path: path, old_string: "15", new_string: "30" }, { text: "The file was updated." });
  const first = await remember(api, {
    title: "Make the timeout of requests longer",
    sessionId: "first-session",
    dir,
    observedAt: hoursAgo(50),
    turns: turnsOf(
      "Requests end too early. Find out why, and make the timeout longer.",
      [
        call("Read", { file_path: "/code/gateway/src/request.ts" }, { text: "export const timeoutMs = 15_000;" }),
        call(
          "Bash",
          { command: "git checkout -b longer-timeout" },
          { text: "Switched to a new branch 'longer-timeout'" },
        ),
        edit("/code/gateway/src/request.ts"),
        call("Bash", { command: "npm test" }, { text: "Exit code 1\n1 failed: waits 15 s", ok: false }),
        {
          type: "text",
          text: "Found it.\n\nDecision: the timeout = 20 s\n\nSee https://example.com/timeouts and #12.",
        },
      ],
      hoursAgo(50),
    ),
  });
  const second = await remember(api, {
    title: "Tests of the timeout",
    sessionId: "second-session",
    dir,
    observedAt: hoursAgo(26),
    turns: turnsOf(
      "The tests fail since yesterday.",
      [
        edit("/code/gateway/src/request.ts"),
        edit("/code/gateway/src/request.test.ts"),
        call("Bash", { command: "npm test" }, { text: "12 passed" }),
        call(
          "Bash",
          { command: "git commit -am timeout" },
          { text: "[longer-timeout 3f2a91c] timeout\n 2 files changed" },
        ),
        { type: "text", text: "All of them pass.\n\nDecision: the timeout = 30 s" },
      ],
      hoursAgo(26),
    ),
  });
  const hostile = await remember(api, {
    title: 'A page <img src=x onerror="alert(1)"> \u202Egnp.exe',
    content:
      'Pasted: <img src=x onerror="window.hurt = 1"> \u001b[31mred\u001b[0m\u202Etxt.exe <script>window.hurt = 2</script>',
    observedAt: hoursAgo(1),
  });
  const note = await remember(api, {
    title: "Release day",
    content:
      "Remember: the release is on Friday.\nDecision: the changelog = written by hand\nAsk Ana about the naïve timeout.",
    observedAt: hoursAgo(2),
  });
  return { first, second, hostile, note };
}

/** A transcript of an agent, as if it had run in the world's repository. */
export async function plantSession(world: World, title: string): Promise<string> {
  const sessionId = newUuid();
  const path = join(world.root, "claude", "projects", "-planted", `${sessionId}.jsonl`);
  const common = { sessionId, cwd: world.repository, gitBranch: "main" };
  const said = (type: string, message: unknown, secondsAgo: number): string =>
    `${JSON.stringify({ ...common, type, message, uuid: newUuid(), timestamp: hoursAgo(secondsAgo / 3_600) })}\n`;
  const tool = { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "npm run build" } };
  const result = { type: "tool_result", tool_use_id: "toolu_1", content: "built in 3 s" };
  const answer = { type: "text", text: "It is built.\n\nDecision: the bundler = rolldown" };
  await mkdir(dirname(path), { recursive: true });
  await writeFile(
    path,
    said("user", { role: "user", content: title }, 90) +
      said("assistant", { role: "assistant", content: [tool], stop_reason: "tool_use" }, 80) +
      said("user", { role: "user", content: [result] }, 70) +
      said("assistant", { role: "assistant", content: [answer], stop_reason: "end_turn" }, 60),
  );
  return sessionId;
}
