import type { CallToolResult } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { newUuid } from "../core/ids.ts";
import type { Tool } from "../wire/tool.ts";
import { untrustedNotice } from "./instructions.ts";
import type { McpDeps } from "./ports.ts";
import { reportWhile } from "./progress.ts";
import type { ToolCall } from "./tool-call.ts";

const objectSchema = z.looseObject({});

/** Runs the tool. What goes wrong is a result too, in words that an LLM can act on. */
export async function callTool(
  deps: McpDeps & { readonly progressMs: number },
  call: ToolCall,
): Promise<CallToolResult> {
  const { tool, args, principal, signal } = call;
  const parsed = tool.input.safeParse(args ?? {});
  if (!parsed.success) return failure("invalid_request", `The arguments do not fit. ${fieldErrors(parsed.error)}`);
  const stop = reportWhile(deps, call, objectSchema.safeParse(parsed.data).data ?? {});
  try {
    const output = tool.output.parse(await tool.run(parsed.data, principal, signal));
    const answer = objectSchema.parse(output);
    const structuredContent = tool.quotesTranscripts ? { notice: untrustedNotice, ...answer } : answer;
    return { structuredContent, content: [{ type: "text", text: JSON.stringify(structuredContent) }] };
  } catch (error) {
    if (signal.aborted) return failure("client_gone", "The call was cancelled."); // nobody gets this
    return failed(deps, { tool, error });
  } finally {
    stop();
  }
}

function failed(
  { problemOf, log }: Pick<McpDeps, "problemOf" | "log">,
  { tool, error }: { readonly tool: Tool<Principal>; readonly error: unknown },
): CallToolResult {
  const requestId = newUuid();
  const { code, detail, status, type: _type, title: _title, ...facts } = problemOf(error, requestId);
  if (status >= 500) {
    const stack = error instanceof Error ? error.stack : undefined;
    log.error({ requestId, tool: tool.name, code, reason: String(error), stack }, "a tool call failed");
  }
  return failure(code, detail, facts);
}

/** The code first, as an LLM that knows it from the documentation looks for it; then what to do, then the facts. */
function failure(code: string, detail: string, facts: Readonly<Record<string, unknown>> = {}): CallToolResult {
  const details = Object.keys(facts).length === 0 ? "" : `\nDetails: ${JSON.stringify(facts)}`;
  return { isError: true, content: [{ type: "text", text: `Error ${code}: ${detail}${details}` }] };
}

function fieldErrors({ issues }: z.ZodError): string {
  const errors = issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code !== "unrecognized_keys") return [`${path.join(".") || "(arguments)"}: ${issue.message}`];
    return issue.keys.map((key) => `${[...path, key].join(".")}: There is no such field`);
  });
  return `${errors.join("; ")}.`;
}
