import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../../src/app/app.ts";
import { loadConfig } from "../../src/app/config.ts";
import { silentLog } from "../../src/core/log.ts";
import type { FactPage, LogDeletion, LogDetail, LogEntry, LogPage, LogSearch } from "../../src/wire/logs.ts";
import type { RecordedRequest } from "../model-server/model-server.ts";
import { errorCode } from "../support/error-code.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";

const secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789";
/** What the scripted model finds in the text. */
const facts = [
  { subjectType: "Session", subject: "this", predicate: "decided", objectType: "Decision", object: "retry limit" },
  { subjectType: "Decision", subject: "retry limit", predicate: "status", objectType: null, object: "three tries" },
  { subjectType: "Session", subject: "this", predicate: "edited", objectType: "File", object: "src/retry.ts" },
  { subjectType: "Session", subject: "this", predicate: "edited", objectType: "Unknown", object: "src/retry.ts" },
  { subjectType: "Session", subject: "another", predicate: "remembered", objectType: null, object: "obey" },
];
const answer = `answer ${JSON.stringify({ facts })}`;

/** The first use loads what talks to models. */
const soon = { timeout: 20_000 };

let world: World;
beforeAll(async () => {
  world = await createWorld({ agents: false, env: { POSTERN_EXTRACTOR_API_KEY: "key-of-the-extractor" } });
});
afterAll(() => world.close());

async function configure(extractor: Readonly<Record<string, unknown>>): Promise<void> {
  const config = { port: 0, host: "127.0.0.1", memory: { extractor } };
  await writeFile(join(world.home, "config.json"), JSON.stringify(config));
}

const providers = [
  { provider: "openai-compatible", model: "small", path: "/v1/chat/completions", keyHeader: "authorization" },
  { provider: "anthropic", model: "claude-sonnet-4-5", path: "/v1/messages", keyHeader: "x-api-key" },
] as const;

for (const { provider, model, path, keyHeader } of providers) {
  test(`with a model (${provider}) more is found in an entry than the rules find, and forgotten with it`, async () => {
    await configure({ provider, model, baseUrl: `${world.modelServer.url}/v1` });
    const gateway = await startGateway(world);
    try {
      await finds(gateway, { model, path, keyHeader });
      await forgets(gateway, model);
    } finally {
      await gateway.close();
    }
  });
}

async function finds(
  { api }: TestGateway,
  { model, path, keyHeader }: { readonly model: string; readonly path: string; readonly keyHeader: string },
): Promise<void> {
  const content = `Decision: timeout = 30 s\nWe settled src/retry.ts on three tries, key ${secret}\n${answer}`;
  const submitted = await api.post<LogEntry>("/api/v1/logs", { content });
  expect(submitted).toMatchObject({ status: 202, body: { status: "pending" } });
  const { logId } = submitted.body;
  const read = async () => (await api.get<LogDetail>(`/api/v1/logs/${logId}`)).body;
  await expect.poll(async () => (await read()).status, soon).toBe("ready");
  const { facts: found } = await read();
  const said = found.map(({ extractor, predicate, value, object }) => {
    const who = extractor.replace(/@[0-9a-f]{8}$/, "@…");
    return `${who} ${predicate} ${value ?? object?.key ?? ""}`;
  });
  expect(new Set(said)).toEqual(
    new Set([
      `llm:${model}@… decided retry limit`,
      `llm:${model}@… edited src/retry.ts`,
      `llm:${model}@… status three tries`,
      "rules@1 decided timeout",
      "rules@1 status 30 s",
    ]),
  );
  const request = world.modelServer.requests.at(-1);
  expect(request).toMatchObject({ path, model });
  expect(request?.headers[keyHeader]).toContain("key-of-the-extractor");
  expect(request?.body).not.toContain(secret);
  const deleted = await api.post<LogDeletion>(`/api/v1/logs/${logId}/delete`, { id: logId });
  expect(deleted).toMatchObject({ status: 200, body: { deleted: { episode: true, facts: 5 } } });
}

async function forgets({ api }: TestGateway, model: string): Promise<void> {
  const { logId } = (await api.post<LogEntry>("/api/v1/logs", { content: `slow 60000\nsrc/retry.ts\n${answer}` })).body;
  const asked = (): RecordedRequest | undefined =>
    world.modelServer.requests.find((request) => request.model === model && request.body.includes("slow 60000"));
  await expect.poll(asked, soon).toBeDefined();
  expect(asked()?.wasCutOff()).toBe(false);
  const deleted = await api.post<LogDeletion>(`/api/v1/logs/${logId}/delete`, { id: logId });
  expect(deleted).toMatchObject({
    status: 200,
    body: { deleted: { episode: false, statements: 0, entities: 0, facts: 0 } },
  });
  await expect.poll(() => asked()?.wasCutOff(), soon).toBe(true);
  // The next one in line is asked about at once, and is all that there is.
  const { logId: nextId } = (await api.post<LogEntry>("/api/v1/logs", { content: 'answer {"facts": []}' })).body;
  await expect
    .poll(async () => (await api.get<LogPage>("/api/v1/logs")).body.logs, soon)
    .toMatchObject([{ logId: nextId, status: "ready" }]);
  expect((await api.get<FactPage>("/api/v1/facts")).body.facts).toEqual([]);
  expect((await api.get<LogSearch>("/api/v1/search?q=retry")).body.hits).toEqual([]);
  await api.post(`/api/v1/logs/${nextId}/delete`, { id: nextId });
}

test("a server that refuses leaves an entry with what the rules found, and says why in plain words", async () => {
  await configure({ provider: "openai-compatible", model: "small", baseUrl: `${world.modelServer.url}/v1` });
  const gateway = await startGateway(world, silentLog);
  try {
    const content = 'Remember: be kind\nanswer {"facts": []}\nfail 401';
    const { logId } = (await gateway.api.post<LogEntry>("/api/v1/logs", { content })).body;
    const read = async () => (await gateway.api.get<LogDetail>(`/api/v1/logs/${logId}`)).body;
    await expect.poll(async () => (await read()).status, soon).toBe("failed");
    expect(await read()).toMatchObject({
      failure: "The model's server rejected the API key (401).",
      facts: [{ predicate: "remembered", value: "be kind", extractor: "rules@1" }],
    });
  } finally {
    await gateway.close();
  }
});

test("a gateway does not start without its configured key", async () => {
  const start = async (extractor: Readonly<Record<string, unknown>>, key?: string) => {
    await configure({ model: "m", ...extractor });
    const app = await createApp(loadConfig({ ...world.env, POSTERN_EXTRACTOR_API_KEY: key }), silentLog);
    await app.close();
  };
  expect(await errorCode(start({ provider: "anthropic" }))).toBe("invalid_configuration");
  const local = { provider: "openai-compatible", baseUrl: "http://127.0.0.1:11434/v1" };
  expect(await errorCode(start({ ...local, apiKeyVariable: "POSTERN_OTHER_KEY" }))).toBe("invalid_configuration");
  await expect(start({ provider: "openai-compatible" })).rejects.toThrow('"memory.extractor.baseUrl"');
  await expect(start({ ...local, baseUrl: "https://user:pass@example.org/v1" })).rejects.toThrow("without credentials");
  expect(await errorCode(start(local))).toBeNull();
});
