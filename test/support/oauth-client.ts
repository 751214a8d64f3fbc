import { createHash, randomBytes, randomInt } from "node:crypto";
import { scopes } from "../../src/wire/access.ts";
import { oauthPaths } from "../../src/wire/oauth.ts";
import { createApiClient, type TestGateway } from "./gateway.ts";

/** A client of the authorization server, honest or not: every field of every request is the test's. */
export interface TestClient {
  readonly clientId: string;
  /** Null of a public one. */
  readonly clientSecret: string | null;
  readonly redirectUri: string;
}

/** An answer, its body read. */
export interface FormAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; an empty object when it is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** What the decision route answered. */
export interface Decision extends FormAnswer {
  readonly location: URL | null;
}

/** Tokens as the token endpoint gives them. */
export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly scope: string;
}

/** Changes to a request of `letIn` or `authorize`; null omits a field. */
export type Fields = Readonly<Record<string, string | null>>;

/** A challenge and what answers it (RFC 7636). */
export interface Challenge {
  readonly verifier: string;
  readonly challenge: string;
}

/** Talks to one authorization server as its clients would, and decides as its owner with a personal token. */
export interface OAuthPeer {
  readonly issuer: string;
  /** `POST /oauth/register`, RFC 7591. */
  register(metadata: Readonly<Record<string, unknown>>): Promise<FormAnswer>;
  /** A client that registered itself; public by default. */
  newClient(options?: { readonly redirectUri?: string; readonly confidential?: boolean }): Promise<TestClient>;
  /** `POST /oauth/authorize`: by default grants everything that was requested; `fields` changes that. */
  decide(client: TestClient, challenge: Challenge, fields?: Fields): Promise<Decision>;
  /** The code that an honest flow ends in. */
  code(client: TestClient, challenge: Challenge, fields?: Fields): Promise<string>;
  /** `POST /oauth/token` with a code. */
  redeem(client: TestClient, code: string, fields: Fields): Promise<FormAnswer>;
  /** `POST /oauth/token` with a refresh token. */
  refresh(client: TestClient, refreshToken: string, fields?: Fields): Promise<FormAnswer>;
  /** A form to any of the server's routes, with the client's credentials. */
  post(path: string, client: TestClient | null, fields: Fields): Promise<FormAnswer>;
  /** From decision to tokens, as an honest client. */
  letIn(client: TestClient, fields?: Fields): Promise<Tokens>;
  /** The status that `GET /api/coding/…` answers to this bearer. */
  use(accessToken: string): Promise<number>;
}

const loopbackRedirect = "http://127.0.0.1/callback";

/** A new verifier with its S256 challenge. */
export function newChallenge(): Challenge {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

/** The tokens of an answer. @throws when it holds none */
export function tokensOf({ status, body, text }: FormAnswer): Tokens {
  const { access_token, refresh_token, scope } = body;
  if (status !== 200 || typeof access_token !== "string" || typeof refresh_token !== "string") {
    throw new Error(`No tokens in an answer of ${status}: ${text}`);
  }
  return { accessToken: access_token, refreshToken: refresh_token, scope: typeof scope === "string" ? scope : "" };
}

/** A personal token of the owner that may decide: it holds every scope. */
export async function decidingToken({ app }: Pick<TestGateway, "app">): Promise<string> {
  const { accountId } = await app.accounts.owner();
  const wanted = { name: "decides", scopes, folders: null, expiresAt: null };
  return (await app.accounts.tokens.create(accountId, wanted)).token;
}

/** @param ownerToken personal, with the scope `admin` */
export function createOAuthPeer(issuer: string, ownerToken: string): OAuthPeer {
  async function send(
    path: string,
    init: { readonly headers?: Readonly<Record<string, string>>; readonly body: string | URLSearchParams },
  ): Promise<FormAnswer> {
    const headers = { ...init.headers, "x-forwarded-for": someAddress() };
    const response = await fetch(`${issuer}${path}`, { method: "POST", redirect: "manual", ...init, headers });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
  }

  const peer: OAuthPeer = {
    issuer,
    register: (metadata) =>
      send(oauthPaths.registration, {
        headers: { "content-type": "application/json" },
        body: JSON.stringify(metadata),
      }),
    async newClient({ redirectUri = loopbackRedirect, confidential = false } = {}) {
      const { status, body, text } = await peer.register({
        client_name: "An app",
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: confidential ? "client_secret_basic" : "none",
      });
      const { client_id: clientId, client_secret: secret } = body;
      if (status !== 201 || typeof clientId !== "string")
        throw new Error(`Registering was answered ${status}: ${text}`);
      return { clientId, clientSecret: typeof secret === "string" ? secret : null, redirectUri };
    },
    async decide(client, { challenge }, fields = {}) {
      const form = formOf({
        action: "allow",
        response_type: "code",
        client_id: client.clientId,
        redirect_uri: client.redirectUri,
        scope: "coding:read coding:write",
        state: "the-state",
        code_challenge: challenge,
        code_challenge_method: "S256",
        ...fields,
      });
      const headers = { authorization: `Bearer ${ownerToken}` };
      const answer = await send(oauthPaths.authorize, { headers, body: form });
      const location = answer.headers.get("location");
      return { ...answer, location: location === null ? null : new URL(location, issuer) };
    },
    async code(client, challenge, fields) {
      const { status, location, text } = await peer.decide(client, challenge, fields);
      const code = location?.searchParams.get("code") ?? null;
      if (code === null) throw new Error(`No code in an answer of ${status}: ${location?.href ?? text}`);
      return code;
    },
    redeem: (client, code, fields) =>
      peer.post(oauthPaths.token, client, {
        grant_type: "authorization_code",
        code,
        redirect_uri: client.redirectUri,
        ...fields,
      }),
    refresh: (client, refreshToken, fields) =>
      peer.post(oauthPaths.token, client, { grant_type: "refresh_token", refresh_token: refreshToken, ...fields }),
    post(path, client, fields) {
      const secret = client?.clientSecret ?? null;
      const basic = client !== null && secret !== null ? { authorization: basicOf(client.clientId, secret) } : {};
      const form = formOf({ ...(client !== null && secret === null && { client_id: client.clientId }), ...fields });
      return send(path, { headers: basic, body: form });
    },
    async letIn(client, fields) {
      const challenge = newChallenge();
      const code = await peer.code(client, challenge, fields);
      const resource = fields?.["resource"] ?? null;
      return tokensOf(await peer.redeem(client, code, { code_verifier: challenge.verifier, resource }));
    },
    async use(accessToken) {
      return (await createApiClient(issuer, accessToken).post("/api/coding/coding_list_agents", {})).status;
    },
  };
  return peer;
}

/** One of many addresses, for a gateway that trusts `X-Forwarded-For`: tests send more requests than one address is allowed. */
export function someAddress(): string {
  const [one, two, three] = [randomInt(256), randomInt(256), randomInt(1, 255)];
  return `198.${18 + (one % 2)}.${two}.${three}`;
}

/** The configuration of a gateway for tests that ask more often than one address may: it believes what `X-Forwarded-For` says. */
export const manyAddresses = { trustedProxies: ["127.0.0.1", "::1"] } as const;

function formOf(fields: Fields): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== null) form.append(name, value);
  return form;
}

/** RFC 6749 section 2.3.1: both are form-encoded first. */
function basicOf(clientId: string, secret: string): string {
  const encoded = [clientId, secret].map((part) => new URLSearchParams({ part }).toString().slice("part=".length));
  return `Basic ${Buffer.from(encoded.join(":")).toString("base64")}`;
}
