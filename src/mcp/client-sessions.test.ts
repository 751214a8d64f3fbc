import { mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { createFakeClock } from "../../test/support/fake-clock.ts";
import { createRawMcpClient, type RawStream } from "../../test/support/mcp-raw.ts";
import { startMcpServer } from "../../test/support/mcp-server.ts";
import { driveTool, echoTool, slowTool } from "../../test/support/mcp-tools.ts";

const patient = { timeout: 10_000, interval: 20 };
const said = (text: string) => ({ result: { structuredContent: { text } } });

test("a session is only for the caller that opened it", async () => {
  const { mcpUrl, token } = await startMcpServer({ tools: [echoTool] });
  const mine = createRawMcpClient(mcpUrl, await token("coding:read"));
  expect((await mine.call(1, "echo", { text: "x" })).status).toBe(400);
  const begun = await mine.initialize();
  expect(begun.status).toBe(200);
  await expect
    .poll(() => begun.messages.at(-1), patient)
    .toMatchObject({ id: 0, result: { protocolVersion: "2025-11-25" } });
  const answer = await mine.call(1, "echo", { text: "x" });
  await expect.poll(() => answer.messages, patient).toMatchObject([{ id: 1, ...said("x") }]);
  await expect.poll(() => answer.ended, patient).toBe(true);
  // Another token of the same account is another caller.
  const other = createRawMcpClient(mcpUrl, await token("coding:read"), mine.sessionId);
  expect((await other.call(2, "echo", { text: "x" })).status).toBe(404);
  expect((await other.get()).status).toBe(404);
  expect((await other.delete()).status).toBe(404);
  expect((await createRawMcpClient(mcpUrl, null, mine.sessionId).get()).status).toBe(401);
  expect((await mine.delete()).status).toBe(200);
  expect((await mine.call(3, "echo", { text: "x" })).status).toBe(404);
});

test("an answer whose stream was cut is available when the client reconnects", async () => {
  const slow = slowTool();
  const { mcpUrl, token } = await startMcpServer({ tools: [slow.tool], limits: { abandonMs: 300 } });
  const bearer = await token("coding:read");
  const client = createRawMcpClient(mcpUrl, bearer);
  await client.initialize();
  const call = await client.call(1, "slow");
  await expect.poll(() => call.lastEventId, patient).not.toBeNull();
  call.cut();
  await expect.poll(() => call.ended, patient).toBe(true);
  const back = await client.get({ "last-event-id": call.lastEventId ?? "" });
  expect(back.status).toBe(200);
  const stranger = createRawMcpClient(mcpUrl, bearer);
  await stranger.initialize();
  expect((await stranger.get({ "last-event-id": call.lastEventId ?? "" })).status).toBe(400);
  await new Promise((resolve) => setTimeout(resolve, 400)); // longer than it continues without a client
  expect(slow.signals[0]?.aborted).toBe(false);
  slow.finish();
  await expect.poll(() => back.messages, patient).toMatchObject([{ id: 1, ...said("done") }]);
  await expect.poll(() => back.ended, patient).toBe(true);
  const late = await client.get({ "last-event-id": call.lastEventId ?? "" });
  await expect.poll(() => late.messages, patient).toMatchObject([{ id: 1, ...said("done") }]);
  expect((await client.get({ "last-event-id": "nonsense" })).status).toBe(400);
});

test("a call whose stream was cut ends if the client does not return", async () => {
  const slow = slowTool();
  const { mcpUrl, token } = await startMcpServer({ tools: [slow.tool], limits: { abandonMs: 50 } });
  const client = createRawMcpClient(mcpUrl, await token("coding:read"));
  await client.initialize();
  const call = await client.call(1, "slow");
  await expect.poll(() => slow.signals.length, patient).toBe(1);
  call.cut();
  await expect.poll(() => slow.signals[0]?.aborted, patient).toBe(true);
});

test("a cancelled call ends, and so does its stream", async () => {
  const slow = slowTool();
  const { mcpUrl, token } = await startMcpServer({ tools: [slow.tool] });
  const client = createRawMcpClient(mcpUrl, await token("coding:read"));
  await client.initialize();
  const call = await client.call(7, "slow");
  await expect.poll(() => slow.signals.length, patient).toBe(1);
  const params = { requestId: 7, reason: "enough" };
  expect((await client.post({ jsonrpc: "2.0", method: "notifications/cancelled", params })).status).toBe(202);
  await expect.poll(() => slow.signals[0]?.aborted, patient).toBe(true);
  await expect.poll(() => call.ended, patient).toBe(true);
});

test("a revoked token ends its streams, its session and its calls within five seconds", async () => {
  const clock = createFakeClock();
  const slow = slowTool();
  const { mcpUrl, token, accounts, connect } = await startMcpServer({ tools: [slow.tool], clock });
  const bearer = await token("coding:read");
  const [record] = await accounts.tokens.list((await accounts.owner()).accountId);
  const client = createRawMcpClient(mcpUrl, bearer);
  await client.initialize();
  const stream = await client.get();
  const call = await client.call(1, "slow");
  const modern = await connect("2026", bearer);
  const waiting = modern.callTool({ name: "slow", arguments: {} }).catch((error: unknown) => String(error));
  await expect.poll(() => slow.signals.length, patient).toBe(2);
  await clock.advance(10_000);
  expect([stream.ended, call.ended]).toEqual([false, false]);
  await accounts.tokens.revoke((await accounts.owner()).accountId, record?.tokenId ?? "");
  const until = clock.now() + 5_000;
  const allEnded = async (): Promise<boolean> => {
    if (clock.now() < until) await clock.advance(500);
    return stream.ended && call.ended && slow.signals.every(({ aborted }) => aborted);
  };
  await expect.poll(allEnded, patient).toBe(true);
  expect(await waiting).toMatch(/unauthenticated/);
  expect((await client.get()).status).toBe(401);
});

test("a call ends when the caller loses its folder, and its answer can no longer be resumed", async () => {
  const clock = createFakeClock();
  const slow = slowTool();
  const { mcpUrl, token, folders, work } = await startMcpServer({ tools: [slow.tool], clock });
  await mkdir(`${work}/kept`);
  await folders.add(work, ["coding"]);
  await folders.add(`${work}/kept`, ["coding"]);
  const client = createRawMcpClient(mcpUrl, await token("coding:read"));
  await client.initialize();
  const [waiting, kept, cut, answered] = await Promise.all([
    client.call(1, "slow", { dir: work }),
    client.call(2, "slow", { dir: `${work}/kept` }),
    client.call(3, "slow", { dir: work }),
    client.call(4, "slow", { dir: work }),
  ]);
  await expect.poll(() => slow.signals.length, patient).toBe(4);
  for (const call of [cut, answered]) await expect.poll(() => call.lastEventId, patient).not.toBeNull();
  cut.cut();
  answered.cut();
  const back = await client.get({ "last-event-id": cut.lastEventId ?? "" });
  await folders.remove(work);
  await clock.advance(2_000);
  await expect.poll(() => [waiting.ended, back.ended], patient).toEqual([true, true]);
  expect(kept.ended).toBe(false);
  slow.finish();
  await expect.poll(() => kept.messages, patient).toMatchObject([{ id: 2, ...said("done") }]);
  for (const call of [cut, answered]) {
    expect((await client.get({ "last-event-id": call.lastEventId ?? "" })).status).toBe(403);
  }
  expect([waiting.text, back.text].join("")).not.toContain("done");
});

test("a tool beyond the caller's scopes is rejected before the response starts", async () => {
  const { mcpUrl, token } = await startMcpServer({ tools: [echoTool, driveTool] });
  const client = createRawMcpClient(mcpUrl, await token("coding:read"));
  await client.initialize();
  const refused = await client.call(1, "drive", { text: "x" });
  expect(refused.status).toBe(403);
  expect(refused.headers.get("www-authenticate")).toContain('error="insufficient_scope"');
  expect(refused.headers.get("www-authenticate")).toContain('scope="coding:drive"');
  const logsOnly = createRawMcpClient(mcpUrl, await token("logs:read"));
  await logsOnly.initialize();
  const params = { uri: "postern://sessions/x" };
  expect((await logsOnly.post({ jsonrpc: "2.0", id: 2, method: "resources/read", params })).status).toBe(403);
});

test("the session idle longest is evicted; one with an open stream is not", async () => {
  const { mcpUrl, token } = await startMcpServer({ tools: [echoTool], limits: { maxSessionsOfCaller: 2 } });
  const bearer = await token("coding:read");
  const [first, second, third, fourth] = [1, 2, 3, 4].map(() => createRawMcpClient(mcpUrl, bearer));
  if (!first || !second || !third || !fourth) throw new Error("Four are needed.");
  const begun = await first.initialize();
  await expect.poll(() => begun.ended, patient).toBe(true);
  await second.initialize();
  await second.get();
  expect((await third.initialize()).status).toBe(200);
  expect((await first.call(1, "echo", { text: "x" })).status).toBe(404);
  await third.get();
  const refused = await fourth.initialize();
  expect(refused.status).toBe(429);
  const others = createRawMcpClient(mcpUrl, await token("coding:read"));
  expect((await others.initialize()).status).toBe(200);
});

test("an idle session ends; one with an open stream does not", async () => {
  const clock = createFakeClock();
  const { mcpUrl, token } = await startMcpServer({ tools: [echoTool], clock, limits: { idleMs: 60_000 } });
  const bearer = await token("coding:read");
  const [idle, open] = [createRawMcpClient(mcpUrl, bearer), createRawMcpClient(mcpUrl, bearer)];
  for (const client of [idle, open]) {
    const begun = await client.initialize();
    await expect.poll(() => begun.ended, patient).toBe(true);
  }
  const stream = await open.get();
  await clock.advance(180_000);
  expect((await idle.call(1, "echo", { text: "x" })).status).toBe(404);
  expect(stream.ended).toBe(false);
  expect((await open.call(1, "echo", { text: "x" })).status).toBe(200);
});

test("a stopping gateway ends streams and calls immediately", async () => {
  const slow = slowTool();
  const { mcpUrl, token, connect, close } = await startMcpServer({ tools: [slow.tool] });
  const bearer = await token("coding:read");
  const client = createRawMcpClient(mcpUrl, bearer);
  await client.initialize();
  const stream = await client.get();
  const call = await client.call(1, "slow");
  const modern = await connect("2026", bearer);
  const waiting = modern.callTool({ name: "slow", arguments: {} }).catch((error: unknown) => String(error));
  await expect.poll(() => slow.signals.length, patient).toBe(2);
  await close();
  await expect.poll(() => [stream.ended, call.ended], patient).toEqual([true, true]);
  expect(await waiting).toMatch(/503|gateway/i);
});

test("checks host names, origins and bodies as everywhere else", async () => {
  const { mcpUrl, token, port } = await startMcpServer({ tools: [echoTool], config: { bodyLimitBytes: 2_000 } });
  const client = createRawMcpClient(mcpUrl, await token("coding:read"));
  await client.initialize();
  const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
  expect((await client.post(ping, { origin: "http://evil.example" })).status).toBe(403);
  expect((await client.post(ping, { origin: `http://127.0.0.1:${port}` })).status).toBe(200);
  expect((await client.post(ping, { "content-type": "text/plain" })).status).toBe(415);
  expect((await client.post("{")).status).toBe(400);
  expect((await client.post({ jsonrpc: "2.0", method: 1 })).status).toBe(400);
  expect((await client.call(2, "echo", { text: "x".repeat(3_000) })).status).toBe(413);
  expect((await client.post(ping, { "mcp-protocol-version": "1999-01-01" })).status).toBe(400);
  expect((await client.post(ping, { accept: "text/html" })).status).toBe(406);
});

test("an app with a new access token returns to the same session and its call", async () => {
  const clock = createFakeClock();
  const slow = slowTool();
  let connected = true;
  const isConnected = async (): Promise<boolean> => connected;
  const { mcpUrl, apps, accounts } = await startMcpServer({ tools: [slow.tool], clock, isConnected });
  const { accountId } = await accounts.owner();
  const [first, second] = [1, 2].map(() => apps.issue({ accountId, scopes: ["coding:read"] }));
  if (!first || !second) throw new Error("Two are needed.");
  const client = createRawMcpClient(mcpUrl, first.token);
  const begun = await client.initialize();
  await expect.poll(() => begun.ended, patient).toBe(true);
  const call = await client.call(1, "slow");
  await expect.poll(() => slow.signals.length, patient).toBe(1);
  const ends = async (): Promise<boolean> => {
    await clock.advance(500);
    return call.ended;
  };
  apps.revoke(first.issued.tokenId);
  await expect.poll(ends, patient).toBe(true);
  const renewed = createRawMcpClient(mcpUrl, second.token, client.sessionId);
  const back = await renewed.get({ "last-event-id": call.lastEventId ?? "" });
  expect([back.status, slow.signals[0]?.aborted]).toEqual([200, false]);
  connected = false;
  apps.revoke(second.issued.tokenId);
  const allEnded = async (): Promise<boolean> => {
    await clock.advance(500);
    return back.ended && slow.signals[0]?.aborted === true;
  };
  await expect.poll(allEnded, patient).toBe(true);
});

test("a call continues only if its stream is resumed, and ends when the resumed stream breaks too", async () => {
  const slow = slowTool();
  const clock = createFakeClock();
  const { mcpUrl, token } = await startMcpServer({ tools: [slow.tool], clock });
  const client = createRawMcpClient(mcpUrl, await token("coding:read"));
  const begun = await client.initialize();
  await expect.poll(() => begun.ended, patient).toBe(true);
  const [refused, resumed] = [await client.call(1, "slow"), await client.call(2, "slow")];
  await expect.poll(() => slow.signals.length, patient).toBe(2);
  for (const call of [refused, resumed]) {
    await expect.poll(() => call.lastEventId, patient).not.toBeNull();
    call.cut();
  }
  const comeBack = (): Promise<RawStream> => client.get({ "last-event-id": resumed.lastEventId ?? "" });
  // Until the gateway detects that the first is cut, its stream is in use.
  let back = await comeBack();
  for (; back.status === 409; back = await comeBack());
  expect((await client.get({ "last-event-id": "nonsense" })).status).toBe(400);
  const aborted = (): readonly boolean[] => slow.signals.map((signal) => signal.aborted);
  await clock.advance(70_000);
  await expect.poll(aborted, patient).toEqual([true, false]);
  back.cut();
  const later = async (): Promise<readonly boolean[]> => {
    await clock.advance(10_000);
    return aborted();
  };
  await expect.poll(later, patient).toEqual([true, true]);
});
