import { beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { scopeNeeded } from "../../src/http/route-server.ts";
import { appScopes, type Scope, scopes } from "../../src/wire/access.ts";
import { createOAuthPeer, decidingToken, manyAddresses, type OAuthPeer } from "../support/oauth-client.ts";
import { useGateway } from "../support/use-gateway.ts";

// Every route of a gateway, as it was registered, against tokens with each scope and without it. Nothing here runs an agent: what is let in
// finds no session, or a body that is none.

const use = useGateway({ agents: false, config: manyAddresses });

/** One way to call the gateway. */
interface Operation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  /** Null: any valid token is enough. */
  readonly scope: Scope | null;
  readonly isPublic: boolean;
  readonly audience: "api" | "mcp";
}

/** A token and what it holds. */
interface Held {
  readonly name: string;
  readonly token: string;
  readonly scopes: ReadonlySet<Scope>;
  /** The scope that it holds alone, or lacks alone. */
  readonly about: Scope;
}

interface Outcome {
  readonly status: number;
  readonly code: string | null;
  readonly challenge: string;
}

const problemSchema = z.looseObject({ code: z.string() });

function operations(): readonly Operation[] {
  return use.gateway.app.routes().http.flatMap(({ methods, url, access, audience }) =>
    methods.map((method) => ({
      name: `${method} ${url}`,
      method,
      path: url.replaceAll(/:\w+/g, "00000000-0000-4000-8000-000000000000").replace("*", "x"),
      scope: scopeNeeded(access),
      isPublic: access === "public",
      audience,
    })),
  );
}

/** Calls it with a body that no route takes: whoever is turned away is so before anybody looks at it. */
async function call({ method, path }: Operation, token: string | null): Promise<Outcome> {
  const reads = method === "GET" || method === "HEAD";
  const ending = new AbortController();
  const answer = await fetch(`${use.gateway.url}${path}`, {
    method,
    redirect: "manual",
    signal: ending.signal,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(reads ? {} : { "content-type": "text/odd" }),
    },
    ...(reads ? {} : { body: "{" }),
  });
  const isProblem = answer.headers.get("content-type")?.startsWith("application/problem+json") === true;
  const code = isProblem && method !== "HEAD" ? problemSchema.parse(await answer.json()).code : null;
  ending.abort(); // some answers never end by themselves
  return { status: answer.status, code, challenge: answer.headers.get("www-authenticate") ?? "" };
}

/** How a WebSocket was closed; `open` when it was not. */
async function connect(path: string, token: string): Promise<number | "open"> {
  const url = `${use.gateway.url.replace("http", "ws")}${path}?session_id=none`;
  const ws = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
  return new Promise((resolve, reject) => {
    ws.on("close", resolve);
    ws.on("error", reject);
    ws.on("message", () => resolve("open"));
  });
}

let peer: OAuthPeer;
const personal: Held[] = [];
const ofApps: Held[] = [];
let forMcp = "";

async function ofApp(granted: readonly Scope[], fields: Readonly<Record<string, string>> = {}): Promise<string> {
  // Letting one in again would end what it was let do before.
  const client = await peer.newClient();
  return (await peer.letIn(client, { scope: granted.join(" "), ...fields })).accessToken;
}

/**
 * Those that tell: with all scopes but the one that is needed, with it alone, and with another one alone, a different one for each
 * operation. Where any token will do, one with a single scope.
 */
function telling(tokens: readonly Held[], { scope }: Operation, at: number): readonly Held[] {
  const others = tokens.filter(({ scopes: held }) => held.size === 1 && (scope === null || !held.has(scope)));
  const about = tokens.filter((each) => each.about === scope);
  return [...about, ...others.slice(at % others.length, (at % others.length) + 1)];
}

/** For every scope a token with it alone and one with all others. */
function sets(of: readonly Scope[]): readonly { readonly about: Scope; readonly granted: readonly Scope[] }[] {
  return of.flatMap((about) => [
    { about, granted: [about] },
    { about, granted: of.filter((each) => each !== about) },
  ]);
}

beforeAll(async () => {
  const { app, url } = use.gateway;
  const { accountId } = await app.accounts.owner();
  peer = createOAuthPeer(url, await decidingToken(use.gateway));
  for (const { about, granted } of sets(scopes)) {
    const wanted = { name: granted.join(" "), scopes: granted, expiresAt: null, folders: null };
    const { token } = await app.accounts.tokens.create(accountId, wanted);
    personal.push({ name: `a personal token with ${granted.join(" ")}`, token, scopes: new Set(granted), about });
  }
  for (const { about, granted } of sets(appScopes)) {
    const token = await ofApp(granted);
    ofApps.push({ name: `an app with ${granted.join(" ")}`, token, scopes: new Set(granted), about });
  }
  const all = { name: "an app with all that an app can have", token: await ofApp(appScopes), about: "admin" } as const;
  ofApps.push({ ...all, scopes: new Set(appScopes) });
  forMcp = await ofApp(appScopes, { resource: `${url}/mcp` });
}, 60_000);

describe("every route of a gateway", () => {
  test("is in the OpenAPI document, or hidden for a reason that this list knows", async () => {
    const { body } = await use.gateway.api.get<{ readonly paths: Record<string, Record<string, unknown>> }>(
      "/openapi.json",
    );
    const documented = new Set(
      Object.entries(body.paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
      ),
    );
    const hidden = operations().filter(({ name, method }) => !documented.has(name) && method !== "HEAD");
    // Whatever needs a scope is documented; what is hidden are pages, files, the protocols' own endpoints and /mcp.
    expect(hidden.filter(({ scope }) => scope !== null).map(({ name }) => name)).toEqual([]);
    expect(hidden.filter(({ isPublic }) => !isPublic).map(({ name }) => name)).toEqual([
      "GET /mcp",
      "POST /mcp",
      "DELETE /mcp",
    ]);
    expect(documented.size).toBeGreaterThan(50);
    for (const name of documented) expect(operations().map((each) => each.name)).toContain(name);
  });

  test("that is no reading needs more than coding:read or logs:read, but for what this list knows", () => {
    const changing = operations().filter(({ method }) => !["GET", "HEAD", "OPTIONS"].includes(method));
    const namesOf = (some: readonly Operation[]) => some.map(({ name }) => name).toSorted();
    const withLittle = changing.filter(
      ({ scope, isPublic }) => !isPublic && (scope === null || scope.endsWith(":read")),
    );
    expect(namesOf(withLittle)).toEqual([
      // The caller's own links, to what it can read.
      "DELETE /api/coding/sessions/:sessionId/shares/:shareId",
      "DELETE /api/push/subscriptions/:subscriptionId",
      "DELETE /mcp",
      "POST /api/coding/coding_list_agents",
      "POST /api/coding/coding_list_prompts",
      "POST /api/coding/coding_list_sessions",
      "POST /api/coding/coding_read_comparison",
      "POST /api/coding/coding_read_session",
      "POST /api/coding/coding_search_sessions",
      "POST /api/coding/memory_facts",
      "POST /api/coding/memory_search",
      "POST /api/coding/rescue_list",
      "POST /api/coding/rescue_show",
      "POST /api/coding/review_comments",
      // What the caller itself has seen.
      "POST /api/coding/sessions/:sessionId/look",
      "POST /api/coding/sessions/:sessionId/seen",
      "POST /api/coding/sessions/:sessionId/share",
      "POST /api/coding/terminal-ticket",
      // The caller's own browsers.
      "POST /api/push/presence",
      "POST /api/push/subscriptions",
      "POST /api/push/subscriptions/:subscriptionId/test",
      "POST /api/sign-out",
      "POST /mcp",
    ]);
    // Signing in, and the protocol's own routes, which know their callers by other means.
    expect(namesOf(changing.filter(({ isPublic }) => isPublic))).toEqual([
      // With the single-use token of a notification.
      "POST /api/push/actions",
      "POST /api/sign-in",
      "POST /api/sign-in/passkey",
      "POST /api/sign-in/passkey/options",
      "POST /oauth/authorize",
      "POST /oauth/device",
      "POST /oauth/device_authorization",
      "POST /oauth/introspect",
      "POST /oauth/register",
      "POST /oauth/revoke",
      "POST /oauth/token",
    ]);
  });

  test("is closed without credentials, and names the metadata", async () => {
    for (const operation of operations().filter(({ isPublic }) => !isPublic)) {
      const { status, challenge } = await call(operation, null);
      expect(status, operation.name).toBe(401);
      expect(challenge, operation.name).toContain("resource_metadata=");
      expect(challenge, operation.name).not.toContain("error=");
    }
  });

  test.each([
    ["a personal token", personal],
    ["an app's token", ofApps],
  ] as const)(
    "with the scope that it needs it lets %s in, and without it not, before the body is looked at",
    async (_kind, tokens) => {
      let [refused, letIn] = [0, 0];
      for (const [at, operation] of operations()
        .filter(({ isPublic }) => !isPublic)
        .entries()) {
        for (const { name, token, scopes: held } of telling(tokens, operation, at)) {
          const { status, code, challenge } = await call(operation, token);
          const what = `${operation.name} with ${name}`;
          if (operation.scope === null || held.has(operation.scope)) {
            letIn += 1;
            expect(status, what).not.toBe(401);
            expect(status, what).not.toBe(403);
          } else {
            refused += 1;
            expect(status, what).toBe(403);
            if (operation.method !== "HEAD") expect(code, what).toBe("insufficient_scope");
            expect(challenge, what).toContain(`error="insufficient_scope", scope="${operation.scope}"`);
          }
        }
      }
      expect(refused).toBeGreaterThan(100);
      expect(letIn).toBeGreaterThan(30);
    },
  );

  test("but /mcp turns away a token that was given for /mcp", async () => {
    for (const operation of operations().filter(({ isPublic }) => !isPublic)) {
      const { status, challenge } = await call(operation, forMcp);
      if (operation.audience === "mcp") expect(status, operation.name).not.toBe(401);
      else expect([status, challenge], operation.name).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    }
  });
});

describe("every WebSocket of a gateway", () => {
  test("is closed to tokens that may not look, and to those for /mcp", async () => {
    const { sockets } = use.gateway.app.routes();
    expect(sockets).toEqual(["/api/coding/coding_xterm_session"]);
    for (const path of sockets) {
      for (const { name, token, scopes: held } of [...personal, ...ofApps]) {
        expect(await connect(path, token), name).toBe(held.has("coding:read") ? 4404 : 4403);
      }
      expect(await connect(path, forMcp)).toBe(4401);
    }
  });
});
