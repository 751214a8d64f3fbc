import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { connectThroughBridge } from "../../test/support/mcp-bridge.ts";
import { startMcpServer } from "../../test/support/mcp-server.ts";
import { driveTool, echoTool, slowTool } from "../../test/support/mcp-tools.ts";
import { runCommand } from "../../test/support/run-cli.ts";
import { sessionSummary } from "../../test/support/scripted-gateway.ts";
import { turnEnded } from "../../test/support/session-events.ts";

const patient = { timeout: 10_000, interval: 20 };
const uri = `postern://sessions/${sessionSummary().sessionId}`;

test("without a token it prints how to create one; without a gateway it exits with code 3", async () => {
  const noToken = await runCommand(["mcp"], { ports: { token: async () => null } });
  expect(noToken.code).toBe(1);
  expect(noToken.stderr).toContain("postern token create --name mcp --scopes coding:read,coding:write");
  const noGateway = await runCommand(["mcp"], {
    ports: { token: async () => "pst_x", socketPath: async () => "/nowhere/gateway.sock" },
  });
  expect([noGateway.code, noGateway.stdout]).toEqual([3, ""]);
  expect(noGateway.stderr).toContain("postern serve");
});

test.each(["2025", "2026"] as const)(
  "a client of %s uses the tools through it, as far as the token goes",
  async (era) => {
    const slow = slowTool();
    const { socketPath, token } = await startMcpServer({
      tools: [echoTool, driveTool, slow.tool],
      limits: { progressMs: 20 },
    });
    const { client, lines, end } = await connectThroughBridge(era, { socketPath, token: await token("coding:read") });
    expect(client.getNegotiatedProtocolVersion()).toBe(era === "2025" ? "2025-11-25" : "2026-07-28");
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["echo", "slow"]);
    const echo = await client.callTool({ name: "echo", arguments: { text: "Grüße\u2028" } });
    expect(echo.structuredContent).toMatchObject({ text: "Grüße\u2028" });
    await expect(client.callTool({ name: "drive", arguments: { text: "x" } })).rejects.toThrow(/insufficient_scope/);
    const [content] = (await client.readResource({ uri })).contents;
    expect(content !== undefined && "text" in content && content.text).toContain("hello");
    let told = 0;
    const call = client.callTool({ name: "slow", arguments: {} }, { onprogress: () => void (told += 1) });
    await expect.poll(() => told, patient).toBeGreaterThan(0);
    slow.finish();
    expect((await call).structuredContent).toEqual({ text: "done" });
    expect(await end()).toMatchObject({ code: 0, stderr: "" });
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
  },
);

test.each(["2025", "2026"] as const)(
  "a call is aborted when a client of %s cancels it, and when it goes",
  async (era) => {
    const slow = slowTool();
    const { socketPath, token } = await startMcpServer({ tools: [slow.tool] });
    const { client, end } = await connectThroughBridge(era, { socketPath, token: await token("coding:read") });
    const cancelling = new AbortController();
    const cancelled = client.callTool({ name: "slow", arguments: {} }, { signal: cancelling.signal });
    await expect.poll(() => slow.signals.length, patient).toBe(1);
    cancelling.abort();
    await expect(cancelled).rejects.toThrow();
    await expect.poll(() => slow.signals[0]?.aborted, patient).toBe(true);
    void client.callTool({ name: "slow", arguments: {} }).catch(() => undefined);
    await expect.poll(() => slow.signals.length, patient).toBe(2);
    expect(slow.signals[1]?.aborted).toBe(false);
    expect((await end()).code).toBe(0);
    await expect.poll(() => slow.signals[1]?.aborted, patient).toBe(true);
  },
);

test("a restarted gateway is found again, with the subscriptions; unanswered calls fail", async () => {
  const slow = slowTool();
  // The second gateway has another store, without the token.
  const first = await startMcpServer({ tools: [echoTool, slow.tool], config: { auth: "none" } });
  const { socketPath } = first;
  const { client, lines } = await connectThroughBridge("2025", { socketPath, token: "any" });
  const updated: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
  await client.subscribeResource({ uri });
  const lost = client.callTool({ name: "slow", arguments: {} }).catch((error: unknown) => String(error));
  await expect.poll(() => slow.signals.length, patient).toBe(1);
  await first.close();
  expect(await lost).toContain("gateway");
  // Calls made between the two gateways wait for the second one.
  const early = client.callTool({ name: "echo", arguments: { text: "early" } });
  await sleep(50);
  const second = await startMcpServer({ tools: [echoTool], config: { socketPath, auth: "none" } });
  expect((await early).structuredContent).toMatchObject({ text: "early" });
  expect((await client.listTools()).tools).toHaveLength(1);
  const event = { ...turnEnded(), id: "01M7ZA2SG9NK1X0GTPCY33DG0A", sessionId: sessionSummary().sessionId };
  const publishAgain = (): readonly string[] => {
    if (updated.length === 0) second.publish({ kind: "event", event });
    return updated;
  };
  await expect.poll(publishAgain, patient).toContain(uri);
  expect(lines.join("\n")).not.toContain("postern-mcp-1");
});

test("an invalid message and a refusal of the gateway are error responses", async () => {
  const { socketPath } = await startMcpServer({ tools: [echoTool] });
  const ping = JSON.stringify({ jsonrpc: "2.0", id: 5, method: "tools/list" });
  async function* stdin() {
    yield Buffer.from(`nonsense\n\n${ping}\n`); // the input ends here; earlier requests are still answered
  }
  const { code, stdout } = await runCommand(["mcp"], {
    ports: { token: async () => "pst_revoked", socketPath: async () => socketPath },
    stdin: stdin(),
  });
  const answers = stdout
    .trim()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
  expect(code).toBe(0);
  expect(answers).toMatchObject([
    { id: null, error: { code: -32_700 } },
    { id: 5, error: { message: expect.stringContaining("unauthenticated") } },
  ]);
});
