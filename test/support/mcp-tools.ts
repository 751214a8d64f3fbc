import { z } from "zod";
import type { Principal } from "../../src/accounts/index.ts";
import { PosternError } from "../../src/core/errors.ts";
import type { Tool } from "../../src/wire/tool.ts";

const facts = {
  scope: "coding:read",
  effects: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  quotesTranscripts: false,
} as const;

/** Keeps a tool's schemas and its function of one type. */
function tool<Input, Output>(definition: Tool<Principal, Input, Output>): Tool<Principal, Input, Output> {
  return definition;
}

const said = z.object({ text: z.string() }).meta({ id: "Said" });

/** Says its `text` again, as if a transcript held it. */
export const echoTool = tool({
  ...facts,
  name: "echo",
  title: "Echo",
  description: "Says it again.",
  input: z.strictObject({ text: z.string().min(1), more: z.strictObject({ depth: z.int() }).optional() }),
  output: said,
  quotesTranscripts: true,
  run: async ({ text }) => ({ text }),
});

/** Requires `coding:drive`. */
export const driveTool = tool({ ...echoTool, name: "drive", title: "Drive", scope: "coding:drive" });

/** Fails with the requested code; without one, unexpectedly. */
export const failTool = tool({
  ...facts,
  name: "fail",
  title: "Fail",
  description: "Fails.",
  input: z.strictObject({ code: z.string().optional() }),
  output: z.object({}),
  async run({ code }) {
    if (code === undefined) throw new Error("secret of the inside");
    throw new PosternError(code, "It is busy. Try later.", { details: { sessionId: "s1" } });
  },
});

/** A tool that takes as long as the test wants, and reports what became of its calls. */
export function slowTool() {
  const signals: AbortSignal[] = [];
  let finish = Promise.withResolvers<void>();
  const definition = tool({
    ...facts,
    name: "slow",
    title: "Slow",
    description: "Takes long.",
    input: z.strictObject({
      sessionId: z.string().optional(),
      waitMs: z.int().optional(),
      dir: z.string().optional(),
    }),
    output: said,
    async run({ dir }, { allowed }, signal) {
      if (dir !== undefined) allowed?.note({ dir, scope: "coding" });
      signals.push(signal);
      await Promise.race([finish.promise, new Promise((resolve) => signal.addEventListener("abort", resolve))]);
      return { text: "done" };
    },
  });
  return {
    tool: definition,
    /** Of each call, in the order of the calls. */
    signals,
    finish: () => {
      finish.resolve();
      finish = Promise.withResolvers<void>();
    },
  };
}
