import { resolve } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import type { ListOutput } from "../../src/wire/session-lists.ts";
import { type RawAgent, startRawAgent } from "../support/raw-agent.ts";
import { useGateway } from "../support/use-gateway.ts";

const it = useGateway({ agents: true });
const patience = { timeout: 60_000, interval: 100 };
const bin = resolve(import.meta.dirname, "../../bin/postern.js");

/** A token for a client that starts agents, as a person would make it. */
async function makeToken(): Promise<string> {
  const { accounts } = it.gateway.app;
  const scopes = ["coding:read", "coding:write"] as const;
  const wanted = { name: "mcp", scopes, folders: null, expiresAt: null };
  return (await accounts.tokens.create((await accounts.owner()).accountId, wanted)).token;
}

/** What the outer agent's model does: look, start the other agent, and report that. */
function scriptFor({
  tools,
  inner,
  word,
}: {
  readonly tools: string;
  readonly inner: string;
  readonly word: string;
}): string {
  const ask = { agent: inner, dir: it.world.repository, prompt: `say the inner word is ${word}`, waitMs: 60_000 };
  return [
    `call ${tools}coding_list_sessions {}`,
    `call ${tools}coding_ask ${JSON.stringify(ask)}`,
    "say the outer agent is done",
  ].join("\n");
}

/** What both sides saw: the gateway a new session, the outer agent's model the answer of the inner one. */
async function expectStarted(
  outer: RawAgent,
  { prompt, inner, word }: { readonly prompt: string; readonly inner: string; readonly word: string },
): Promise<void> {
  const { modelServer } = it.world;
  const ofOuter = () => modelServer.requests.filter((request) => request.kind === "turn" && request.prompt === prompt);
  const screen = (): string => outer.screen().join("\n");
  await expect.poll(() => ofOuter().length, { ...patience, message: screen() }).toBe(3);
  expect(ofOuter().map(({ reply }) => reply?.kind)).toEqual(["tool", "tool", "text"]);
  const last = ofOuter().at(-1);
  const said = last?.reply?.kind === "text" ? last.reply.text : "";
  expect(said).toMatch(/RESULT 1 ok: .*Untrusted: /s);
  expect(said).toMatch(/RESULT 2 ok: .*Untrusted: /s);
  // The inner agent's answer came back through the tool's result.
  expect(last?.body).toContain(`the inner word is ${word}`);
  const { body } = await it.gateway.api.post<ListOutput>("/api/coding/coding_list_sessions", { agent: inner });
  expect(body.total).toBe(1);
  const [session] = body.sessions;
  expect(last?.body).toContain(session?.sessionId);
  const read = await it.gateway.api.read(session?.sessionId ?? "");
  expect(read.turns.map(({ role, text }) => [role, text])).toEqual([
    ["user", `say the inner word is ${word}`],
    ["assistant", `the inner word is ${word}`],
  ]);
  await it.gateway.api.post("/api/coding/coding_close_session", { sessionId: session?.sessionId });
}

test("a real Claude Code starts a Codex over HTTP, with a bearer token", async () => {
  const headers = { Authorization: `Bearer ${await makeToken()}` };
  const config = { mcpServers: { postern: { type: "http", url: `${it.gateway.url}/mcp`, headers } } };
  const task = { inner: "codex", word: "heliotrope" };
  const prompt = scriptFor({ ...task, tools: "mcp__postern__" });
  const outer = await startRawAgent({
    agent: "claude",
    binary: inject("agents").claude,
    modelServerUrl: it.world.modelServer.url,
    args: ["--mcp-config", JSON.stringify(config), "--strict-mcp-config"],
    prompt,
  });
  onTestFinished(() => outer.close());
  await expectStarted(outer, { ...task, prompt });
});

test("a real Codex starts a Claude Code over postern mcp", async () => {
  const env = `{POSTERN_HOME="${it.world.home}",POSTERN_TOKEN="${await makeToken()}"}`;
  // `required`: the first prompt waits for the server.
  const server = `{command="${process.execPath}",args=["${bin}","mcp"],env=${env},tool_timeout_sec=120,required=true}`;
  const task = { inner: "claude-code", word: "viridian" };
  const prompt = scriptFor({ ...task, tools: "mcp__postern__" });
  const outer = await startRawAgent({
    agent: "codex",
    binary: inject("agents").codex,
    modelServerUrl: it.world.modelServer.url,
    args: ["-c", `mcp_servers.postern=${server}`],
    prompt,
  });
  onTestFinished(() => outer.close());
  await expectStarted(outer, { ...task, prompt });
});
