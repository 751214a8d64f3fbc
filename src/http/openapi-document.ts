import type { FastifySchema } from "fastify";
import { z } from "zod";
import { problemSchema } from "../wire/problem.ts";
import type { KnownRoute } from "./route-server.ts";
import { scopeNeeded } from "./route-server.ts";

const looseSchema = z.record(z.string(), z.unknown());
type JsonObject = z.infer<typeof looseSchema>;
type Io = "input" | "output";

export interface OpenApiOptions {
  readonly version: string;
  readonly routes: readonly KnownRoute[];
}

const description = `Self-hosted remote control for your coding agents. All routes except the public ones require a token:
\`Authorization: Bearer <token>\`. Create one with \`postern token create\`. Pages of a signed-in browser send their cookie and the header
\`x-postern-key\` instead. Errors are problem documents (RFC 9457) with a \`code\` from a closed list. Requests with unknown fields are
rejected; responses can gain fields.`;

/**
 * The OpenAPI document, generated from the schemas that validate requests and responses.
 *
 * @see https://spec.openapis.org/oas/v3.1.0
 */
export function buildOpenApi({ version, routes }: OpenApiOptions): JsonObject {
  const components = createComponents();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes.filter(({ schema }) => schema.hide !== true)) {
    const path = route.url.replaceAll(/:(\w+)/g, "{$1}");
    for (const method of route.methods.filter((name) => name !== "HEAD")) {
      (paths[path] ??= {})[method.toLowerCase()] = operation(route, components);
    }
  }
  return {
    openapi: "3.1.0",
    info: { title: "Postern", version, description, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url: "/" }],
    paths,
    components: {
      schemas: components.schemas(),
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: "A personal API token, `pst_…`." } },
    },
  };
}

function operation({ access, schema }: KnownRoute, components: Components): JsonObject {
  const scope = scopeNeeded(access);
  const others = access === "own" ? ", or a signed-in browser of the account" : "";
  const needs = scope === null ? undefined : `Needs the scope \`${scope}\`${others}.`;
  const problem = { "application/problem+json": { schema: components.schema(problemSchema, "output") } };
  return {
    operationId: schema.operationId,
    summary: schema.summary,
    description: [schema.description, needs].filter((part) => part !== undefined).join("\n\n") || undefined,
    tags: schema.tags,
    ...(schema.effects === undefined ? {} : { "x-effects": schema.effects }),
    security: access === "public" ? [] : [{ bearer: [] }],
    parameters: [
      ...parameters("path", schema.params, components),
      ...parameters("query", schema.querystring, components),
      ...parameters("header", schema.headers, components),
    ],
    ...(schema.body === undefined
      ? {}
      : {
          requestBody: {
            required: !accepts(schema.body, {}),
            content: { [schema.bodyType ?? "application/json"]: { schema: components.schema(schema.body, "input") } },
          },
        }),
    responses: {
      ...answers(schema, components),
      "4XX": { description: "Client error. See `code`.", content: problem },
      "5XX": { description: "Server error.", content: problem },
    },
  };
}

function parameters(
  place: "path" | "query" | "header",
  schema: unknown,
  components: Components,
): readonly JsonObject[] {
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).map(([name, field]) => ({
    name,
    in: place,
    required: place === "path" || !accepts(field, undefined),
    schema: components.schema(field, "input"),
  }));
}

function answers({ response, answerType = "application/json" }: FastifySchema, components: Components): JsonObject {
  const entries = Object.entries(response ?? {}).map(([status, schema]): [string, JsonObject] => {
    if (!(schema instanceof z.ZodType)) throw new Error("An answer without a zod schema cannot be documented.");
    const words = schema.description ?? (status === "201" ? "Created" : "OK");
    if (schema instanceof z.ZodUndefined) return [status, { description: words }];
    const content = { [answerType]: { schema: components.schema(schema, "output") } };
    return [status, { description: words, content }];
  });
  return Object.fromEntries(entries);
}

function accepts(schema: unknown, value: unknown): boolean {
  return schema instanceof z.ZodType && schema.safeParse(value).success;
}

interface Components {
  /** The JSON Schema, or a reference to it when it has a name (`.meta({ id })`). */
  schema(schema: unknown, io: Io): JsonObject;
  schemas(): JsonObject;
}

function createComponents(): Components {
  const named = new Map<string, JsonObject>();

  /** @throws Error if two different schemas have the same name */
  function name(id: string, schema: JsonObject): void {
    const before = named.get(id);
    if (before !== undefined && JSON.stringify(before) !== JSON.stringify(schema)) {
      throw new Error(`Two schemas are called ${id}, or it differs between requests and responses.`);
    }
    named.set(id, schema);
  }

  return {
    schema(schema, io) {
      if (!(schema instanceof z.ZodType)) throw new Error("A route without a zod schema cannot be documented.");
      const { $schema: _dialect, $defs = {}, id, ...root } = toJson(schema, io);
      for (const [key, { id: _key, ...definition }] of Object.entries(z.record(z.string(), looseSchema).parse($defs))) {
        name(key, toJsonObject(definition));
      }
      if (typeof id !== "string") return root;
      name(id, root);
      return { $ref: `#/components/schemas/${id}` };
    },
    schemas: () => Object.fromEntries([...named].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function toJson(schema: z.ZodType, io: Io): JsonObject {
  const json = z.toJSONSchema(schema, {
    target: "draft-2020-12",
    io,
    override({ jsonSchema }) {
      // Responses may gain fields; only requests are strict.
      if (io === "output") delete jsonSchema.additionalProperties;
    },
  });
  return toJsonObject(json);
}

/** Plain JSON, with references in OpenAPI's form. */
function toJsonObject(value: unknown): JsonObject {
  const text = JSON.stringify(value).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/');
  return looseSchema.parse(JSON.parse(text));
}
