import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { echoOf } from "../model-server/script.ts";
import { createApiClient, createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { atTerminal } from "../support/type-into.ts";

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: true });
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

const waitMs = 30_000;
const kilobytes100 = "0123456789 the quick brown fox, “quoted” — ünïcode\n"
  .repeat(2_000)
  .slice(0, 100 * 1024)
  .trimEnd();

const texts: readonly (readonly [string, string])[] = [
  ["a first dash", "--help is what I want explained"],
  ["newlines, tabs and blank lines", "first line\n\n\tindented\n    four blanks\nlast line"],
  ["quotes and shell characters", `it's "quoted" \`ticked\` $HOME $(id) \\ %s {a,b} <x> & | ; * ? ~ #`],
  ["emoji and other scripts", "👩‍👩‍👧‍👦 🇪🇺 日本語 العربية ½ é"],
  ["100 KB", kilobytes100],
];

/** What the model got as the user's words, from the newest request of this conversation. */
function received(): string | null {
  return world.modelServer.requests.findLast(({ kind }) => kind === "turn")?.prompt ?? null;
}

test("a caller without coding:drive cannot have an agent read a file outside the folder by a mention, nor complete a command", async () => {
  const { app, url, api } = gateway;
  const { accountId } = await app.accounts.owner();
  const scopes = ["coding:read", "coding:write"] as const;
  const { token } = await app.accounts.tokens.create(accountId, { name: "m", scopes, folders: null, expiresAt: null });
  const caller = createApiClient(url, token);
  await writeFile(join(world.root, "outside.txt"), "the-secret-of-another-folder");
  const dir = world.repository;
  const mention = `summarize @${relative(dir, join(world.root, "outside.txt"))} please`;
  const { sessionId, pid } = await api.ask({ agent: "claude-code", dir, prompt: "begin", waitMs });
  for (const prompt of [mention, mention.replace("@", "@\u200b"), `@${world.home}/key`, "@~/.bashrc"]) {
    const answer = await caller.post("/api/coding/coding_ask", { dir, sessionId, prompt });
    expect(answer, prompt).toMatchObject({ status: 400, body: { code: "prompt_not_text" } });
  }
  const sent = (): boolean =>
    world.modelServer.requests.some((request) => JSON.stringify(request).includes("the-secret-of-another-folder"));
  expect(sent()).toBe(false);
  // Nor can it complete a command that was begun in the terminal.
  await atTerminal(world, pid, async ({ press, screen }) => {
    await press("/export ");
    await expect.poll(screen, { timeout: 10_000 }).toContain("/export");
  });
  const behind = { dir, sessionId, prompt: "made-behind-a-draft.txt" };
  expect(await caller.post("/api/coding/coding_ask", { ...behind, onDraft: "append" })).toMatchObject({
    status: 400,
    body: { code: "prompt_not_text" },
  });
  expect(await api.ask({ ...behind, onDraft: "clear", waitMs })).toMatchObject({ delivered: true });
  // The agent does read it for a caller who can drive it.
  await api.ask({ dir, sessionId, prompt: mention, waitMs });
  expect(sent()).toBe(true);
  await api.post("/api/coding/coding_close_session", { sessionId });
});

describe.for(["claude-code", "codex"])("%s", (agent) => {
  test.for([
    texts
      .slice(0, -1)
      .map(([, text]) => text)
      .join("\n"),
    kilobytes100,
  ])("a first prompt arrives byte for byte, whatever is in it (%#)", async (text) => {
    const asked = await gateway.api.ask({ agent, dir: world.repository, prompt: text, waitMs });
    expect(asked.delivered).toBe(true);
    expect(received()).toBe(text);
    expect(asked.turns?.[0]?.text).toBe(text);
    await gateway.api.post("/api/coding/coding_close_session", { sessionId: asked.sessionId });
  });

  test("prompts into the live terminal arrive byte for byte, whatever is in them", async () => {
    const { api } = gateway;
    const { sessionId, pid } = await api.ask({ agent, dir: world.repository, prompt: "begin", waitMs });
    for (const [what, text] of texts) {
      const asked = await api.ask({ dir: world.repository, sessionId, prompt: text, waitMs });
      expect(asked, what).toMatchObject({ delivered: true, started: "reconnect", pid });
      expect(received(), what).toBe(text);
      expect(
        asked.turns?.map((turn) => turn.text),
        what,
      ).toEqual([text, echoOf(text)]);
    }
    await api.post("/api/coding/coding_close_session", { sessionId });
  });

  test("a prompt that the agent normalizes counts as delivered, as a first one and as a live one", async () => {
    const { api } = gateway;
    const text =
      "cafe\u0301 soft\u00adhyphen zero\u200bwidth word\u2060joiner \u2068isolated\u2069 \u061cmark a\u034fb";
    const first = await api.ask({ agent, dir: world.repository, prompt: `${text} 1`, waitMs });
    expect(first).toMatchObject({ delivered: true, activity: "idle" });
    const { sessionId } = first;
    const startedAt = Date.now();
    const live = await api.ask({ dir: world.repository, sessionId, prompt: `${text} 2`, waitMs });
    expect(live).toMatchObject({ delivered: true, activity: "idle", started: "reconnect" });
    expect(Date.now() - startedAt).toBeLessThan(15_000);
    await api.post("/api/coding/coding_close_session", { sessionId });
  });

  test("commands and terminal escapes are refused as prompts, and nothing runs", async () => {
    const { api } = gateway;
    const dir = world.repository;
    const { sessionId } = await api.ask({ agent, dir, prompt: "begin", waitMs });
    // Codex asks for a title during its turn, at any time.
    const turnsAsked = (): number => world.modelServer.requests.filter(({ kind }) => kind === "turn").length;
    const before = turnsAsked();
    for (const prompt of [
      "!touch made-by-command",
      "/status",
      " /clear",
      "\u200b/status",
      "\u2060\u00ad!touch made-by-command",
      "\uff0fclear",
      "\u001b[201~\r!touch made-by-command",
      "bell \u0007",
    ]) {
      for (const target of [
        { agent, dir },
        { dir, sessionId },
      ]) {
        const answer = await api.post("/api/coding/coding_ask", { ...target, prompt });
        expect(answer, prompt).toMatchObject({ status: 400, body: { code: "prompt_not_text" } });
      }
    }
    await sleep(500);
    expect(existsSync(join(dir, "made-by-command"))).toBe(false);
    expect(turnsAsked()).toBe(before);
    await api.post("/api/coding/coding_close_session", { sessionId });
  });

  test("text typed in the terminal is never sent unasked: the prompt is refused, clears it, or includes it", async () => {
    const { api } = gateway;
    const dir = world.repository;
    const { sessionId, pid } = await api.ask({ agent, dir, prompt: "begin", waitMs });
    const typeHalf = (): Promise<void> =>
      atTerminal(world, pid, async ({ press, screen }) => {
        await press("half typed ");
        await expect.poll(screen, { timeout: 10_000 }).toContain("half typed");
      });
    await typeHalf();
    const request = { dir, sessionId, prompt: "from the box", waitMs };
    const refused = await api.post("/api/coding/coding_ask", request);
    expect(refused).toMatchObject({
      status: 409,
      body: { code: "composer_not_empty", draft: expect.stringContaining("half typed") },
    });
    expect(received()).toBe("begin");
    expect(await api.ask({ ...request, onDraft: "clear" })).toMatchObject({ delivered: true, draft: false });
    expect(received()).toBe("from the box");
    await typeHalf();
    expect(await api.ask({ ...request, onDraft: "append" })).toMatchObject({ delivered: true, draft: false });
    expect(received()).toBe("half typed from the box");
    await api.post("/api/coding/coding_close_session", { sessionId });
  });

  test("while a permission is open nothing is sent, and the answer says so", async () => {
    const { api } = gateway;
    const dir = world.repository;
    const name = `asked-${agent}.txt`;
    const prompt = `write ${name} with words`;
    const asked = await api.ask({ agent, dir, prompt, waitMs });
    expect(asked).toMatchObject({ activity: "needs_permission", delivered: true });
    expect(asked.permissions).toHaveLength(1);
    const { sessionId } = asked;
    const refused = await api.post("/api/coding/coding_ask", { dir, sessionId, prompt: "go on" });
    expect(refused).toMatchObject({ status: 409, body: { code: "permission_pending" } });
    await sleep(1_000);
    expect(existsSync(join(dir, name))).toBe(false);
    expect(await api.read(sessionId)).toMatchObject({ activity: "needs_permission", queuedPrompts: 0 });
    await api.post("/api/coding/coding_close_session", { sessionId });
  });
});
