import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { looseSchema } from "../../test/support/echo-server.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { folderRoutes, tokenRoutes } from "./index.ts";

async function setUp() {
  const server = await startHttpServer(({ folders, accounts }) => [folderRoutes({ folders }), tokenRoutes(accounts)]);
  const admin = await server.signedIn("admin", "coding:read");
  const callAs =
    (headers: Readonly<Record<string, string>>) => async (method: string, path: string, body?: unknown) => {
      const answer = await fetch(`${server.url}${path}`, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { "content-type": "application/json" }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.text();
      return { status: answer.status, body: text === "" ? {} : looseSchema.parse(JSON.parse(text)) };
    };
  return { ...server, callAs, call: callAs(admin) };
}

describe("/api/folders", () => {
  test("registers, lists and removes, with immediate effect", async () => {
    const { call, work, folders } = await setUp();
    await mkdir(join(work, "app"));
    const path = join(work, "app");
    const added = await call("POST", "/api/folders", { path, scopes: ["exec", "coding"] });
    expect(added).toMatchObject({
      status: 201,
      body: { path, scopes: ["coding", "exec"], createdAt: expect.any(String) },
    });
    expect(await call("GET", "/api/folders")).toEqual({ status: 200, body: { folders: [added.body] } });
    expect(await folders.isVisible(work, { scope: "coding", within: null })).toBe(false);
    const removed = await call("DELETE", `/api/folders?path=${encodeURIComponent(path)}`);
    expect(removed).toEqual({ status: 200, body: added.body });
    expect(await folders.isVisible(work, { scope: "coding", within: null })).toBe(true);
    expect(await call("DELETE", `/api/folders?path=${encodeURIComponent(path)}`)).toMatchObject({
      status: 404,
      body: { code: "folder_not_found" },
    });
  });

  test("refuses folders that the folder rules refuse", async () => {
    const { call, work, home } = await setUp();
    const add = (path: string, scopes: readonly string[] = ["coding"]) =>
      call("POST", "/api/folders", { path, scopes });
    expect(await add(join(work, "missing"))).toMatchObject({ status: 422, body: { code: "dir_not_found" } });
    expect(await add(home)).toMatchObject({ status: 403, body: { code: "dir_not_allowed" } });
    expect(await add("work")).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    expect(await add(work, [])).toMatchObject({ status: 400, body: { errors: [{ path: "scopes" }] } });
    expect(await add(work, ["root"])).toMatchObject({ status: 400, body: { errors: [{ path: "scopes.0" }] } });
    expect(await call("DELETE", "/api/folders")).toMatchObject({ status: 400, body: { errors: [{ path: "path" }] } });
    const doubtful = await call("DELETE", "/api/folders?path=/a&path=/b");
    expect(doubtful).toMatchObject({ status: 400, body: { errors: [{ path: "path" }] } });
  });
});

describe("/api/tokens", () => {
  test("creates a working token, shows it once, and revokes it immediately", async () => {
    const { call, callAs, work } = await setUp();
    const made = await call("POST", "/api/tokens", {
      name: "second",
      scopes: ["admin"],
      expiresAt: "2199-01-01T00:00:00+01:00",
    });
    expect(made).toMatchObject({
      status: 201,
      body: {
        token: expect.stringMatching(/^pst_/),
        scopes: ["admin"],
        expiresAt: "2198-12-31T23:00:00.000Z",
        folders: null,
      },
    });
    const second = { authorization: `Bearer ${String(made.body["token"])}` };
    const listed = await callAs(second)("GET", "/api/tokens");
    expect(listed).toMatchObject({
      status: 200,
      body: { tokens: [{ name: "admin coding:read" }, { name: "second" }] },
    });
    expect(JSON.stringify(listed.body)).not.toContain("pst_");
    const path = `/api/tokens/${String(made.body["tokenId"])}`;
    expect(await call("DELETE", path)).toEqual({ status: 204, body: {} });
    expect((await callAs(second)("GET", "/api/tokens")).status).toBe(401);
    expect(await call("DELETE", path)).toMatchObject({ status: 404, body: { code: "token_not_found" } });
    const limited = await call("POST", "/api/tokens", { name: "one folder", scopes: ["coding:read"], folders: [work] });
    expect(limited.body).toMatchObject({ folders: [work], expiresAt: null });
  });

  test("refuses an invalid token request", async () => {
    const { call, work } = await setUp();
    const good = { name: "x", scopes: ["coding:read"] };
    for (const [wrong, path] of [
      [{ name: "" }, "name"],
      [{ scopes: ["everything"] }, "scopes.0"],
      [{ expiresAt: "tomorrow" }, "expiresAt"],
      [{ folders: [] }, "folders"],
      [{ expires: "2199-01-01T00:00:00Z" }, "expires"],
    ] as const) {
      const answer = await call("POST", "/api/tokens", { ...good, ...wrong });
      expect(answer, path).toMatchObject({ status: 400, body: { errors: [{ path }] } });
    }
    for (const wrong of [{ expiresAt: "2001-01-01T00:00:00Z" }, { scopes: ["admin"], folders: [work] }]) {
      expect(await call("POST", "/api/tokens", { ...good, ...wrong })).toMatchObject({ status: 400 });
    }
  });
});

test("none of these routes answers without the scope admin", async () => {
  const { call, callAs, signedIn, work } = await setUp();
  const others = await signedIn("coding:read", "coding:write", "coding:drive", "logs:read", "logs:write");
  for (const [method, path, body] of [
    ["GET", "/api/folders", undefined],
    ["POST", "/api/folders", { path: work, scopes: ["coding"] }],
    ["DELETE", `/api/folders?path=${work}`, undefined],
    ["GET", "/api/tokens", undefined],
    ["POST", "/api/tokens", { name: "x", scopes: ["admin"] }],
    ["DELETE", "/api/tokens/1", undefined],
  ] as const) {
    expect(await callAs(others)(method, path, body), `${method} ${path}`).toMatchObject({
      status: 403,
      body: { code: "insufficient_scope", scope: "admin" },
    });
    expect((await callAs({})(method, path, body)).status, `${method} ${path}`).toBe(401);
  }
  expect(await call("GET", "/api/folders")).toMatchObject({ body: { folders: [] } });
});
