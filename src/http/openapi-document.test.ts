import { expect, test } from "vitest";
import { z } from "zod";
import { echo, looseSchema } from "../../test/support/echo-server.ts";
import { startHttpServer } from "../../test/support/http-server.ts";
import { problemCodes } from "../wire/problem.ts";
import { folderRoutes, openApiRoutes, type RouteModule, registerTool, tokenRoutes } from "./index.ts";

const documentSchema = z.looseObject({
  openapi: z.string(),
  paths: z.record(z.string(), z.record(z.string(), looseSchema)),
  components: z.looseObject({ schemas: z.record(z.string(), looseSchema) }),
});

async function setUp(more: readonly RouteModule[] = []) {
  const server = await startHttpServer(({ folders, accounts }) => [
    openApiRoutes({ version: "1.2.3" }),
    folderRoutes({ folders }),
    tokenRoutes(accounts),
    ...more,
  ]);
  const load = async () => documentSchema.parse(await (await fetch(`${server.url}/openapi.json`)).json());
  return { ...server, load };
}

test("the document lists every route with its methods, parameters and allowed callers", async () => {
  const { load } = await setUp([(server) => registerTool(server, echo)]);
  const { openapi, info, paths } = await load();
  expect(openapi).toBe("3.1.0");
  expect(info).toMatchObject({ version: "1.2.3" });
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method} ${path}`),
  );
  expect(operations.toSorted()).toEqual([
    "delete /api/folders",
    "delete /api/tokens/{tokenId}",
    "get /api/folders",
    "get /api/tokens",
    "get /openapi.json",
    "post /api/coding/echo",
    "post /api/folders",
    "post /api/tokens",
  ]);
  expect(paths["/openapi.json"]?.["get"]).toMatchObject({ security: [] });
  expect(paths["/api/coding/echo"]?.["post"]).toMatchObject({
    operationId: "echo",
    summary: "Says it again.",
    description: "Says it again. Nothing more.\n\nNeeds the scope `coding:write`.",
    security: [{ bearer: [] }],
    "x-effects": { readOnly: true, destructive: false, idempotent: true, openWorld: false },
    requestBody: { required: true },
  });
  expect(paths["/api/tokens/{tokenId}"]?.["delete"]).toMatchObject({
    parameters: [{ name: "tokenId", in: "path", required: true, schema: { type: "string" } }],
    responses: { 204: { description: "Revoked" } },
  });
  expect(paths["/api/folders"]?.["delete"]).toMatchObject({
    parameters: [{ name: "path", in: "query", required: true }],
  });
});

test("the document allows no unknown fields in requests, and allows them in answers", async () => {
  const { load } = await setUp();
  const { schemas } = (await load()).components;
  expect(schemas["AddFolderInput"]).toMatchObject({ additionalProperties: false, required: ["path", "scopes"] });
  expect(schemas["Folder"]).toMatchObject({ required: ["folderId", "path", "scopes", "worktreeName", "createdAt"] });
  expect(schemas["Folder"]).not.toHaveProperty("additionalProperties");
  expect(schemas["Folder"]).not.toHaveProperty("id");
  expect(schemas["Problem"]).toMatchObject({ properties: { code: { enum: problemCodes } } });
});

test("every reference in the document resolves", async () => {
  const nested = z
    .object({ folder: z.object({ deep: z.array(echo.output) }).meta({ id: "Deep" }) })
    .meta({ id: "Nested" });
  const { load } = await setUp([
    (server) => registerTool(server, { ...echo, output: nested, run: async () => ({ folder: { deep: [] } }) }),
  ]);
  const document = await load();
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(
    ([, reference = ""]) => reference,
  );
  expect(references).toContain("#/components/schemas/Nested");
  expect(references).toContain("#/components/schemas/Deep");
  for (const reference of references) {
    expect(Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`)).toContain(reference);
  }
});

test("a schema that differs between requests and answers cannot have one name for both", async () => {
  const both = z.object({ depth: z.int().default(1) }).meta({ id: "Both" });
  const { url, logged } = await setUp([
    ({ app }) =>
      app.route({
        method: "POST",
        url: "/both",
        config: { access: "public" },
        schema: { body: both, response: { 200: both } },
        handler: async (request) => request.body,
      }),
  ]);
  expect((await fetch(`${url}/openapi.json`)).status).toBe(500);
  expect(logged.join()).toContain("called Both");
});

test("the document is not sent again to a client that has it", async () => {
  const { url } = await setUp();
  const first = await fetch(`${url}/openapi.json`);
  const etag = first.headers.get("etag") ?? "";
  expect(first.headers.get("content-type")).toMatch(/^application\/json/);
  expect((await fetch(`${url}/openapi.json`, { headers: { "if-none-match": etag } })).status).toBe(304);
});
