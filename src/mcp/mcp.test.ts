import { expect, test } from "vitest";
import { startMcpServer } from "../../test/support/mcp-server.ts";
import { driveTool, echoTool, failTool, slowTool } from "../../test/support/mcp-tools.ts";
import { sessionSummary } from "../../test/support/scripted-gateway.ts";
import { turnEnded } from "../../test/support/session-events.ts";

const patient = { timeout: 10_000, interval: 20 };
const { sessionId } = sessionSummary();
const uri = `postern://sessions/${sessionId}`;

test.each(["2025", "2026"] as const)("a client of %s lists the tools that its caller may use", async (era) => {
  const { connect, token } = await startMcpServer({ tools: [echoTool, driveTool] });
  const client = await connect(era, await token("coding:read"));
  expect(client.getNegotiatedProtocolVersion()).toBe(era === "2025" ? "2025-11-25" : "2026-07-28");
  expect(client.getServerVersion()).toMatchObject({ name: "postern", title: "Postern", version: "1.2.3" });
  expect(client.getInstructions()).toContain("waitMs");
  const { tools } = await client.listTools();
  expect(tools).toMatchObject([
    {
      name: "echo",
      title: "Echo",
      description: "Says it again.",
      inputSchema: { type: "object", required: ["text"], additionalProperties: false },
      outputSchema: { type: "object", required: ["notice", "text"] },
      annotations: {
        title: "Echo",
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
    },
  ]);
  const driver = await connect(era, await token("coding:read", "coding:drive"));
  expect((await driver.listTools()).tools.map(({ name }) => name)).toEqual(["echo", "drive"]);
});

test.each(["2025", "2026"] as const)("a client of %s gets an answer twice: structured, and as text", async (era) => {
  const { connect, token } = await startMcpServer({ tools: [echoTool] });
  const client = await connect(era, await token("coding:read"));
  await client.listTools(); // with the schemas of answers, the client checks them
  const result = await client.callTool({ name: "echo", arguments: { text: "Grüße" } });
  expect(result.isError).toBeUndefined();
  expect(result.structuredContent).toEqual({ notice: expect.stringMatching(/^Untrusted: /), text: "Grüße" });
  const [content] = result.content;
  expect(content?.type === "text" && JSON.parse(content.text)).toEqual(result.structuredContent);
});

test.each(["2025", "2026"] as const)("what goes wrong is told to the LLM of a client of %s", async (era) => {
  const { connect, token } = await startMcpServer({ tools: [echoTool, failTool] });
  const client = await connect(era, await token("coding:read"));
  const textOf = async (name: string, args: Record<string, unknown>): Promise<string> => {
    const { isError, content } = await client.callTool({ name, arguments: args });
    expect(isError).toBe(true);
    return content[0]?.type === "text" ? content[0].text : "";
  };
  expect(await textOf("fail", { code: "session_busy" })).toBe(
    'Error session_busy: It is busy. Try later.\nDetails: {"sessionId":"s1"}',
  );
  const inside = await textOf("fail", {});
  expect(inside).toMatch(/^Error internal_error: Something went wrong inside the gateway/);
  expect(inside).not.toContain("secret");
  const unfit = await textOf("echo", { text: "", more: { depth: "x" }, wrong: 1 });
  expect(unfit).toMatch(/^Error invalid_request: .*text: .*more\.depth: .*wrong: There is no such field/);
  await expect(client.callTool({ name: "nothing", arguments: {} })).rejects.toThrow(/no tool "nothing"/);
});

test.each(["2025", "2026"] as const)("a client of %s is told how a call stands, when it asks to be", async (era) => {
  const slow = slowTool();
  const { connect, token } = await startMcpServer({ tools: [slow.tool], limits: { progressMs: 20 } });
  const client = await connect(era, await token("coding:read"));
  const told: {
    readonly progress: number;
    readonly message?: string | undefined;
    readonly total?: number | undefined;
  }[] = [];
  const call = client.callTool(
    { name: "slow", arguments: { sessionId, waitMs: 60_000 } },
    { onprogress: (progress) => void told.push(progress) },
  );
  await expect.poll(() => told.length, patient).toBeGreaterThan(1);
  slow.finish();
  expect((await call).structuredContent).toEqual({ text: "done" });
  expect(told[0]).toMatchObject({ total: 60, message: "claude-code is idle (0 s)" });
  const count = told.length;
  await client.listTools();
  expect(told.length).toBe(count);
});

test.each(["2025", "2026"] as const)("a call that a client of %s cancels is aborted", async (era) => {
  const slow = slowTool();
  const { connect, token } = await startMcpServer({ tools: [slow.tool] });
  const client = await connect(era, await token("coding:read"));
  const cancelling = new AbortController();
  const call = client.callTool({ name: "slow", arguments: {} }, { signal: cancelling.signal });
  await expect.poll(() => slow.signals.length, patient).toBe(1);
  cancelling.abort();
  await expect(call).rejects.toThrow();
  await expect.poll(() => slow.signals[0]?.aborted, patient).toBe(true);
  expect((await client.listTools()).tools).toHaveLength(1);
});

test.each(["2025", "2026"] as const)("sessions are resources of a client of %s", async (era) => {
  const { connect, token } = await startMcpServer({ tools: [echoTool] });
  const client = await connect(era, await token("coding:read"));
  const { resources } = await client.listResources();
  expect(resources).toMatchObject([{ uri, name: sessionId, title: "A [31mtitle", mimeType: "text/markdown" }]);
  expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([
    { uriTemplate: "postern://sessions/{sessionId}" },
  ]);
  const [content] = (await client.readResource({ uri })).contents;
  expect(content !== undefined && "text" in content && content.text).toMatch(
    /^Untrusted: [\s\S]*Session 0b0c[\s\S]*## 0 user[\s\S]*hi[\s\S]*## 1 assistant[\s\S]*hello$/,
  );
  await expect(client.readResource({ uri: "postern://sessions/nobody" })).rejects.toThrow(/nobody/);
  const ref = { type: "ref/resource", uri: "postern://sessions/{sessionId}" } as const;
  const { completion } = await client.complete({ ref, argument: { name: "sessionId", value: "0b" } });
  expect(completion).toMatchObject({ values: [sessionId], hasMore: false });
  const none = await connect(era, await token("logs:read"));
  expect(await none.listResources()).toMatchObject({ resources: [] });
});

test("a session that is subscribed to tells of its turns", async () => {
  const { connect, token, publish } = await startMcpServer({ tools: [echoTool] });
  const client = await connect("2025", await token("coding:read"));
  const updated: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
  await client.subscribeResource({ uri });
  await expect(client.subscribeResource({ uri: "postern://sessions/nobody" })).rejects.toThrow(/nobody/);
  const event = { ...turnEnded(), id: "01M7ZA2SG9NK1X0GTPCY33DG0A" };
  publish({ kind: "event", event: { ...event, sessionId: "another" } });
  publish({ kind: "event", event: { ...event, sessionId } });
  await expect.poll(() => updated, patient).toEqual([uri]);
  await client.unsubscribeResource({ uri });
  publish({ kind: "event", event: { ...event, sessionId } });
  await client.ping();
  expect(updated).toEqual([uri]);
});

test("a session that a client of 2026 listens to tells of its turns, if the caller may see it", async () => {
  const { connect, token, publish } = await startMcpServer({ tools: [echoTool] });
  const client = await connect("2026", await token("coding:read"));
  const updated: string[] = [];
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => void updated.push(params.uri));
  await client.listen({ resourceSubscriptions: [uri] });
  publish({ kind: "event", event: { ...turnEnded(), id: "01M7ZA2SG9NK1X0GTPCY33DG0A", sessionId } });
  await expect.poll(() => updated, patient).toEqual([uri]);
  await expect(client.listen({ resourceSubscriptions: ["postern://sessions/nobody"] })).rejects.toThrow(/not there/);
});
