import { mkdir } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { WebSocket } from "ws";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import { signInBrowser } from "../support/signed-in-browser.ts";

/** Never ready for a prompt, and never still: whoever asks it waits. */
const busy = "n=0; while :; do n=$((n+1)); echo busy $n; sleep 0.5; done";
const agents = [{ name: "busy", binary: "/bin/sh", startArgs: ["-c", busy], readyPattern: "never painted" }];
const scopes = ["coding:read", "coding:write", "coding:drive"] as const;
const allMs = 5_000;

let world: World;
let gateway: TestGateway;
beforeAll(async () => {
  world = await createWorld({ agents: false, config: { agents } });
  gateway = await startGateway(world);
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

interface Held {
  readonly sessionId: string;
  readonly dir: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Opened {
  /** Resolves when it is under way. */
  readonly begun: Promise<unknown>;
  readonly closed: Promise<unknown>;
}

const modern = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const mcpHeaders = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28" };

function socket(
  mode: "drive" | "observe",
  { sessionId, headers }: Held,
  base = gateway.url.replace("http", "ws"),
): Opened {
  const path = `/api/coding/coding_xterm_session?session_id=${sessionId}&mode=${mode}`;
  const ws = new WebSocket(`${base}${path}`, { headers });
  ws.on("error", () => undefined); // its close says more
  return {
    begun: new Promise((resolve) => ws.once("message", resolve)),
    closed: new Promise((resolve) => ws.once("close", resolve)),
  };
}

/** A call whose answer, or whose end, is awaited. A call that waits has begun when its session was found, which takes milliseconds. */
function call(method: string, path: string, held: Held, body?: unknown): Opened {
  const begun = Promise.withResolvers<void>();
  const closed = new Promise<void>((resolve) => {
    const outgoing = request(`${gateway.url}${path}`, {
      method,
      headers: { ...held.headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    });
    outgoing.on("response", (incoming) => {
      begun.resolve();
      incoming.on(
        "data",
        (d) => process.env["DBG"] && console.log(method, path, incoming.statusCode, String(d).slice(0, 300)),
      );
      incoming.on("close", () => resolve());
    });
    outgoing.on("error", () => resolve());
    outgoing.end(body === undefined ? undefined : JSON.stringify(body), () => setTimeout(begun.resolve, 1_000));
  });
  return { begun: begun.promise, closed };
}

const tool = (name: string, input: object) => (held: Held) =>
  call("POST", `/api/coding/${name}`, held, { sessionId: held.sessionId, waitMs: 60_000, ...input });

/** How each route that can be held open is held open. */
const rows: Readonly<Record<string, Readonly<Record<string, (held: Held) => Opened>>>> = {
  "WS /api/coding/coding_xterm_session": {
    driver: (held) => socket("drive", held),
    observer: (held) => socket("observe", held),
  },
  "GET /api/coding/events": {
    "one session": (held) => call("GET", `/api/coding/events?sessionId=${held.sessionId}`, held),
  },
  "POST /api/coding/coding_read_session": { waits: tool("coding_read_session", { after: 1_000 }) },
  "POST /api/coding/coding_ask": {
    waits: (held) => tool("coding_ask", { dir: held.dir, prompt: "Say it again." })(held),
  },
  "POST /mcp": {
    "tools/call": (held) =>
      call(
        "POST",
        "/mcp",
        {
          ...held,
          headers: { ...held.headers, ...mcpHeaders, "mcp-method": "tools/call", "mcp-name": "coding_read_session" },
        },
        {
          jsonrpc: "2.0",
          id: 1,
          method: "tools/call",
          params: {
            _meta: modern,
            name: "coding_read_session",
            arguments: { sessionId: held.sessionId, waitMs: 60_000, after: 1_000 },
          },
        },
      ),
    "subscriptions/listen": (held) =>
      call(
        "POST",
        "/mcp",
        { ...held, headers: { ...held.headers, ...mcpHeaders, "mcp-method": "subscriptions/listen" } },
        {
          jsonrpc: "2.0",
          id: 1,
          method: "subscriptions/listen",
          params: { _meta: modern, notifications: { resourceSubscriptions: [`postern://sessions/${held.sessionId}`] } },
        },
      ),
  },
};

/** Streams that are not of one session, or end with what there is: they are held, and checked, like all the others. */
const others: ReadonlySet<string> = new Set([
  "GET /mcp",
  "DELETE /mcp",
  "GET /api/coding/sessions/:sessionId/recording",
]);

test("each route that can be held open has a row here", () => {
  const { http, sockets } = gateway.app.routes();
  const streams = http.filter(({ url, schema }) => {
    const body = JSON.stringify(Object.keys(Object(Object(schema.body).shape)));
    return url === "/mcp" || /event-stream|asciicast/.test(schema.answerType ?? "") || body.includes('"waitMs"');
  });
  const kinds = streams.flatMap(({ methods, url }) =>
    methods.filter((method) => method !== "HEAD").map((method) => `${method} ${url}`),
  );
  const known = [...Object.keys(rows), ...others].toSorted();
  expect([...kinds, ...sockets.map((path) => `WS ${path}`)].toSorted()).toEqual(known);
});

interface Loser {
  readonly accountId: string;
  readonly tokenId: string;
  readonly dir: string;
}

/** By a process of its own, as the command line does it. */
function change(sql: string, ...values: readonly string[]): void {
  const db = new DatabaseSync(join(world.home, "postern.db"));
  db.exec("pragma busy_timeout = 5000");
  db.prepare(sql).run(...values);
  db.close();
}

const losses: Readonly<Record<string, (loser: Loser) => unknown>> = {
  "token revoked": ({ accountId, tokenId }) => gateway.app.accounts.tokens.revoke(accountId, tokenId),
  "token expired": ({ tokenId }) => change("update personal_tokens set expires_at = 1 where token_id = ?", tokenId),
  "scope of the token reduced": ({ tokenId }) =>
    change("update personal_tokens set scopes = ? where token_id = ?", '["coding:read"]', tokenId),
  "scope of the account reduced": ({ accountId }) =>
    change("update accounts set scopes = ? where account_id = ?", '["coding:read"]', accountId),
  "folders of the token changed": ({ tokenId }) =>
    change("update personal_tokens set folders = ? where token_id = ?", '["/srv"]', tokenId),
  "folder removed": ({ dir }) => gateway.app.folders.remove(dir),
  "scope of the folder taken": ({ dir }) => gateway.app.folders.add(dir, ["files"]),
  "account removed": ({ accountId }) => gateway.app.accounts.directory.remove(accountId),
};

test("whatever is held open ends within five seconds of the loss of its right, however that is lost", async () => {
  const { accounts, folders } = gateway.app;
  const cells: { readonly name: string; readonly opened: Opened }[] = [];
  const losers: (() => unknown)[] = [];
  const held = async (name: string): Promise<Held & Loser> => {
    const dir = join(world.root, name.replaceAll(" ", "-"));
    await mkdir(dir);
    await folders.add(dir, ["files", "coding"]);
    const { accountId } = await accounts.directory.add({ name: name.replaceAll(" ", "-"), scopes: [...scopes] });
    const wanted = { name, scopes, folders: null, expiresAt: null };
    const { token, record } = await accounts.tokens.create(accountId, wanted);
    const { body } = await gateway.api.post<{ sessionId: string }>("/api/coding/spawn", { agent: "busy", dir });
    const headers = { authorization: `Bearer ${token}` };
    return { sessionId: body.sessionId, dir, headers, accountId, tokenId: record.tokenId };
  };
  const open = (what: string, of: Held): void => {
    for (const [route, ways] of Object.entries(rows)) {
      for (const [way, hold] of Object.entries(ways)) {
        cells.push({ name: `${route} ${way}, ${what}`, opened: hold(of) });
      }
    }
  };
  const kept = await held("nothing lost");
  for (const [what, lose] of Object.entries(losses)) {
    const of = await held(what);
    open(what, of);
    // `postern attach`: the owner, on the Unix socket, whom the folder rule binds too.
    if (what.includes("folder") && !what.includes("token")) {
      const base = `ws+unix://${join(world.home, "run", "gateway.sock")}:`;
      cells.push({ name: `attach, ${what}`, opened: socket("drive", { ...of, headers: {} }, base) });
    }
    losers.push(() => lose(of));
  }
  const port = Number(new URL(gateway.url).port);
  const browserOf = await held("browser signed out");
  const browser = await signInBrowser({ accounts, port }, { accountId: browserOf.accountId });
  const page = { ...browserOf, headers: { ...browser.headers, origin: `http://127.0.0.1:${port}` } };
  cells.push({ name: "events, browser", opened: call("GET", `/api/coding/events?sessionId=${page.sessionId}`, page) });
  cells.push({ name: "read, browser", opened: tool("coding_read_session", { after: 1_000 })(page) });
  const [signedIn] = await accounts.browsers.list(page.accountId);
  // Not over HTTP, after which all that is open is checked at once.
  losers.push(() => accounts.browsers.revoke(page.accountId, signedIn?.browserSessionId ?? ""));
  const stays = Object.values(rows).flatMap((ways) => Object.values(ways).map((hold) => hold(kept)));

  await Promise.all([...cells.map(({ opened }) => opened.begun), ...stays.map(({ begun }) => begun)]);
  const stillOpen = new Set(cells.map(({ name }) => name));
  let ended = 0;
  for (const { name, opened } of cells) void opened.closed.then(() => stillOpen.delete(name));
  for (const { closed } of stays) void closed.then(() => (ended += 1));
  await new Promise((resolve) => setImmediate(resolve));
  const early = cells.map(({ name }) => name).filter((name) => !stillOpen.has(name));
  expect([early, ended]).toEqual([[], 0]);
  for (const lose of losers) await lose();
  await expect.poll(() => [...stillOpen], { timeout: allMs }).toEqual([]);
  expect(ended).toBe(0);
}, 120_000);
