import { expect, test } from "vitest";
import { looseSchema } from "../../test/support/echo-server.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { signInBrowser } from "../../test/support/signed-in-browser.ts";
import { PosternError } from "../core/errors.ts";
import type { AgentSetupJob } from "../wire/agent-setup.ts";
import type { ListAgentsOutput } from "../wire/coding.ts";
import { agentRoutes, agentSetupRoutes, signInRoutes } from "./index.ts";

const none: ListAgentsOutput = { agents: [], availableAgents: [], default: null };

const known = {
  name: "codex",
  aliases: ["agent_b"],
  title: "Codex CLI",
  isConfigured: false,
  isDefault: false,
  binary: null,
  version: null,
  login: "unknown",
  installCommand: ["npm", "install", "--global", "@openai/codex"],
  loginMethods: ["browser" as const, "code" as const],
  keyVariable: "OPENAI_API_KEY",
} as const;

/** The routes with agents that only record their calls. */
async function setUp() {
  const done: string[] = [];
  const origins: unknown[] = [];
  const setupJobs: AgentSetupJob[] = [{ kind: "login", sessionId: "login-1", state: "ended", exitCode: 1, ahead: 0 }];
  const refuseUnknown = (name: string): void => {
    if (name !== "codex") throw new PosternError("agent_unknown", `There is no agent "${name}".`);
  };
  const server = await startHttpServer(({ accounts }) => [
    signInRoutes({ accounts, gateway: () => ({ id: "g", version: "1", baseUrl: "http://127.0.0.1" }) }),
    agentRoutes({
      audit: accounts.audit,
      list: async () => none,
      async change(name, { binary, isDefault }) {
        refuseUnknown(name);
        done.push(`configure ${name} ${binary} ${isDefault}`);
      },
      async remove(name) {
        refuseUnknown(name);
        done.push(`remove ${name}`);
      },
    }),
    agentSetupRoutes({
      known: async () => [{ ...known, aliases: [...known.aliases], loginMethods: [...known.loginMethods] }],
      jobs: {
        async logIn(name, { method, by }) {
          refuseUnknown(name);
          done.push(`login ${name} ${method}`);
          origins.push(by);
          return { sessionId: "login-2", began: true };
        },
        async install(name, { by }) {
          refuseUnknown(name);
          done.push(`install ${name}`);
          origins.push(by);
          return { sessionId: "install-1", began: false };
        },
        async cancel(name, kind, { by, unlessWatched }) {
          refuseUnknown(name);
          done.push(`cancel ${name} ${kind}${unlessWatched ? " unless watched" : ""}`);
          origins.push(by);
        },
        ofAgent: (name) => (name === "codex" ? setupJobs : []),
      },
    }),
  ]);
  const callWith =
    (headers: Readonly<Record<string, string>>) => async (method: string, path: string, body?: unknown) => {
      const answer = await fetch(`${server.url}${path}`, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? {} : looseSchema.parse(JSON.parse(text)) };
    };
  return { ...server, done, origins, callWith };
}

const acts = [
  ["POST", "/api/agents/codex"],
  ["DELETE", "/api/agents/codex"],
  ["POST", "/api/agents/codex/login"],
  ["DELETE", "/api/agents/codex/login"],
  ["POST", "/api/agents/codex/install"],
  ["DELETE", "/api/agents/codex/install"],
] as const;
const routes = [["GET", "/api/agents/setup"], ...acts] as const;

test("the owner sees what each agent needs, installs it, logs in with either method, and cancels both", async () => {
  const { callWith, signedIn, done, origins, accounts } = await setUp();
  const call = callWith(await signedIn("admin"));
  expect(await call("GET", "/api/agents/setup")).toEqual({
    status: 200,
    body: {
      agents: [
        {
          ...known,
          installCommand: "npm install --global @openai/codex",
          setupJobs: [{ kind: "login", sessionId: "login-1", state: "ended", exitCode: 1, ahead: 0 }],
        },
      ],
    },
  });
  expect(await call("POST", "/api/agents/codex/install")).toEqual({
    status: 200,
    body: { sessionId: "install-1", began: false },
  });
  expect(await call("POST", "/api/agents/codex/login")).toEqual({
    status: 200,
    body: { sessionId: "login-2", began: true },
  });
  expect(await call("POST", "/api/agents/codex/login", { method: "code" })).toMatchObject({ status: 200 });
  expect(await call("POST", "/api/agents/codex/login", { method: "sms" })).toMatchObject({
    status: 400,
    body: { code: "invalid_request", errors: [{ path: "method" }] },
  });
  for (const kind of ["login", "install"]) {
    expect(await call("DELETE", `/api/agents/codex/${kind}`)).toEqual({ status: 204, body: {} });
    expect(await call("DELETE", `/api/agents/codex/${kind}?unlessWatched=true`)).toMatchObject({ status: 204 });
    expect(await call("DELETE", `/api/agents/other/${kind}`)).toMatchObject({ body: { code: "agent_unknown" } });
    expect(await call("POST", `/api/agents/other/${kind}`)).toMatchObject({ status: 404 });
  }
  expect(await call("POST", "/api/agents/codex", { binary: "/code/codex", isDefault: true })).toMatchObject({
    status: 200,
  });
  expect(await call("DELETE", "/api/agents/codex")).toMatchObject({ status: 200 });
  expect(done).toEqual([
    "install codex",
    "login codex undefined",
    "login codex code",
    "cancel codex login",
    "cancel codex login unless watched",
    "cancel codex install",
    "cancel codex install unless watched",
    "configure codex /code/codex true",
    "remove codex",
  ]);
  // The actor and origin; refused requests had no effect.
  const { entries } = await accounts.audit.page({ limit: 50, kind: "agent" });
  const { name, accountId } = await accounts.owner();
  expect(origins).toHaveLength(7);
  expect(new Set(origins.map((origin) => JSON.stringify(origin)))).toEqual(
    new Set([JSON.stringify({ accountId, from: { address: "127.0.0.1", userAgent: "node" } })]),
  );
  expect(entries.map(({ action, subject, details }) => [action, subject, details]).toReversed()).toEqual([
    ["agent_configured", "codex", { program: "/code/codex", default: "yes" }],
    ["agent_removed", "codex", {}],
  ]);
  expect(entries.every(({ account, address }) => account?.name === name && address === "127.0.0.1")).toBe(true);
});

test("other accounts, tokens and apps without the scope, and unauthenticated callers are refused", async () => {
  const server = await setUp();
  const { callWith, signedIn, accounts, apps, done } = server;
  const anna = await accounts.directory.add({ name: "anna", scopes: ["coding:read", "coding:write", "coding:drive"] });
  const { accountId } = await accounts.owner();
  const app = apps.issue({ accountId, scopes: ["coding:read", "coding:write", "coding:drive"] });
  const browser = await signInBrowser(server, { accountId: anna.accountId });
  for (const [method, path] of routes) {
    const token = callWith(await signedIn("coding:read", "coding:write", "coding:drive"));
    expect(await token(method, path), path).toMatchObject({ status: 403, body: { code: "insufficient_scope" } });
    expect((await callWith({ authorization: `Bearer ${app.token}` })(method, path)).status, path).toBe(403);
    expect((await browser.send(method, path)).status, path).toBe(403);
    expect((await callWith({})(method, path)).status, path).toBe(401);
  }
  expect(done).toEqual([]);
});

test("the owner's browser is accepted only with its key and from the gateway's origin", async () => {
  const server = await setUp();
  const browser = await signInBrowser(server);
  for (const [method, path] of acts) {
    expect((await browser.send(method, path, { origin: "http://evil.example" })).status, path).toBe(403);
    expect((await browser.send(method, path, { key: null })).status, path).toBe(401);
  }
  expect((await browser.send("GET", "/api/agents/setup", { key: null })).status).toBe(401);
  expect(server.done).toEqual([]);
  expect((await browser.send("GET", "/api/agents/setup")).status).toBe(200);
  expect((await browser.send("POST", "/api/agents/codex/install")).status).toBe(200);
});
