import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { scopeNeeded } from "../../src/http/route-server.ts";
import type { Scope } from "../../src/wire/access.ts";
import type { Problem } from "../../src/wire/problem.ts";
import { type ApiClient, createApiClient } from "../support/gateway.ts";
import { createOAuthPeer, decidingToken, manyAddresses } from "../support/oauth-client.ts";
import { mcpConnection } from "../support/oauth-mcp-app.ts";
import { openTerminal } from "../support/terminal-client.ts";
import { useGateway } from "../support/use-gateway.ts";

// Whoever lacks coding:drive, with all else that a token can hold: by no route may it answer a permission, type, run an agent with more
// leave than it was given, or give it a command. What there is to try comes from the gateway's own OpenAPI document and tools.

const use = useGateway({ agents: "scripted", config: manyAddresses });
const patience = { timeout: 30_000, interval: 100 };
const undriven: readonly Scope[] = ["coding:read", "coding:write", "logs:read", "logs:write"];
const marker = "typed-by-nobody";

interface Caller {
  readonly name: string;
  readonly token: string;
  readonly api: ApiClient;
}

/** A field of a request by which an agent would get more leave, and what to put there. */
interface Lever {
  readonly path: string;
  readonly field: string;
  readonly value: unknown;
}

const callers: Caller[] = [];
let sessionId = "";
let permissionId = "";

beforeAll(async () => {
  const { app, api, url } = use.gateway;
  const { accountId } = await app.accounts.owner();
  const wanted = { name: "undriven", scopes: undriven, folders: null, expiresAt: null };
  const { token } = await app.accounts.tokens.create(accountId, wanted);
  const peer = createOAuthPeer(url, await decidingToken(use.gateway));
  const { accessToken } = await peer.letIn(await peer.newClient(), { scope: undriven.join(" ") });
  for (const [name, bearer] of [
    ["a personal token", token],
    ["an app", accessToken],
  ] as const) {
    callers.push({ name, token: bearer, api: createApiClient(url, bearer) });
  }
  const prompt = "write asked-for.txt with leave";
  const asked = await api.ask({ agent: "scripted", dir: use.world.repository, prompt, waitMs: 60_000 });
  sessionId = asked.sessionId;
  permissionId = asked.permissions[0]?.permissionId ?? "";
  expect(permissionId).not.toBe("");
}, 90_000);

const documentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ requestBody: z.unknown().optional() }))),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
});
const objectSchema = z.looseObject({ properties: z.record(z.string(), z.looseObject({})) });

/** Every request body whose schema knows modes among which `ask` is, a kind `command`, or leave for commands: with each value beside the harmless one. */
async function levers(): Promise<readonly Lever[]> {
  const document = documentSchema.parse((await use.gateway.api.get("/openapi.json")).body);
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).flatMap(({ requestBody }) => {
      const name = /#\/components\/schemas\/(\w+)/.exec(JSON.stringify(requestBody ?? ""))?.[1] ?? "";
      const { success, data } = objectSchema.safeParse(document.components.schemas[name]);
      return success ? leversOf(path, data.properties) : [];
    }),
  );
}

function leversOf(path: string, properties: Readonly<Record<string, unknown>>): readonly Lever[] {
  return Object.entries(properties).flatMap(([field, schema]) => {
    const modes = z.looseObject({ enum: z.array(z.string()) }).safeParse(schema);
    const known = modes.success ? modes.data.enum : [];
    const others = known.includes("ask")
      ? known.filter((mode) => mode !== "ask")
      : known.filter((kind) => field === "kind" && kind === "command");
    return [...others, ...(/command/i.test(field) ? [true] : [])].map((value) => ({ path, field, value }));
  });
}

/** Nothing came of it: the question stands, nobody typed, and no other agent runs. */
async function untouched(): Promise<void> {
  const read = await use.gateway.api.read(sessionId);
  expect(read.permissions.map((each) => each.permissionId)).toEqual([permissionId]);
  expect(read.permissions[0]?.answerable).toBe(true);
  expect(existsSync(join(use.world.repository, "asked-for.txt"))).toBe(false);
  const { body } = await use.gateway.api.post<{ total: number }>("/api/coding/coding_list_sessions", {});
  expect(body.total).toBe(1);
}

describe("without coding:drive", () => {
  test("no agent gets another mode than ask, nor a command, by any request that knows of them", async () => {
    const found = await levers();
    expect(found.map(({ field, value }) => `${field} ${String(value)}`)).toEqual(
      expect.arrayContaining(["permissionMode edits", "permissionMode all", "allowCommands true", "kind command"]),
    );
    for (const { name, api } of callers) {
      for (const { path, field, value } of found) {
        const inPath = path.includes("{sessionId}");
        const isComparison = path.endsWith("compare");
        const contenders = [{ agent: "scripted" }, { agent: "scripted" }];
        for (const more of [
          ...(path.endsWith("/coding_fork_session") ? [] : [isComparison ? { contenders } : {}]),
          ...(inPath || isComparison ? [] : [{ sessionId }]),
        ]) {
          const body = { dir: use.world.repository, prompt: "hello", ...more, [field]: value };
          const answer = await api.post<Problem>(path.replace("{sessionId}", sessionId), body);
          expect([answer.status, answer.body.code, answer.body["scope"]], `${name}: ${path} ${field}`).toEqual([
            403,
            "insufficient_scope",
            "coding:drive",
          ]);
        }
      }
    }
    await untouched();
  });

  test.each(["/status", "!touch here", "  /clear", "\n!id", "\t/exit", "/", "!"])(
    "the prompt %j goes to no agent",
    async (prompt) => {
      for (const { name, api } of callers) {
        for (const more of [{ agent: "scripted" }, { sessionId }]) {
          const answer = await api.post<Problem>("/api/coding/coding_ask", {
            dir: use.world.repository,
            prompt,
            ...more,
          });
          expect([answer.status, answer.body.code], name).toEqual([400, "prompt_not_text"]);
        }
      }
      await untouched();
    },
  );

  test("no permission is answered, and no agent's configuration or login is changed", async () => {
    for (const { name, api } of callers) {
      for (const decision of ["allow", "deny"]) {
        const answer = await api.post("/api/coding/coding_answer_permission", { sessionId, permissionId, decision });
        expect(answer.status, name).toBe(403);
      }
    }
    const agentRoutes = use.gateway.app.routes().http.filter(({ url, methods }) => {
      const changes = methods.some((method) => method !== "GET" && method !== "HEAD");
      return changes && /^\/api\/(agents|folders|tokens|accounts)/.test(url);
    });
    expect(agentRoutes.length).toBeGreaterThan(5);
    for (const { url, access } of agentRoutes) expect(["admin", "coding:drive"], url).toContain(scopeNeeded(access));
    await untouched();
  });

  test("nothing is typed into a terminal, whatever is sent and however it was opened", async () => {
    const { url } = use.gateway;
    for (const { name, token, api } of callers) {
      const headers = { authorization: `Bearer ${token}` };
      const drive = openTerminal({ url, headers, query: { session_id: sessionId, mode: "drive" } });
      expect(await drive.closed, name).toMatchObject({ code: 4403 });
      const wanted = await api.post("/api/coding/terminal-ticket", { sessionId, mode: "drive" });
      expect(wanted.status, name).toBe(403);
      const ticket = async (): Promise<string> => {
        const { body } = await api.post<{ ticket: string; mode: string }>("/api/coding/terminal-ticket", { sessionId });
        expect(body.mode).toBe("observe");
        return body.ticket;
      };
      const withTicket = openTerminal({ url, query: { session_id: sessionId, mode: "drive", ticket: await ticket() } });
      expect(await withTicket.closed, name).toMatchObject({ code: 4403 });
      for (const protocol of ["plain", "v1"] as const) {
        const ways = [
          { headers, query: {} },
          { headers, query: { mode: "observe", permissions: "terminal" } },
          { query: { ticket: await ticket() } },
        ];
        for (const way of ways) {
          const { ws, texts, output, close } = openTerminal({
            url,
            protocol,
            ...way,
            query: { session_id: sessionId, ...way.query },
          });
          await expect.poll(() => texts.length + output().length, patience).toBeGreaterThan(0);
          for (const frame of [
            marker,
            JSON.stringify({ kind: "input", data: marker }),
            "\r",
            JSON.stringify({ kind: "input", data: "\r" }),
          ]) {
            ws.send(frame);
            ws.send(Buffer.from(frame));
          }
          ws.send(JSON.stringify({ kind: "resize", cols: 33, rows: 11 }));
          await new Promise((pong) => ws.once("pong", pong).ping()); // all of it has arrived
          close();
        }
      }
    }
    await untouched();
    const { token } = await driver();
    const driving = openTerminal({
      url,
      headers: { authorization: `Bearer ${token}` },
      query: { session_id: sessionId, mode: "drive" },
    });
    await expect.poll(async () => (await driving.screen()).join("\n").trim(), patience).not.toBe("");
    const screen = (await driving.screen()).join("\n");
    expect(screen).not.toContain(marker);
    expect(driving.frames.find(({ kind }) => kind === "hello")).not.toMatchObject({ cols: 33 });
    await untouched();
  });

  test("/mcp offers nothing more", async () => {
    for (const { name, token } of callers) {
      const { client, transport } = mcpConnection(`${use.gateway.url}/mcp`, token);
      await client.connect(transport);
      const call = async (tool: string, input: Record<string, unknown>): Promise<boolean> =>
        client.callTool({ name: tool, arguments: input }).then(
          ({ isError }) => isError !== true,
          () => false,
        );
      expect(await call("coding_list_sessions", {}), name).toBe(true);
      const dir = use.world.repository;
      for (const { field, value } of await levers()) {
        for (const more of [{}, { sessionId }]) {
          expect(await call("coding_ask", { dir, prompt: "hello", ...more, [field]: value }), `${name} ${field}`).toBe(
            false,
          );
        }
      }
      for (const prompt of ["/status", "!touch here"])
        expect(await call("coding_ask", { dir, prompt, sessionId }), name).toBe(false);
      for (const decision of ["allow", "deny"]) {
        expect(await call("coding_answer_permission", { sessionId, permissionId, decision }), name).toBe(false);
      }
      await client.close();
    }
    await untouched();
  });

  test("a caller with every other scope cannot create a token, link or account with coding:drive", async () => {
    const { app, url } = use.gateway;
    const { accountId } = await app.accounts.owner();
    const other = await app.accounts.directory.add({ name: "drives", scopes: ["coding:drive"] });
    const wanted = { name: "manages", scopes: ["admin", ...undriven] as const, folders: null, expiresAt: null };
    const api = createApiClient(url, (await app.accounts.tokens.create(accountId, wanted)).token);
    for (const [path, body] of [
      ["/api/tokens", { name: "x", scopes: ["coding:drive"] }],
      ["/api/accounts", { name: "x", scopes: ["coding:read", "coding:drive"] }],
      [`/api/accounts/${other.accountId}/sign-in-links`, {}],
      [`/api/accounts/${accountId}/sign-in-links`, {}],
      ["/api/sign-in-links", {}],
    ] as const) {
      const answer = await api.post<Problem>(path, body);
      expect([answer.status, answer.body.code, answer.body["scope"]], path).toEqual([
        403,
        "insufficient_scope",
        "coding:drive",
      ]);
    }
  });

  test("and with it the very same does what it says", async () => {
    const { api } = await driver();
    const allowed = await api.post("/api/coding/coding_answer_permission", {
      sessionId,
      permissionId,
      decision: "allow",
    });
    expect(allowed.status).toBe(200);
    await expect.poll(() => existsSync(join(use.world.repository, "asked-for.txt")), patience).toBe(true);
  });

  test("a session that ended is looked at, and not begun again by looking", async () => {
    await use.gateway.api.post("/api/coding/coding_close_session", { sessionId });
    for (const { token } of callers) {
      const headers = { authorization: `Bearer ${token}` };
      const looking = openTerminal({ url: use.gateway.url, headers, query: { session_id: sessionId } });
      expect(await looking.closed).toMatchObject({ code: 1000 });
    }
    expect((await use.gateway.api.read(sessionId)).status).toBe("completed");
  });
});

async function driver(): Promise<{ readonly token: string; readonly api: ApiClient }> {
  const { accountId } = await use.gateway.app.accounts.owner();
  const wanted = { name: "driver", scopes: [...undriven, "coding:drive"] as const, folders: null, expiresAt: null };
  const { token } = await use.gateway.app.accounts.tokens.create(accountId, wanted);
  return { token, api: createApiClient(use.gateway.url, token) };
}
