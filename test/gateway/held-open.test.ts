import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Principal } from "../../src/accounts/index.ts";
import { oauthPaths } from "../../src/wire/oauth.ts";
import type { RecordingInfo } from "../../src/wire/terminal.ts";
import { createWorld, startGateway, type TestGateway, type World } from "../support/gateway.ts";
import {
  type Held,
  type Opened,
  openCall,
  openMcp,
  openMcpSession,
  openRecording,
  openSocket,
  openTool,
} from "../support/held-ways.ts";
import { createOAuthPeer, decidingToken, manyAddresses, type OAuthPeer } from "../support/oauth-client.ts";
import { signInBrowser } from "../support/signed-in-browser.ts";

/** More than the system keeps on the way to a reader, escaped in a recording as twice as much. */
const printedBytes = 6_000_000;
/** Never ready for a prompt and never idle: callers wait. */
const busy = `head -c ${printedBytes} /dev/zero | tr '\\0' '\\134'; n=0; while :; do n=$((n+1)); echo busy $n; sleep 0.5; done`;
const agents = [{ name: "busy", binary: "/bin/sh", startArgs: ["-c", busy], readyPattern: "never painted" }];
const scopes = ["coding:read", "coding:write", "coding:drive"] as const;
const allMs = 5_000;
/** Is of no folder: of a session in one that was lost, nothing more comes on it. */
const ownStream = "what belongs to no call";

let world: World;
let gateway: TestGateway;
let peer: OAuthPeer;
beforeAll(async () => {
  world = await createWorld({ agents: false, config: { agents, ...manyAddresses } });
  gateway = await startGateway(world);
  peer = createOAuthPeer(gateway.app.baseUrl, await decidingToken(gateway));
});
afterAll(async () => {
  await gateway.close();
  await world.close();
});

/** How each route that can be held open is held open. */
const rows: Readonly<Record<string, Readonly<Record<string, (held: Held) => Opened>>>> = {
  "WS /api/coding/coding_xterm_session": {
    driver: (held) => openSocket("drive", held),
    observer: (held) => openSocket("observe", held),
  },
  "GET /api/coding/events": {
    "one session": (held) => openCall("GET", `/api/coding/events?sessionId=${held.sessionId}`, held),
  },
  "POST /api/coding/coding_read_session": {
    waits: (held) => openTool("coding_read_session", { after: 1_000 }, held),
  },
  "POST /api/coding/coding_ask": {
    waits: (held) => openTool("coding_ask", { dir: held.dir, prompt: "Say it again." }, held),
  },
  // They wait as coding_ask does, but this agent has no turns that could be forked.
  "POST /api/coding/coding_fork_session": {},
  "POST /api/coding/sessions/:sessionId/fork": {},
  "GET /api/coding/sessions/:sessionId/recording": { "read slowly": openRecording },
  "POST /mcp": {
    "tools/call": (held) => {
      const input = { sessionId: held.sessionId, waitMs: 60_000, after: 1_000 };
      return openMcp("tools/call", { name: "coding_read_session", arguments: input }, held);
    },
    "subscriptions/listen": (held) => {
      const resourceSubscriptions = [`postern://sessions/${held.sessionId}`];
      return openMcp("subscriptions/listen", { notifications: { resourceSubscriptions } }, held);
    },
    "call of a session of 2025": (held) => openMcpSession("call", held),
  },
  "GET /mcp": {
    "a call that is resumed": (held) => openMcpSession("resumed call", held),
    [ownStream]: (held) => openMcpSession("own stream", held),
  },
  // Ends a session: nothing is awaited.
  "DELETE /mcp": {},
};

test("each route that can be held open has a row here", () => {
  const { http, sockets } = gateway.app.routes();
  const streams = http.filter(({ url, schema }) => {
    const body = JSON.stringify(Object.keys(Object(Object(schema.body).shape)));
    return url === "/mcp" || /event-stream|asciicast/.test(schema.answerType ?? "") || body.includes('"waitMs"');
  });
  const kinds = streams.flatMap(({ methods, url }) =>
    methods.filter((method) => method !== "HEAD").map((method) => `${method} ${url}`),
  );
  expect([...kinds, ...sockets.map((path) => `WS ${path}`)].toSorted()).toEqual(Object.keys(rows).toSorted());
});

/** A caller, with all that may be taken from them. */
interface Loser extends Held {
  readonly accountId: string;
  readonly credentialId: string;
}

/** In a separate process, like the command line. */
function change(sql: string, ...values: readonly string[]): void {
  const db = new DatabaseSync(join(world.home, "postern.db"));
  db.exec("pragma busy_timeout = 5000");
  const { changes } = db.prepare(sql).run(...values);
  db.close();
  if (changes === 0) throw new Error(`Nothing was changed by: ${sql}`);
}

type Losses = Readonly<Record<string, (loser: Loser) => unknown>>;

const setToken = (set: string, credentialId: string, ...values: readonly string[]): void =>
  change(`update personal_tokens set ${set} where token_id = ?`, ...values, credentialId);
const setRecord = (set: string, kind: string, clientId: string): void =>
  change(`update oauth_records set ${set} where kind = ? and client_id = ?`, kind, clientId);

/** How the right of each kind of caller is lost. The owner on the Unix socket loses folders alone. */
const losses: Readonly<Record<Exclude<Principal["kind"], "open" | "jwt">, Losses>> = {
  token: {
    "token revoked": ({ accountId, credentialId }) => gateway.app.accounts.tokens.revoke(accountId, credentialId),
    "token expired": ({ credentialId }) => setToken("expires_at = 1", credentialId),
    "scope of the token reduced": ({ credentialId }) => setToken("scopes = ?", credentialId, '["coding:read"]'),
    "scope of the account reduced": ({ accountId }) =>
      change("update accounts set scopes = ? where account_id = ?", '["coding:read"]', accountId),
    "folders of the token changed": ({ credentialId }) => setToken("folders = ?", credentialId, '["/srv"]'),
    "folder removed": ({ dir }) => gateway.app.folders.remove(dir),
    "scope of the folder taken": ({ dir }) => gateway.app.folders.add(dir, ["files"]),
    "account removed": ({ accountId }) => gateway.app.accounts.directory.remove(accountId),
  },
  app: {
    // What `DELETE /api/oauth/apps/{appId}` removes, without its word to all that is open.
    "app disconnected": ({ credentialId }) => change("delete from oauth_records where client_id = ?", credentialId),
    "grant expired": ({ credentialId }) => setRecord("expires_at = 1", "Grant", credentialId),
    "access token revoked": async ({ headers, credentialId: clientId }) => {
      const token = headers["authorization"]?.replace("Bearer ", "") ?? "";
      const revoked = await peer.post(
        oauthPaths.revocation,
        { clientId, clientSecret: null, redirectUri: "" },
        { token },
      );
      expect(revoked.status).toBe(200);
    },
    "folder of an app's session removed": ({ dir }) => gateway.app.folders.remove(dir),
  },
  // Not over HTTP, after which all that is open is checked at once.
  browser: {
    "browser signed out": ({ accountId, credentialId }) =>
      gateway.app.accounts.browsers.revoke(accountId, credentialId),
  },
  socket: {
    "folder removed under `postern attach`": ({ dir }) => gateway.app.folders.remove(dir),
    "scope of the folder taken under `postern attach`": ({ dir }) => gateway.app.folders.add(dir, ["files"]),
  },
};

/** An account with a session in its own folder, and its credentials. */
async function makeLoser(kind: keyof typeof losses, name: string): Promise<Loser> {
  const { accounts, folders } = gateway.app;
  const plain = name.replaceAll(/\W+/g, "-");
  const dir = join(world.root, plain);
  await mkdir(dir);
  await folders.add(dir, ["files", "coding"]);
  const { accountId } = await accounts.directory.add({ name: plain, scopes: [...scopes] });
  const { body } = await gateway.api.post<{ sessionId: string }>("/api/coding/spawn", { agent: "busy", dir });
  const printed = async (): Promise<number> => {
    const { body: info } = await gateway.api.get<RecordingInfo>(
      `/api/coding/sessions/${body.sessionId}/recording/info`,
    );
    return info.terminals[0]?.sizeBytes ?? 0;
  };
  await expect.poll(printed, { timeout: 60_000, interval: 100 }).toBeGreaterThan(printedBytes);
  const held = { url: gateway.url, sessionId: body.sessionId, dir, accountId };
  if (kind === "socket") return { ...held, headers: {}, credentialId: "" };
  if (kind === "browser") {
    const port = Number(new URL(gateway.url).port);
    const { headers } = await signInBrowser({ accounts, port }, { accountId });
    const [signedIn] = await accounts.browsers.list(accountId);
    const credentialId = signedIn?.browserSessionId ?? "";
    return { ...held, headers: { ...headers, origin: `http://127.0.0.1:${port}` }, credentialId };
  }
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  if (kind === "token") {
    const wanted = { name, scopes, folders: null, expiresAt: null };
    const { token, record } = await accounts.tokens.create(accountId, wanted);
    return { ...held, headers: bearer(token), credentialId: record.tokenId };
  }
  // The owner's: no one else can decide.
  const app = await peer.newClient();
  const { accessToken } = await peer.letIn(app, { scope: scopes.join(" ") });
  return { ...held, headers: bearer(accessToken), credentialId: app.clientId };
}

/** All that a caller of this kind can hold open, with a name. A page opens terminals with tickets, and speaks no MCP. */
function openAll(
  kind: keyof typeof losses,
  what: string,
  held: Held,
): { readonly name: string; readonly opened: Opened }[] {
  if (kind === "socket") {
    const base = `ws+unix://${join(world.home, "run", "gateway.sock")}:`;
    return [{ name: `attach, ${what}`, opened: openSocket("drive", held, base) }];
  }
  const isOfFolder = what.includes("folder") && !what.includes("token");
  return Object.entries(rows).flatMap(([route, ways]) =>
    Object.entries(ways).flatMap(([way, hold]) => {
      if (kind === "browser" && /^WS|mcp|recording/.test(route)) return [];
      if (isOfFolder && way === ownStream) return [];
      return [{ name: `${route} ${way}, ${what}`, opened: hold(held) }];
    }),
  );
}

test("whatever is held open ends within five seconds of the loss of its right, however that is lost", async () => {
  const cells: { readonly name: string; readonly opened: Opened }[] = [];
  const losers: (() => unknown)[] = [];
  const kept = await Promise.all([makeLoser("token", "nothing lost"), makeLoser("app", "nothing lost by an app")]);
  for (const kind of ["token", "app", "browser", "socket"] as const) {
    for (const [what, lose] of Object.entries(losses[kind])) {
      const loser = await makeLoser(kind, what);
      cells.push(...openAll(kind, what, loser));
      losers.push(() => lose(loser));
    }
  }
  const stays = kept.flatMap((held) => openAll("token", "kept", held));
  await Promise.all([...cells, ...stays].map(({ opened }) => opened.begun));
  const stillOpen = new Set(cells.map(({ name }) => name));
  const ended: string[] = [];
  for (const { name, opened } of cells) void opened.closed.then(() => stillOpen.delete(name));
  for (const { name, opened } of stays) void opened.closed.then(() => ended.push(name));
  await new Promise((resolve) => setImmediate(resolve));
  const early = cells.map(({ name }) => name).filter((name) => !stillOpen.has(name));
  expect([early, ended]).toEqual([[], []]);
  for (const lose of losers) await lose();
  await expect.poll(() => [...stillOpen], { timeout: allMs }).toEqual([]);
  expect(ended).toEqual([]);
}, 180_000);
