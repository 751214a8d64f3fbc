import { z } from "zod";
import { createWorld, startGateway } from "../../test/support/gateway.ts";
import { type JsonSchema, jsonSchemaSchema, typeInWords } from "./json-schema.ts";
import { code, generatedHead, table } from "./markdown.ts";

const lead = `All routes, generated from a gateway's OpenAPI document. A running gateway serves it at \`/openapi.json\`, and as pages at \`/docs\`.

All routes except the public ones need \`Authorization: Bearer <token>\`. Request bodies are JSON, and unknown fields are refused. Later versions can add fields to
responses. An error is a problem document with a [code](errors.md). Live terminals and MCP are not in OpenAPI: see [WebSocket](websocket.md) and [MCP](../mcp.md).

In the examples, \`$GATEWAY\` is the gateway's address, \`$TOKEN\` a token with the scopes that the route needs, and \`$ID\` a session ID.`;

const bearer = `-H "Authorization: Bearer $TOKEN"`;

function post(path: string, body: string, method = ""): string {
  return `curl -s ${method}${bearer} "$GATEWAY${path}" \\\n  -H 'Content-Type: application/json' -d '${body}'`;
}

/** Examples for routes with required input, by operation. A test runs each one. */
const httpExamples: Readonly<Record<string, string | null>> = {
  coding_ask: post("/api/coding/coding_ask", `{ "dir": "'"$PWD"'", "prompt": "What is here?", "waitMs": 60000 }`),
  coding_read_session: post("/api/coding/coding_read_session", `{ "sessionId": "'"$ID"'", "last": 2 }`),
  coding_list_sessions: post("/api/coding/coding_list_sessions", `{ "limit": 5 }`),
  coding_search_sessions: post("/api/coding/coding_search_sessions", `{ "query": "rate limit", "in": "all" }`),
  coding_interrupt: post("/api/coding/coding_interrupt", `{ "sessionId": "'"$ID"'" }`),
  coding_keep_session: post("/api/coding/coding_keep_session", `{ "sessionId": "'"$ID"'", "keepRunning": true }`),
  coding_list_agents: post("/api/coding/coding_list_agents", "{}"),
  rescueList: post("/api/coding/rescue_list", "{}"),
  submitLog: post("/api/v1/logs", `{ "content": "Decision: retries = 3", "title": "The flaky mirror" }`),
  searchLogs: `curl -s ${bearer} "$GATEWAY/api/v1/search?q=mirror"`,
  memory_search: post("/api/coding/memory_search", `{ "q": "mirror" }`),
  memory_facts: post("/api/coding/memory_facts", `{ "subject": "Decision:retries" }`),
  createToken: post("/api/tokens", `{ "name": "reader", "scopes": ["coding:read"] }`),
};

const contentSchema = z.record(z.string(), z.object({ schema: jsonSchemaSchema }));
const operationSchema = z.object({
  operationId: z.string(),
  summary: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).default([]),
  security: z.array(z.unknown()),
  parameters: z
    .array(z.object({ name: z.string(), in: z.string(), required: z.boolean(), schema: jsonSchemaSchema }))
    .default([]),
  requestBody: z.object({ required: z.boolean(), content: contentSchema }).optional(),
  responses: z.record(z.string(), z.object({ description: z.string(), content: contentSchema.optional() })),
});

/** The relevant parts of the OpenAPI document. */
export const openApiSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.object({ schemas: z.record(z.string(), jsonSchemaSchema) }),
});

type Operation = z.infer<typeof operationSchema>;
type OpenApi = z.infer<typeof openApiSchema>;

/** The OpenAPI document of a temporary gateway. */
export async function openApiDocument(): Promise<unknown> {
  const world = await createWorld({ agents: false });
  try {
    const gateway = await startGateway(world);
    try {
      return await (await fetch(`${gateway.url}/openapi.json`)).json();
    } finally {
      await gateway.close();
    }
  } finally {
    await world.close();
  }
}

/** `docs/reference/http.md`. @param document the OpenAPI document of a gateway */
export function renderHttpReference(document: unknown): string {
  const { paths, components } = openApiSchema.parse(document);
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  );
  const groups = Map.groupBy(routes, ({ operation }) => operation.tags[0] ?? "gateway");
  const overview = [...groups].map(([tag, list]) => [
    `[${tag}](#${anchor(tag)})`,
    list.map(({ method, path }) => `[\`${method} ${path}\`](#${anchor(`${method} ${path}`)})`).join("<br>"),
  ]);
  const sections = [...groups].map(
    ([tag, list]) => `## ${tag}\n\n${list.map((route) => routeSection(route)).join("\n")}`,
  );
  return `${generatedHead("HTTP", lead)}
${table(["", "routes"], overview)}

${sections.join("\n")}
## Schemas

${schemaSections(components.schemas)}`;
}

function routeSection({
  path,
  method,
  operation,
}: {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}): string {
  const { summary = "", description = "", operationId, parameters, requestBody, responses } = operation;
  const words = description.startsWith(summary)
    ? description
    : [summary, description].filter((part) => part !== "").join("\n\n");
  const example = httpExamples[operationId] ?? exampleOf({ path, method, operation });
  return [
    `### ${method} ${path}\n`,
    operation.security.length === 0 ? `${words}\n\nPublic: needs no token.\n` : `${words}\n`,
    ...(parameters.length > 0 ? [`${parameterTable(parameters)}\n`] : []),
    ...(requestBody === undefined ? [] : [bodyOf(requestBody)]),
    answersOf(responses),
    ...(example === null ? [] : [`\`\`\`sh\n${example}\n\`\`\`\n`]),
  ].join("\n");
}

function parameterTable(parameters: Operation["parameters"]): string {
  const rows = parameters.map(({ name, in: place, required, schema }) => [
    code(name),
    place,
    typeInWords(schema, link),
    required ? "required" : defaultOf(schema),
    schema.description ?? "",
  ]);
  return table(["parameter", "in", "type", "default", ""], rows);
}

function bodyOf({ content, required }: NonNullable<Operation["requestBody"]>): string {
  return Object.entries(content)
    .map(([type, { schema }]) => {
      const kind = type === "application/json" ? "" : `, \`${type}\``;
      const fields = fieldTable(schema, "input");
      return `Body${required ? "" : " (optional)"}${kind}: ${typeInWords(schema, link)}\n${fields === "" ? "" : `\n${fields}\n`}`;
    })
    .join("\n");
}

function answersOf(responses: Operation["responses"]): string {
  return Object.entries(responses)
    .filter(([status]) => /^\d/.test(status) && !status.endsWith("XX"))
    .map(([status, { description, content = {} }]) => {
      const what = Object.entries(content).map(([type, { schema }]) => {
        const fields = fieldTable(schema, "output");
        return `${type === "application/json" ? "" : `\`${type}\`, `}${typeInWords(schema, link)}${fields === "" ? "" : `\n\n${fields}`}`;
      });
      return `Response ${status} (${description})${what.length === 0 ? "" : `: ${what.join(" or ")}`}\n`;
    })
    .join("\n");
}

/** A GET route without required parameters needs no separate example. */
function exampleOf({
  path,
  method,
  operation,
}: {
  readonly path: string;
  readonly method: string;
  readonly operation: Operation;
}): string | null {
  const needsNothing = operation.parameters.every(({ required }) => !required);
  const isJson = operation.responses["200"]?.content?.["application/json"] !== undefined;
  if (method !== "GET" || !needsNothing || !isJson || operation.tags.includes("oauth")) return null;
  const credentials = operation.security.length === 0 ? "" : ` -H "Authorization: Bearer $TOKEN"`;
  return `curl -s${credentials} "$GATEWAY${path}"`;
}

function schemaSections(schemas: OpenApi["components"]["schemas"]): string {
  return Object.entries(schemas)
    .map(([name, schema]) => {
      const fields = fieldTable(schema, name.endsWith("Input") ? "input" : "output");
      const words = schema.description === undefined ? "" : `\n${schema.description}\n`;
      return `### ${name}\n${words}\n${fields === "" ? typeInWords(schema, link) : fields}\n`;
    })
    .join("\n");
}

/** Response fields can be optional; request fields are required or have a default. */
function fieldTable(schema: JsonSchema, io: "input" | "output"): string {
  const { properties = {}, required = [] } = schema;
  const rows = Object.entries(properties).map(([name, field]) => {
    const missing = io === "input" ? defaultOf(field) : "optional";
    const presence = required.includes(name) ? (io === "input" ? "required" : "") : missing;
    return [code(name), typeInWords(field, link), presence, field.description ?? ""];
  });
  return rows.length === 0 ? "" : table(["field", "type", io === "input" ? "default" : "", ""], rows);
}

function defaultOf(schema: JsonSchema): string {
  return schema.default === undefined ? "" : code(JSON.stringify(schema.default));
}

function link(name: string): string {
  return `[${name}](#${name.toLowerCase()})`;
}

/** GitHub's anchor for a heading. */
function anchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^a-z0-9 _-]/g, "")
    .replaceAll(" ", "-");
}
