import { expect, test } from "vitest";
import { startHttpServer } from "../../test/support/http-server.ts";
import { oauthPaths } from "../wire/oauth.ts";
import { oauthRoutes } from "./index.ts";

const foreign = "https://page.example";

/** The protocol's routes in front of a server that only echoes requests. */
async function start(options: Parameters<typeof startHttpServer>[1] = {}) {
  const heard: string[] = [];
  const oauth: Parameters<typeof oauthRoutes>[0]["oauth"] = {
    async handle(request, response, from) {
      let body = "";
      for await (const chunk of request) body += String(chunk);
      heard.push(`${request.method} ${request.url} ${body} from ${from.address}`);
      response.writeHead(200, { "content-type": "application/json" }).end('{"ok":true}');
    },
    keySet: async () => ({ keys: [] }),
    metadata: async () => ({ issuer: "http://issuer.example" }),
    protectedResource: async (resource) => ({ resource }),
  };
  const server = await startHttpServer(() => [oauthRoutes({ oauth, baseUrl: () => "http://issuer.example" })], options);
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${server.url}${path}`, init);
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text };
  };
  return { ...server, heard, ask };
}

const form = { method: "POST", body: new URLSearchParams({ a: "b c" }) };

test("the protocol's routes pass any body to the authorization server", async () => {
  const { ask, heard } = await start();
  const answer = await ask(oauthPaths.token, form);
  expect([answer.status, answer.text]).toEqual([200, '{"ok":true}']);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  await ask(oauthPaths.registration, { method: "POST", body: "{", headers: { "content-type": "application/json" } });
  expect(heard).toEqual(["POST /oauth/token a=b+c from 127.0.0.1", "POST /oauth/register { from 127.0.0.1"]);
  const long = await ask(oauthPaths.token, { method: "POST", body: new URLSearchParams({ a: "x".repeat(70_000) }) });
  expect([long.status, heard.length]).toEqual([413, 2]);
  expect(JSON.parse(long.text)).toEqual({ error: "invalid_request", error_description: expect.any(String) });
});

test("pages of other origins can call them and read the answers, without credentials", async () => {
  const { ask, heard } = await start();
  const posted = [
    oauthPaths.token,
    oauthPaths.revocation,
    oauthPaths.introspection,
    oauthPaths.registration,
    oauthPaths.deviceAuthorization,
  ];
  const read = [
    oauthPaths.metadata,
    oauthPaths.protectedResource,
    `${oauthPaths.protectedResource}/mcp`,
    oauthPaths.jwks,
  ];
  for (const path of [...posted, ...read]) {
    const method = read.includes(path) ? "GET" : "POST";
    const preflight = { origin: foreign, "access-control-request-method": method };
    const before = await ask(path, { method: "OPTIONS", headers: preflight });
    expect([path, before.status, before.headers.get("access-control-allow-methods")]).toEqual([path, 204, method]);
    expect(before.headers.get("access-control-allow-headers")).toContain("authorization");
    const answer = await ask(
      path,
      method === "GET" ? { headers: { origin: foreign } } : { ...form, headers: { origin: foreign } },
    );
    expect([path, answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([path, 200, "*"]);
    expect(answer.headers.get("access-control-allow-credentials")).toBeNull();
  }
  expect(heard).toHaveLength(posted.length);
});

test("the documents use the requested host, and an unknown host is refused", async () => {
  const { ask, url } = await start();
  const named = url.replace("127.0.0.1", "localhost");
  const at = async (path: string) => JSON.parse((await ask(path)).text);
  expect(await at(oauthPaths.metadata)).toEqual({ issuer: "http://issuer.example" });
  expect(await at(oauthPaths.protectedResource)).toEqual({ resource: url });
  expect(await at(`${oauthPaths.protectedResource}/mcp`)).toEqual({ resource: `${url}/mcp` });
  const elsewhere = await fetch(`${named}${oauthPaths.protectedResource}/mcp`);
  expect(await elsewhere.json()).toEqual({ resource: `${named}/mcp` });
});
