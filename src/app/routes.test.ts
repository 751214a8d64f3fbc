import { expect, test } from "vitest";
import { z } from "zod";
import type { Tool } from "../wire/tool.ts";
import { createManifest } from "./routes.ts";

const named = z.strictObject({ text: z.string() }).meta({ id: "Named" });
const nested = z.object({ inner: named });

function tool(name: string, input: z.ZodType, output: z.ZodType): Tool<unknown> {
  return {
    name,
    title: `The ${name}`,
    description: `What ${name} does.`,
    input,
    output,
    scope: "coding:read",
    effects: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
    quotesTranscripts: false,
    run: () => Promise.resolve(null),
  };
}

test("a tool's schemas are objects at the top level, named or not", () => {
  const manifest = createManifest({
    gateway: { id: "g", version: "1.0.0" },
    tools: [tool("one", named, nested), tool("two", z.strictObject({}), named)],
    folders: [],
    agents: { agents: [], availableAgents: [], default: null },
  });
  expect(manifest).toMatchObject({
    protocolVersion: "1",
    gateway: { id: "g", name: "postern", version: "1.0.0", platform: process.platform },
    tools: [
      {
        name: "one",
        annotations: {
          title: "The one",
          readOnlyHint: true,
          destructiveHint: false,
          idempotentHint: true,
          openWorldHint: false,
        },
        inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
        outputSchema: {
          type: "object",
          properties: { inner: { $ref: "#/$defs/Named" } },
          $defs: { Named: { type: "object" } },
        },
      },
      { name: "two", inputSchema: { type: "object" }, outputSchema: { type: "object", required: ["text"] } },
    ],
    agents: [],
    availableAgents: [],
    default: null,
  });
});
