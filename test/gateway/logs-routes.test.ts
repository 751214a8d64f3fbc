import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sha256 } from "../../src/core/ids.ts";
import type { Scope } from "../../src/wire/access.ts";
import type { AuditPage } from "../../src/wire/accounts.ts";
import type {
  DeletionPreview,
  EntityPage,
  FactPage,
  LogDeletion,
  LogDetail,
  LogEntry,
  LogPage,
  LogSearch,
  SessionLogDeletion,
} from "../../src/wire/logs.ts";
import type { Problem } from "../../src/wire/problem.ts";
import { browserKeyHeader } from "../../src/wire/sign-in.ts";
import {
  type ApiClient,
  createApiClient,
  createWorld,
  startGateway,
  type TestGateway,
  type World,
} from "../support/gateway.ts";
import { createOAuthPeer, decidingToken, manyAddresses } from "../support/oauth-client.ts";
import { signInBrowser } from "../support/signed-in-browser.ts";
import { startTokenIssuer, type TokenIssuer } from "../support/token-issuer.ts";
import { newSentinel, tracesOf } from "../support/traces.ts";

// The memory over HTTP: one gateway, each test with entries of its own.

const logScopes: readonly Scope[] = ["logs:read", "logs:write"];
const nobody = "00000000-0000-7000-8000-000000000000";

let issuer: TokenIssuer;
let world: World;
let gateway: TestGateway;
let api: ApiClient;
/** The three kinds of bearer that the specification names. */
const bearers = new Map<string, string>();

beforeAll(async () => {
  issuer = await startTokenIssuer(logScopes);
  world = await createWorld({ agents: false, config: { ...manyAddresses, ...issuer.config } });
  gateway = await startGateway(world);
  ({ api } = gateway);
  const { accountId } = await gateway.app.accounts.owner();
  const wanted = { name: "forgets", scopes: logScopes, folders: null, expiresAt: null };
  bearers.set("a personal API token", (await gateway.app.accounts.tokens.create(accountId, wanted)).token);
  const peer = createOAuthPeer(gateway.url, await decidingToken(gateway));
  const app = await peer.letIn(await peer.newClient(), { scope: logScopes.join(" ") });
  bearers.set("an OAuth2 access token", app.accessToken);
  bearers.set("a JWT", await issuer.token(logScopes));
}, 60_000);

afterAll(async () => {
  await gateway?.close();
  await world?.close();
  await issuer?.close();
});

async function remember(content: string, more: object = {}): Promise<LogEntry> {
  const { status, body } = await api.post<LogEntry>("/api/v1/logs", { content, ...more });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

interface Sent {
  readonly token?: string | null;
  readonly body?: string;
  readonly type?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Received<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

async function send<T>(method: string, path: string, sent: Sent = {}): Promise<Received<T>> {
  const { token = bearers.get("a personal API token") ?? "", body, type = "application/json", headers = {} } = sent;
  const answer = await fetch(`${gateway.url}${path}`, {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined || type === null ? {} : { "content-type": type }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: new TextEncoder().encode(body) }),
  });
  return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
}

/** The seed's call. */
async function forget(logId: string, token?: string) {
  const body = JSON.stringify({ id: logId });
  return send<LogDeletion>("DELETE", `/api/v1/logs/${logId}`, { body, ...(token !== undefined && { token }) });
}

describe("an entry", () => {
  test("is found by its words and facts, and gone from all of it and every file, with each kind of bearer", async () => {
    for (const [name, token] of bearers) {
      const sentinel = newSentinel();
      const word = `Wächter${sentinel}`;
      const client = createApiClient(gateway.url, token);
      const { logId } = await remember(`Decision: guard = ${word}\nsee https://${word.toLowerCase()}.example/x`);
      const search = await client.get<LogSearch>(`/api/v1/search?q=${encodeURIComponent(word.toUpperCase())}`);
      expect(
        search.body.hits.map(({ log }) => log.logId),
        name,
      ).toEqual([logId]);
      const facts = await client.get<FactPage>("/api/v1/facts?subject=Decision:guard&predicate=status");
      expect(facts.body.facts).toMatchObject([{ logId, value: word, validTo: null }]);
      const detail = await client.get<LogDetail>(`/api/v1/logs/${logId}`);
      expect(detail.body).toMatchObject({ status: "ready", source: "api", content: expect.stringContaining(word) });
      const preview = await client.get<DeletionPreview>(`/api/v1/logs/${logId}/deletion-preview`);
      expect(await tracesOf(world.home, [sentinel]), name).not.toEqual([]);
      const { status, body } = await forget(logId, token);
      expect([status, body.success, body.deleted], name).toEqual([200, true, preview.body.removed]);
      expect(body.message, name).not.toContain("pending");
      expect(await tracesOf(world.home, [sentinel]), name).toEqual([]);
      expect((await client.get(`/api/v1/logs/${logId}`)).status).toBe(404);
      expect((await forget(logId, token)).status).toBe(404);
      expect((await client.get<LogSearch>(`/api/v1/search?q=${encodeURIComponent(word)}`)).body.hits).toEqual([]);
      expect((await client.get<FactPage>("/api/v1/facts?subject=Decision:guard")).body.facts).toEqual([]);
    }
  });

  test("is made once for a key, answered with its place, and listed page by page", async () => {
    const headers = { "idempotency-key": "the-key-1" };
    const body = JSON.stringify({ content: "only once", sessionId: "pages" });
    const first = await send<LogEntry>("POST", "/api/v1/logs", { body, headers });
    expect([first.status, first.headers.get("location")]).toEqual([201, `/api/v1/logs/${first.body.logId}`]);
    expect((await send<LogEntry>("POST", "/api/v1/logs", { body, headers })).body).toEqual(first.body);
    const other = await send<Problem>("POST", "/api/v1/logs", { body: body.replace("once", "twice"), headers });
    expect([other.status, other.body.code]).toEqual([409, "idempotency_conflict"]);
    const bad = await send<Problem>("POST", "/api/v1/logs", { body, headers: { "idempotency-key": "x".repeat(256) } });
    expect([bad.status, bad.body.code]).toEqual([400, "invalid_request"]);
    const second = await remember("and another", { sessionId: "pages" });
    const page = (await api.get<LogPage>("/api/v1/logs?sessionId=pages&limit=1")).body;
    expect(page.logs.map(({ logId }) => logId)).toEqual([second.logId]);
    const cursor = encodeURIComponent(page.nextCursor ?? "");
    const rest = await api.get<LogPage>(`/api/v1/logs?sessionId=pages&limit=1&cursor=${cursor}`);
    expect(rest.body).toMatchObject({ logs: [{ logId: first.body.logId }], nextCursor: null });
    for (const query of ["limit=0", "limit=201", "limit=x", "cursor=none", "status=odd", "odd=1", "limit=1&limit=2"]) {
      expect((await api.get<Problem>(`/api/v1/logs?${query}`)).body.code, query).toBe("invalid_request");
    }
  });

  test("leads to things, and they to all that is known of them", async () => {
    const { logId } = await remember("Remember: https://things.example/a");
    const entities = await api.get<EntityPage>("/api/v1/entities?type=Url&q=THINGS.example");
    expect(entities.body.entities).toMatchObject([{ type: "Url", key: "https://things.example/a" }]);
    const timeline = `/api/v1/entities/${entities.body.entities[0]?.entityId ?? ""}/timeline`;
    expect((await api.get<FactPage>(timeline)).body.facts).toMatchObject([{ logId, predicate: "mentioned" }]);
    expect((await api.get<FactPage>(`${timeline}?knownAt=2020-01-01T00:00:00Z`)).body.facts).toEqual([]);
    await forget(logId);
    expect((await api.get<FactPage>(timeline)).body.facts).toEqual([]);
  });
});

describe("recording a session", () => {
  test("needs to be let read sessions too, and a session", async () => {
    const path = `/api/v1/sessions/${nobody}/record`;
    const refused = await send<Problem>("POST", path);
    expect([refused.status, refused.body["scope"]]).toEqual([403, "coding:read"]);
    const none = await api.post<Problem>(path, {});
    expect([none.status, none.body.code]).toEqual([404, "session_not_found"]);
  });
});

describe("deleting", () => {
  test("looks at who calls, then at the kind of body, then at its id, and only then for the entry", async () => {
    const { logId } = await remember("stays until the end");
    const path = `/api/v1/logs/${logId}`;
    const body = JSON.stringify({ id: logId });
    const reader = await gateway.app.accounts.tokens.create((await gateway.app.accounts.owner()).accountId, {
      ...{ name: "reads", scopes: ["logs:read", "coding:write"], folders: null, expiresAt: null },
    });
    const cases: readonly (readonly [string, string, Sent, number, string])[] = [
      ["DELETE", path, { token: null, body: "{", type: "text/plain" }, 401, "unauthenticated"],
      ["DELETE", path, { token: "pst_wrong", body }, 401, "unauthenticated"],
      ["DELETE", path, { token: reader.token, body: "{", type: "text/plain" }, 403, "insufficient_scope"],
      ["DELETE", path, { body, type: "text/plain" }, 415, "unsupported_media_type"],
      ["DELETE", path, { body, type: "application/x-www-form-urlencoded" }, 415, "unsupported_media_type"],
      ["DELETE", path, { body, type: null }, 415, "unsupported_media_type"],
      ["DELETE", path, {}, 400, "invalid_request"],
      ["DELETE", path, { body: "{}" }, 400, "invalid_request"],
      ["DELETE", path, { body: "[]" }, 400, "invalid_request"],
      ["DELETE", path, { body: '{"id":""}' }, 400, "invalid_request"],
      ["DELETE", path, { body: JSON.stringify({ id: logId, more: 1 }) }, 400, "invalid_request"],
      ["DELETE", path, { body: JSON.stringify({ id: nobody }) }, 400, "id_mismatch"],
      ["DELETE", `/api/v1/logs/${nobody}`, { body }, 400, "id_mismatch"],
      ["DELETE", `/api/v1/logs/${nobody}`, { body: JSON.stringify({ id: nobody }) }, 404, "log_not_found"],
      ["POST", `${path}/delete`, { token: null, body }, 401, "unauthenticated"],
      ["POST", `${path}/delete`, { token: reader.token, body }, 403, "insufficient_scope"],
      ["POST", `${path}/delete`, { body: JSON.stringify({ id: nobody }) }, 400, "id_mismatch"],
      ["POST", `/api/v1/logs/${nobody}/delete`, { body: JSON.stringify({ id: nobody }) }, 404, "log_not_found"],
    ];
    for (const [method, url, sent, status, code] of cases) {
      const what = `${method} ${url} ${JSON.stringify(sent)}`;
      const answer = await send<Problem>(method, url, sent);
      expect([answer.status, answer.body.code], what).toEqual([status, code]);
      if (status === 401) expect(answer.headers.get("www-authenticate"), what).toMatch(/^Bearer /);
    }
    expect((await api.get(path)).status).toBe(200);
    const gone = await send<LogDeletion>("POST", `${path}/delete`, { body });
    expect([gone.status, gone.body.deleted.episode]).toEqual([200, true]);
  });

  test("sixteen times at once happens once", async () => {
    const { logId } = await remember("Decision: once = yes");
    const tokens = [...bearers.values()];
    const answers = await Promise.all(Array.from({ length: 16 }, (_, at) => forget(logId, tokens[at % tokens.length])));
    const statuses = answers.map(({ status }) => String(status)).toSorted();
    expect(statuses).toEqual(["200", ...Array.from({ length: 15 }, () => "404")]);
  });

  test("what is another account's is answered as what never was, whatever is asked", async () => {
    const { logId } = await remember("Decision: mine = yes", { sessionId: "mine" });
    const { app, url } = gateway;
    const other = await app.accounts.directory.add({ name: "another", scopes: ["logs:read", "logs:write"] });
    const wanted = { name: "other", scopes: logScopes, folders: null, expiresAt: null };
    const { token } = await app.accounts.tokens.create(other.accountId, wanted);
    const ways = [
      (id: string) => send<Problem>("DELETE", `/api/v1/logs/${id}`, { token, body: JSON.stringify({ id }) }),
      (id: string) => send<Problem>("POST", `/api/v1/logs/${id}/delete`, { token, body: JSON.stringify({ id }) }),
      (id: string) => send<Problem>("GET", `/api/v1/logs/${id}`, { token }),
      (id: string) => send<Problem>("GET", `/api/v1/logs/${id}/deletion-preview`, { token }),
    ];
    for (const way of ways) {
      const [theirs, none] = [await way(logId), await way(nobody)];
      expect(theirs.status).toBe(404);
      expect(theirs.body).toEqual(none.body);
    }
    const session = "/api/v1/logs?confirm=true&sessionId=";
    const [theirs, none] = [
      await send<Problem>("DELETE", `${session}mine`, { token }),
      await send<Problem>("DELETE", `${session}none`, { token }),
    ];
    expect([theirs.status, theirs.body]).toEqual([404, none.body]);
    const client = createApiClient(url, token);
    expect((await client.get<LogPage>("/api/v1/logs")).body.logs).toEqual([]);
    expect((await client.get<LogSearch>("/api/v1/search?q=mine")).body.hits).toEqual([]);
    expect((await client.get<FactPage>("/api/v1/facts")).body.facts).toEqual([]);
    expect((await api.get(`/api/v1/logs/${logId}`)).status).toBe(200);
  });

  test("takes all of a session at once, when it is confirmed", async () => {
    for (const content of ["one", "two"]) await remember(content, { sessionId: "s-1" });
    for (const query of ["sessionId=s-1", "sessionId=s-1&confirm=yes", "confirm=true", ""]) {
      const answer = await send<Problem>("DELETE", `/api/v1/logs?${query}`);
      expect([answer.status, answer.body.code], query).toEqual([400, "invalid_request"]);
    }
    const { status, body } = await send<SessionLogDeletion>("DELETE", "/api/v1/logs?sessionId=s-1&confirm=true");
    expect([status, body.deleted.logs, body.deleted.episodes]).toEqual([200, 2, 2]);
    expect((await send("DELETE", "/api/v1/logs?sessionId=s-1&confirm=true")).status).toBe(404);
  });

  test("is for a page that shows its key, not for a cookie alone, and for the owner's socket", async () => {
    const browser = await signInBrowser({ accounts: gateway.app.accounts, port: Number(new URL(gateway.url).port) });
    const { logId } = await remember("seen in a browser");
    const path = `/api/v1/logs/${logId}`;
    const body = { id: logId };
    expect((await browser.send("DELETE", path, { body, key: null })).status).toBe(401);
    expect((await browser.send("DELETE", path, { body, cookie: null })).status).toBe(401);
    expect((await browser.send("DELETE", path, { body, origin: "https://evil.example" })).status).toBe(403);
    expect((await browser.send("DELETE", path, { body, key: null, more: [`${browserKeyHeader}x: 1`] })).status).toBe(
      401,
    );
    expect((await browser.send("DELETE", path, { body })).status).toBe(200);
    const again = await remember("seen from the command line");
    expect(await overSocket("DELETE", `/api/v1/logs/${again.logId}`, { id: again.logId })).toBe(200);
  });

  test("leaves a line in the audit: who and how much, and a hash of what", async () => {
    const { logId } = await remember("Decision: secret-topic = xyzzy");
    const { body } = await forget(logId);
    const admin = await gateway.client(["admin"]);
    const { entries } = (await admin.get<AuditPage>("/api/audit?kind=memory&limit=1")).body;
    expect(entries).toMatchObject([
      {
        account: { name: "owner" },
        action: "log_deleted",
        subject: sha256(logId),
        details: { logs: 1, facts: body.deleted.facts, with: expect.stringMatching(/^token /) },
        address: "127.0.0.1",
      },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(new RegExp(`${logId}|xyzzy|secret-topic`));
  });
});

/** The owner's. */
function socketPath(): string {
  return join(world.home, "run", "gateway.sock");
}

/** As the command line calls. */
async function overSocket(method: string, path: string, body: object): Promise<number> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = {
      host: "localhost",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    };
    httpRequest({ socketPath: socketPath(), path, method, headers, agent: false }, (answer) => {
      answer.resume().on("end", () => resolve(answer.statusCode ?? 0));
    })
      .on("error", reject)
      .end(text);
  });
}
