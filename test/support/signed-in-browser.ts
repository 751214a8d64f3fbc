import { browserKeyHeader, signedInSchema } from "../../src/wire/sign-in.ts";
import type { TestHttpServer } from "./http-server.ts";
import { type RawAnswer, rawRequest } from "./raw-http.ts";

/** What one request of a browser differs in. */
export interface BrowserRequest {
  readonly host?: string;
  /** Null sends no `Origin`; the page's own by default, on what changes state. */
  readonly origin?: string | null;
  /** Null sends none. */
  readonly cookie?: string | null;
  /** Null sends none. */
  readonly key?: string | null;
  /** More header lines. */
  readonly more?: readonly string[];
  readonly body?: unknown;
}

/** A browser that is signed in, each header of its requests under the test's control. */
export interface SignedInBrowser {
  /** `name=value`, as it sends it. */
  readonly cookie: string;
  /** The whole `Set-Cookie`. */
  readonly setCookie: string;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  send(method: string, path: string, request?: BrowserRequest): Promise<RawAnswer>;
}

/** Signs a browser in over HTTP, at `origin`: the loopback address of the server by default. As the owner, or another account. */
export async function signInBrowser(
  server: Pick<TestHttpServer, "accounts" | "port">,
  options: { readonly origin?: string; readonly userAgent?: string; readonly accountId?: string } = {},
): Promise<SignedInBrowser> {
  const { origin = `http://127.0.0.1:${server.port}`, userAgent = "Firefox" } = options;
  const { host } = new URL(origin);
  const accountId = options.accountId ?? (await server.accounts.owner()).accountId;
  const { link } = await server.accounts.signIn.createLink(accountId);
  const answer = await rawRequest(
    { host: "127.0.0.1", port: server.port },
    [
      "POST /api/sign-in HTTP/1.1",
      `Host: ${host}`,
      `Origin: ${origin}`,
      `User-Agent: ${userAgent}`,
      "Content-Type: application/json",
    ],
    JSON.stringify({ link }),
  );
  if (answer.status !== 200) throw new Error(`Signing in was answered with ${answer.status}: ${answer.body}`);
  const { key } = signedInSchema.parse(JSON.parse(answer.body));
  const setCookie = answer.headers["set-cookie"] ?? "";
  const [cookie = ""] = setCookie.split(";", 1);
  return {
    cookie,
    setCookie,
    key,
    headers: { cookie, [browserKeyHeader]: key },
    send(method, path, request = {}) {
      const named = request.origin === undefined && method !== "GET" ? origin : (request.origin ?? null);
      const shownCookie = request.cookie === undefined ? cookie : request.cookie;
      const shownKey = request.key === undefined ? key : request.key;
      return rawRequest(
        { host: "127.0.0.1", port: server.port },
        [
          `${method} ${path} HTTP/1.1`,
          `Host: ${request.host ?? host}`,
          ...(named === null ? [] : [`Origin: ${named}`]),
          ...(shownCookie === null ? [] : [`Cookie: ${shownCookie}`]),
          ...(shownKey === null ? [] : [`${browserKeyHeader}: ${shownKey}`]),
          ...(request.body === undefined ? [] : ["Content-Type: application/json"]),
          ...(request.more ?? []),
        ],
        request.body === undefined ? "" : JSON.stringify(request.body),
      );
    },
  };
}
