import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { onTestFinished } from "vitest";
import { createAccounts } from "../../src/accounts/index.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { createOAuth, type Decider, type OAuth, type OAuthDeps } from "../../src/oauth/index.ts";
import { createSecretBox } from "../../src/platform/secret-box.ts";
import { type Scope, scopes } from "../../src/wire/access.ts";
import { oauthPaths } from "../../src/wire/oauth.ts";
import type { TestStore } from "./database.ts";

type AuditNote = Parameters<OAuthDeps["noteAudit"]>[0];

/** An answer of one of the protocol's routes. */
export interface ProtocolAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** An authorization server on a separate port, without the gateway, and its owner. */
export interface TestAuthorizationServer {
  readonly oauth: OAuth;
  readonly baseUrl: string;
  readonly owner: Decider;
  readonly notes: AuditNote[];
  /** Posts a form, with a client's secret if there is one. */
  post(path: string, fields: Readonly<Record<string, string>>, secret?: string): Promise<ProtocolAnswer>;
  register(metadata: Readonly<Record<string, unknown>>): Promise<ProtocolAnswer>;
  /** A public client that registered itself; its id. */
  newClient(metadata?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Allows what the client asks for. @returns its code */
  allow(clientId: string, fields?: Readonly<Record<string, string>>): Promise<string>;
  redeem(clientId: string, code: string, fields?: Readonly<Record<string, string>>): Promise<ProtocolAnswer>;
  /** The whole flow, from the start to tokens. */
  letIn(
    clientId: string,
    fields?: Readonly<Record<string, string>>,
  ): Promise<{
    readonly accessToken: string;
    readonly refreshToken: string;
  }>;
}

export const verifier = randomBytes(32).toString("base64url");
export const challenge = createHash("sha256").update(verifier).digest("base64url");
export const redirectUri = "http://127.0.0.1/callback";

/** The same for each server on one store. */
export const testKey = randomBytes(32);

/** @see TestAuthorizationServer */
export async function startAuthorizationServer(
  store: Pick<TestStore, "db">,
  options: Partial<Pick<OAuthDeps, "afterFind" | "fetchDocument" | "log" | "secrets">> & {
    readonly clock?: Clock;
    readonly config?: Partial<OAuthDeps["config"]>;
    readonly held?: readonly Scope[];
  } = {},
): Promise<TestAuthorizationServer> {
  const { clock = systemClock } = options;
  const { db } = store;
  const notes: AuditNote[] = [];
  const accounts = createAccounts({ db, clock });
  const { accountId } = await accounts.owner();
  const from = { address: "192.0.2.1", userAgent: "test" };
  const listener = createServer((request, response) => void oauth.handle(request, response, from));
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const address = listener.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const baseUrl = `http://localhost:${port}`;
  const oauth = createOAuth({
    ...(options.afterFind === undefined ? {} : { afterFind: options.afterFind }),
    db,
    clock,
    log: options.log ?? silentLog,
    secrets: options.secrets ?? createSecretBox(testKey),
    place: () => ({ baseUrl, origins: [baseUrl, `http://127.0.0.1:${port}`] }),
    async scopesOf(id) {
      const account = await accounts.directory.find(id);
      return account === null ? null : new Set(account.scopes);
    },
    noteAudit: async (note) => void notes.push(note),
    fetchDocument: options.fetchDocument ?? (async () => Promise.reject(new Error("no network"))),
    config: { accessTokens: "opaque", registration: "on", metadataDocuments: "on", ...options.config },
  });
  onTestFinished(async () => {
    await oauth.close();
    listener.closeAllConnections();
    await new Promise((resolve) => listener.close(resolve));
  });
  const owner: Decider = { accountId, scopes: new Set(options.held ?? scopes), from };

  async function send(path: string, init: RequestInit): Promise<ProtocolAnswer> {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", ...init });
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? {} : JSON.parse(text) };
  }

  const server: TestAuthorizationServer = {
    oauth,
    baseUrl,
    owner,
    notes,
    post: (path, fields, secret) =>
      send(path, {
        body: new URLSearchParams(fields),
        headers: secret === undefined ? {} : { authorization: `Basic ${btoa(`${fields["client_id"]}:${secret}`)}` },
      }),
    register: (metadata) =>
      send(oauthPaths.registration, {
        body: JSON.stringify({
          client_name: "A test",
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: "none",
          ...metadata,
        }),
        headers: { "content-type": "application/json" },
      }),
    async newClient(metadata = {}) {
      const { status, body } = await server.register(metadata);
      if (status !== 201) throw new Error(`Not registered: ${JSON.stringify(body)}`);
      return String(body["client_id"]);
    },
    async allow(clientId, fields = {}) {
      const form = new URLSearchParams({
        action: "allow",
        client_id: clientId,
        redirect_uri: redirectUri,
        code_challenge: challenge,
        code_challenge_method: "S256",
        state: "s",
        ...fields,
      });
      const { location } = await oauth.decide(form, owner);
      const code = new URL(location).searchParams.get("code");
      if (code === null) throw new Error(`No code: ${location}`);
      return code;
    },
    redeem: (clientId, code, fields = {}) =>
      server.post(oauthPaths.token, {
        grant_type: "authorization_code",
        client_id: clientId,
        code,
        redirect_uri: redirectUri,
        code_verifier: verifier,
        ...fields,
      }),
    async letIn(clientId, fields) {
      const { status, body } = await server.redeem(clientId, await server.allow(clientId, fields));
      if (status !== 200) throw new Error(`No tokens: ${JSON.stringify(body)}`);
      return { accessToken: String(body["access_token"]), refreshToken: String(body["refresh_token"]) };
    },
  };
  return server;
}
