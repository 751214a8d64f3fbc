import { expect, test } from "vitest";
import { startHttpServer } from "../../test/support/http-server.ts";
import { problemCodes } from "../wire/problem.ts";
import { docsRoutes, healthRoutes, openApiRoutes } from "./index.ts";

const setUp = () => startHttpServer(() => [docsRoutes, healthRoutes, openApiRoutes({ version: "1.0.0" })]);

test("the reference and all of its page's files come from the gateway, without signing in", async () => {
  const { url } = await setUp();
  const page = await fetch(`${url}/docs`);
  expect(page.headers.get("content-type")).toMatch(/^text\/html/);
  const html = await page.text();
  const loaded = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path = ""]) => path);
  // The favicon is a file of the web application, which another route serves.
  expect(loaded.shift()).toBe("/favicon.svg");
  expect(loaded).toEqual(["/openapi.json", "/docs/scalar.js", "/docs/start.js"]);
  for (const path of loaded) expect((await fetch(`${url}${path}`)).status, path).toBe(200);
  expect(html).not.toMatch(/<script>|\son\w+=|https?:/); // nothing inline, nothing from elsewhere
});

test("the page can load from and call only the gateway", async () => {
  const { url } = await setUp();
  const policy = (await fetch(`${url}/docs`)).headers.get("content-security-policy") ?? "";
  const directives = new Map(policy.split("; ").map((text) => [text.split(" ")[0], text.split(" ").slice(1)]));
  expect(directives.get("default-src")).toEqual(["'none'"]);
  expect(directives.get("script-src")).toEqual(["'self'"]);
  expect(directives.get("connect-src")).toEqual(["'self'"]);
  expect(directives.get("frame-ancestors")).toEqual(["'none'"]);
  expect(policy).not.toMatch(/https?:|\*/);
});

test("the script is sent compressed to clients that accept it, and uncompressed to others", async () => {
  const { url } = await setUp();
  const load = async (encoding: string) => {
    const answer = await fetch(`${url}/docs/scalar.js`, { headers: { "accept-encoding": encoding } });
    return { encoding: answer.headers.get("content-encoding"), text: await answer.text() };
  };
  const compressed = await load("gzip, deflate, br");
  const plain = await load("identity");
  expect([compressed.encoding, plain.encoding]).toEqual(["gzip", null]);
  expect(plain.text).toContain("createApiReference");
  expect(compressed.text === plain.text).toBe(true);
});

test("the gateway answers other requests while the script is loaded for the first time", async () => {
  const { url } = await setUp();
  await fetch(`${url}/healthz`);
  let done = false;
  const script = fetch(`${url}/docs/scalar.js`).then((answer) => {
    done = true;
    return answer.arrayBuffer();
  });
  let answers = 0;
  for (; !done; answers += 1) expect((await fetch(`${url}/healthz`)).status).toBe(200);
  await script;
  expect(answers).toBeGreaterThan(10);
});

test("every problem type links to its section of a page", async () => {
  const { url } = await setUp();
  const problem = await (await fetch(`${url}/nowhere`)).text();
  expect(problem).toContain('"type":"/docs/problems#route_not_found"');
  const page = await (await fetch(`${url}/docs/problems`)).text();
  for (const code of problemCodes) expect(page).toContain(`id="${code}"`);
});
