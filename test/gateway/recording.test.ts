import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ForgottenTraces, RecordingInfo } from "../../src/wire/terminal.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";

const flood = `process.stdout.write("ready\\r\\n"); setTimeout(() => {
  const line = "x".repeat(997) + "\\r\\n\\x1b]52;c;RVZJTA==\\x07";
  for (let i = 0; i < 20000; i += 1) process.stdout.write(line);
  process.stdout.write("done\\r\\n", () => process.exit(0));
}, 200);`;
const agents = [
  { name: "flood", binary: process.execPath, startArgs: ["-e", flood, "{prompt}"], readyPattern: "ready" },
];

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: "scripted", config: { agents } });
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

const pathOf = (sessionId: string): string => `/api/coding/sessions/${sessionId}`;

async function token(): Promise<string> {
  const { app } = gateway;
  const { accountId } = await app.accounts.owner();
  const made = await app.accounts.tokens.create(accountId, {
    name: "r",
    scopes: ["coding:read", "coding:drive"],
    folders: null,
    expiresAt: null,
  });
  return made.token;
}

async function castOf(
  sessionId: string,
  query = "",
): Promise<{ readonly status: number; readonly type: string | null; readonly text: string }> {
  const response = await fetch(`${gateway.url}${pathOf(sessionId)}/recording${query}`, {
    headers: { authorization: `Bearer ${await token()}` },
  });
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

test("each launch of a session is played after the other, and is forgotten when its agent has ended", async () => {
  const { api } = gateway;
  const dir = world.repository;
  const { sessionId } = await api.ask({ agent: "scripted", dir, prompt: "first words", waitMs: 30_000 });
  const infoOf = async () => (await api.get<RecordingInfo>(`${pathOf(sessionId)}/recording/info`)).body.terminals;
  expect(await infoOf()).toMatchObject([{ live: true }]);
  await api.post("/api/coding/coding_close_session", { sessionId });
  const resumed = await api.ask({ sessionId, dir, prompt: "second words", waitMs: 30_000 });
  expect(resumed.started).toBe("resumed");
  expect(await infoOf()).toMatchObject([{ live: false }, { live: true }]);
  const live = await castOf(sessionId);
  expect(live).toMatchObject({ status: 200, type: "application/x-asciicast" });
  const [head, ...lines] = live.text.trimEnd().split("\n");
  expect(JSON.parse(head ?? "")).toMatchObject({ version: 2, width: 120, height: 40 });
  const events: [number, string, string][] = lines.map((line) => JSON.parse(line));
  const output = events.map(([, , text]) => text).join("");
  expect(output).toMatch(/first words[^]*\x1bc[^]*second words/);
  expect(output).not.toMatch(/\x1b\[>|\x1b\[c|\x1b\[\?u|\ufffd/);
  const [firstBegins = "", secondBegins = ""] = (await infoOf()).map(({ beginsAt }) => beginsAt);
  const fromSecond = await castOf(sessionId, `?from=${encodeURIComponent(secondBegins)}`);
  expect(fromSecond.text).toContain("second words");
  expect(JSON.parse(fromSecond.text.split("\n")[1] ?? "")[0]).toBeGreaterThanOrEqual(
    (Date.parse(secondBegins) - Date.parse(firstBegins)) / 1_000,
  );
  const forget = async () => {
    const response = await fetch(`${gateway.url}${pathOf(sessionId)}/traces`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${await token()}` },
    });
    return { status: response.status, body: await response.json() };
  };
  expect(await forget()).toMatchObject({ status: 409, body: { code: "session_busy" } });
  await api.post("/api/coding/coding_close_session", { sessionId });
  const gone: ForgottenTraces = (await forget()).body;
  expect(gone).toMatchObject({ sessionId, recordings: 2, hookInboxes: 1 });
  expect(await infoOf()).toEqual([]);
  expect(await castOf(sessionId)).toMatchObject({ status: 404, text: expect.stringContaining("recording_not_found") });
  // The transcript is the agent's: the session is there.
  expect((await api.read(sessionId)).turns).toHaveLength(4);
});

test("an unread recording waits with little memory, and one whose reader disconnected ends", async () => {
  const { api } = gateway;
  const { body } = await api.post<{ sessionId: string }>("/api/coding/spawn", {
    agent: "flood",
    dir: world.repository,
  });
  const { sessionId } = body;
  await expect.poll(async () => (await api.read(sessionId)).status, { timeout: 30_000 }).toBe("failed");
  const headers = { authorization: `Bearer ${await token()}` };
  const before = process.memoryUsage().rss;
  /** Asks, and reads nothing of the answer. */
  const open = (): Promise<{ readonly status: number | undefined; end(): void }> =>
    new Promise((begun, failed) => {
      const asking = request(`${gateway.url}${pathOf(sessionId)}/recording`, { headers, agent: false }, (response) => {
        response.pause();
        begun({ status: response.statusCode, end: () => void asking.destroy() });
      });
      asking.on("error", failed).end();
    });
  const most = 20;
  const stuck = await Promise.all(Array.from({ length: most - 1 }, open));
  const whole = await castOf(sessionId);
  expect(whole.text.length).toBeGreaterThan(20_000_000);
  expect(whole.text).not.toContain("]52");
  expect(whole.text).toContain("done");
  // Unbounded, the twenty of them would be more than 400 MB.
  expect(process.memoryUsage().rss - before).toBeLessThan(320_000_000);
  stuck.push(await open());
  const refused = await open();
  expect([...stuck, refused].map(({ status }) => status)).toEqual([...stuck.map(() => 200), 429]);
  for (const { end } of [...stuck, refused]) end();
  await expect
    .poll(
      async () => {
        const again = await Promise.all(Array.from({ length: most }, open));
        for (const { end } of again) end();
        return again.every(({ status }) => status === 200);
      },
      { timeout: 20_000, interval: 500 },
    )
    .toBe(true);
});

test("recordings are shown to those who may see the session, and forgotten by those who may drive it", async () => {
  const reader = await gateway.client(["coding:read"]);
  const { body } = await gateway.api.post<{ sessionId: string }>("/api/coding/spawn", {
    agent: "flood",
    dir: world.repository,
  });
  expect((await reader.get(`${pathOf(body.sessionId)}/recording/info`)).status).toBe(200);
  expect((await reader.get(`${pathOf(body.sessionId)}/recording?from=yesterday`)).status).toBe(400);
  expect((await reader.get(`${pathOf("nobody")}/recording`)).status).toBe(404);
  await gateway.app.folders.add(world.home.replace(/home$/, "claude"), ["coding"]);
  for (const rest of ["recording", "recording/info"]) {
    expect((await reader.get(`${pathOf(body.sessionId)}/${rest}`)).body).toMatchObject({ code: "session_not_found" });
  }
  const response = await fetch(`${gateway.url}${pathOf(body.sessionId)}/traces`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${await token()}` },
  });
  expect(response.status).toBe(404);
});
