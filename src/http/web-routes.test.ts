import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startEchoServer } from "../../test/support/echo-server.ts";
import { rawRequest } from "../../test/support/raw-http.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { webRoutes } from "./web-routes.ts";

const script = `console.log(${JSON.stringify("a page ".repeat(200))});`;
const page = '<!doctype html><meta property="csp-nonce" nonce="__NONCE__"><title>Postern</title>';
const secret = "a file next to the build";

async function build(folder: string): Promise<void> {
  const files = {
    "web/index.html": page,
    "web/assets/index-a1.js": script,
    "web/assets/index-a1.js.br": brotliCompressSync(script),
    "web/assets/index-a1.js.gz": gzipSync(script),
    "web/theme.js": "0;",
    "web/theme.js.br": brotliCompressSync("0;"),
    "web/notes.txt": secret,
    "secret.js": secret,
    "web/assets/.secret.js.map": secret,
  };
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

async function start() {
  const folder = await makeTempFolder();
  await build(folder);
  return { folder, ...(await startEchoServer([webRoutes({ folder: join(folder, "web") })])) };
}

/** The raw response: `fetch` would decompress it. */
async function get(port: number, path: string, headers: readonly string[] = []) {
  return rawRequest({ host: "127.0.0.1", port }, [`GET ${path} HTTP/1.1`, `Host: localhost:${port}`, ...headers]);
}

describe("a page", () => {
  test("is served at every path of the application, to anyone, and never cached", async () => {
    const { url } = await start();
    for (const path of [
      "/",
      "/sign-in",
      "/sessions/3f",
      "/new",
      "/watch?s=3f",
      "/agents",
      "/folders",
      "/tokens",
      "/settings?x=1",
    ]) {
      const answer = await fetch(`${url}${path}`);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(await answer.text()).toContain("<title>Postern</title>");
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    }
    expect((await fetch(`${url}/elsewhere`)).status).toBe(404);
  });

  test("can run, load and call only this gateway, and cannot be framed", async () => {
    const { url, port } = await start();
    const answer = await fetch(url);
    const policy = answer.headers.get("content-security-policy") ?? "";
    const rules = new Map(policy.split("; ").map((rule) => [rule.split(" ")[0], rule]));
    expect(rules.get("default-src")).toBe("default-src 'none'");
    expect(rules.get("script-src")).toBe("script-src 'self'");
    expect(rules.get("frame-ancestors")).toBe("frame-ancestors 'none'");
    expect(rules.get("base-uri")).toBe("base-uri 'none'");
    const host = new URL(url).host;
    expect(host).toContain(String(port));
    expect(rules.get("connect-src")).toBe(`connect-src 'self' ws://${host} wss://${host}`);
    expect(policy).not.toContain("unsafe");
    expect(policy).not.toMatch(/https?:/);
  });

  test("has its own nonce, the same in its head and its security policy", async () => {
    const { url } = await start();
    const nonces = await Promise.all(
      [1, 2].map(async () => {
        const answer = await fetch(url);
        const inPage = /nonce="([^"]+)"/.exec(await answer.text())?.[1];
        expect(answer.headers.get("content-security-policy")).toContain(`style-src 'self' 'nonce-${inPage}'`);
        return inPage;
      }),
    );
    expect(nonces[0]).toHaveLength(24);
    expect(nonces[0]).not.toBe(nonces[1]);
  });

  test("shows the next step while there is no build, and is served as soon as there is one", async () => {
    const folder = await makeTempFolder();
    const { url } = await startEchoServer([webRoutes({ folder: join(folder, "web") })]);
    const missing = await fetch(url);
    expect(missing.status).toBe(503);
    expect(await missing.text()).toContain("npm run build:web");
    expect((await fetch(`${url}/theme.js`)).status).toBe(404);
    await build(folder);
    expect((await fetch(url)).status).toBe(200);
  });

  test("is unchanged, with all its files, when the build is replaced", async () => {
    const { folder, url } = await start();
    expect((await fetch(url)).status).toBe(200);
    await rm(join(folder, "web"), { recursive: true });
    expect(await (await fetch(`${url}/assets/index-a1.js`)).text()).toBe(script);
  });
});

describe("a file of the build", () => {
  test("is sent in the best precompressed form that the browser accepts", async () => {
    const { port } = await start();
    const lengths = new Map<string, number>();
    for (const [accepted, expected] of [
      ["gzip, deflate, br, zstd", "br"],
      ["gzip, br;q=0", "gzip"],
      ["gzip;q=0.5", "gzip"],
      ["identity", ""],
    ] as const) {
      const { status, headers } = await get(port, "/assets/index-a1.js", [`Accept-Encoding: ${accepted}`]);
      expect([status, headers["content-encoding"] ?? "", headers["vary"]]).toEqual([200, expected, "accept-encoding"]);
      expect(headers["content-type"]).toBe("text/javascript; charset=utf-8");
      lengths.set(expected, Number(headers["content-length"]));
    }
    expect(lengths.get("")).toBe(script.length);
    expect(lengths.get("br")).toBe(brotliCompressSync(script).length);
    const tiny = await get(port, "/theme.js", ["Accept-Encoding: br"]);
    expect(tiny.headers["content-encoding"]).toBe(undefined);
    expect(tiny.body).toBe("0;");
  });

  test("is cached permanently if its name contains a hash, and revalidated otherwise", async () => {
    const { url } = await start();
    const asset = await fetch(`${url}/assets/index-a1.js`);
    expect(asset.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    const named = await fetch(`${url}/theme.js`);
    expect(named.headers.get("cache-control")).toBe("no-cache");
    const etag = named.headers.get("etag") ?? "";
    expect((await fetch(`${url}/theme.js`, { headers: { "if-none-match": etag } })).status).toBe(304);
    expect((await fetch(`${url}/theme.js`, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
  });

  test("is always inside the build: no path leads elsewhere", async () => {
    const { port } = await start();
    for (const path of [
      "/assets/../../secret.js",
      "/assets/..%2f..%2fsecret.js",
      "/assets/%2e%2e/%2e%2e/secret.js",
      "/assets/..%5c..%5csecret.js",
      "/assets/%00",
      "/assets/.secret.js.map",
      "/assets/index-a1.js.br",
      "/assets/",
      "/assets//etc/passwd",
      "/notes.txt",
      "/index.html",
      "//secret.js",
    ]) {
      const { status, body } = await get(port, path);
      expect([path, status === 404 || status === 400]).toEqual([path, true]);
      expect(body).not.toContain(secret);
    }
  });
});
