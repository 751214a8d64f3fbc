import { expect } from "vitest";
import type { Accounts } from "../../src/accounts/index.ts";
import { decisionRoutes } from "../../src/http/decision-routes.ts";
import type { HttpConfig } from "../../src/http/server.ts";
import { signInRoutes } from "../../src/http/sign-in-routes.ts";
import type { Scope } from "../../src/wire/access.ts";
import { decisionKeyField } from "../../src/wire/oauth.ts";
import { startHttpServer, type TestHttpServer } from "./http-server.ts";
import { type RawAnswer, rawRequest } from "./raw-http.ts";
import { type ScriptedOAuth, scriptedRedirect, scriptOAuth } from "./scripted-oauth.ts";
import { type SignedInBrowser, signInBrowser } from "./signed-in-browser.ts";

/** What the one client asks with. */
export const request = {
  client_id: "app",
  redirect_uri: scriptedRedirect,
  scope: "coding:read coding:write",
  state: "the state & more",
  code_challenge: "c".repeat(43),
  code_challenge_method: "S256",
};
/** The seed's form, allowing it. */
export const allow = { ...request, action: "allow" };
const page = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8";

/** Differences to an honest request of a page; null leaves a header out. */
interface Post {
  readonly origin?: string | null;
  readonly cookie?: string | null;
  readonly authorization?: string;
  readonly accept?: string | null;
  readonly contentType?: string;
  readonly more?: readonly string[];
}

/** A gateway that serves the decision's routes, and a browser that is signed in to it. */
export interface Scene extends ScriptedOAuth {
  readonly server: TestHttpServer;
  readonly browser: SignedInBrowser;
  readonly origin: string;
  post(form: Readonly<Record<string, string>> | string, post?: Post, path?: string): Promise<RawAnswer>;
  get(path: string, headers?: readonly string[]): Promise<RawAnswer>;
}

/** @see Scene */
export async function openScene(
  config: Partial<HttpConfig> = {},
  changes: Parameters<typeof scriptOAuth>[0] = {},
  accountsOf: (accounts: Accounts) => Accounts = (accounts) => accounts,
): Promise<Scene> {
  const scripted = scriptOAuth(changes);
  const server = await startHttpServer(
    ({ accounts }) => [
      signInRoutes({ accounts, gateway: () => ({ id: "g", version: "0", baseUrl: "http://localhost" }) }),
      decisionRoutes({ oauth: scripted.oauth, accounts: accountsOf(accounts), auth: config.auth ?? "on" }),
    ],
    config,
  );
  const origin = config.baseUrl ?? server.url;
  const { host } = new URL(origin);
  const browser = await signInBrowser(server, { origin });
  const lines = (headers: Readonly<Record<string, string | null>>): readonly string[] =>
    Object.entries(headers).flatMap(([name, value]) => (value === null ? [] : [`${name}: ${value}`]));
  return {
    ...scripted,
    server,
    browser,
    origin,
    post: (form, post = {}, path = "/oauth/authorize") =>
      rawRequest(
        { host: "127.0.0.1", port: server.port },
        [
          `POST ${path} HTTP/1.1`,
          ...lines({
            Host: host,
            Origin: post.origin === undefined ? origin : post.origin,
            Cookie: post.cookie === undefined ? browser.cookie : post.cookie,
            Accept: post.accept === undefined ? page : post.accept,
            "Content-Type": post.contentType ?? "application/x-www-form-urlencoded",
            Authorization: post.authorization ?? null,
          }),
          ...(post.more ?? []),
        ],
        typeof form === "string" ? form : new URLSearchParams(form).toString(),
      ),
    get: (path, headers = [`Cookie: ${browser.cookie}`]) =>
      rawRequest({ host: "127.0.0.1", port: server.port }, [
        `GET ${path} HTTP/1.1`,
        `Host: ${host}`,
        `Accept: ${page}`,
        ...headers,
      ]),
  };
}

/** The form as a page of the gateway sends it on http. */
export const withKey = (
  { browser }: Scene,
  form: Readonly<Record<string, string>> = allow,
): Record<string, string> => ({
  ...form,
  [decisionKeyField]: browser.key,
});

/** The header of a personal token of the owner. */
export async function ownerToken({ server }: Scene, scopes: readonly Scope[]) {
  const { accountId } = await server.accounts.owner();
  const wanted = { name: "decides", scopes, expiresAt: null, folders: null };
  return `Bearer ${(await server.accounts.tokens.create(accountId, wanted)).token}`;
}

/** A page for people, that leads nowhere. */
export function expectMistakePage(answer: RawAnswer, status: number): void {
  expect(answer.status).toBe(status);
  expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
  expect(answer.headers).not.toHaveProperty("location");
  expect(answer.body).toContain("<h1>");
}
