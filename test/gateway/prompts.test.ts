import { expect, test } from "vitest";
import { processTable } from "../../src/platform/process-table.ts";
import type { AskOutput } from "../../src/wire/coding.ts";
import { echoOf } from "../model-server/script.ts";
import { useGateway } from "../support/use-gateway.ts";

const used = useGateway({ agents: "scripted" });
const waitMs = 30_000;

test("twenty asks at once to a session whose process is gone: one process, each prompt once, in order", {
  timeout: 120_000,
}, async () => {
  const { api } = used.gateway;
  const dir = used.world.repository;
  const first = await api.ask({ agent: "scripted", dir, prompt: "the first", waitMs });
  const { sessionId } = first;
  await api.post("/api/coding/coding_close_session", { sessionId });
  const prompts = Array.from({ length: 20 }, (_, index) => `number ${index + 1}`);
  const answers = await Promise.all(
    prompts.map(async (prompt) => {
      const answer = await api.post<AskOutput>("/api/coding/coding_ask", { dir, sessionId, prompt, waitMs: 60_000 });
      return { prompt, ...answer };
    }),
  );
  const running = processTable().filter(
    ({ zombie, parentPid }) => !zombie && parentPid === used.gateway.app.terminalHostPid(),
  );
  expect(running, "the host runs one agent").toHaveLength(1);
  const taken = answers.filter(({ status }) => status === 200);
  for (const { status, body } of answers.filter((answer) => answer.status !== 200)) {
    expect([409, 429]).toContain(status);
    expect(body).toHaveProperty("code");
  }
  expect(new Set(taken.map(({ body }) => body.pid)).size).toBe(1);
  const { turns } = await api.read(sessionId, { limit: 200 });
  const said = turns.filter(({ role }) => role === "user").map(({ text }) => text);
  expect(said.toSorted(), "each once").toEqual(["the first", ...taken.map(({ prompt }) => prompt)].toSorted());
  expect(turns.filter(({ role }) => role === "assistant").map(({ text }) => text)).toEqual(said.map(echoOf));
  await api.post("/api/coding/coding_close_session", { sessionId });
});

test("the same request twice with one idempotency key is one prompt; another request with that key is refused", async () => {
  const { api } = used.gateway;
  const request = {
    agent: "scripted",
    dir: used.world.repository,
    prompt: "only once",
    idempotencyKey: "key-1",
    waitMs,
  };
  const [one, two] = await Promise.all([api.ask(request), api.ask(request)]);
  expect(two.sessionId).toBe(one.sessionId);
  expect(two.pid).toBe(one.pid);
  expect((await api.read(one.sessionId)).turns).toHaveLength(2);
  const other = await api.post("/api/coding/coding_ask", { ...request, prompt: "something else" });
  expect(other).toMatchObject({ status: 409, body: { code: "idempotency_conflict" } });
  await api.post("/api/coding/coding_close_session", { sessionId: one.sessionId });
});
