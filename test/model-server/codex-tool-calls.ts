import type { ResponsesRequest } from "./openai-responses.ts";
import type { Step } from "./script.ts";

function patchFor(path: string, text: string): string {
  return `*** Begin Patch\n*** Add File: ${path}\n+${text}\n*** End Patch\n`;
}

/** JavaScript for the `exec` tool of code mode. */
function codeFor(step: Exclude<Step, { readonly kind: "ask" }>): string {
  if (step.kind === "run") {
    const options = { cmd: step.command, yield_time_ms: 30_000, ...escalation(step) };
    return [
      '// @exec: {"yield_time_ms": 600000}',
      `let result = await tools.exec_command(${JSON.stringify(options)});`,
      "let output = result.output;",
      "while (result.exit_code === undefined && result.session_id !== undefined) {",
      "  result = await tools.write_stdin({ session_id: result.session_id, yield_time_ms: 30000 });",
      "  output += result.output;",
      "}",
      "text(output);",
      "if (result.exit_code !== 0) text(`Exit code ${result.exit_code}`);",
    ].join("\n");
  }
  if (step.kind === "write") return `text(await tools.apply_patch(${JSON.stringify(patchFor(step.path, step.text))}));`;
  if (step.tool === "view_image") return `image(await tools.view_image(${JSON.stringify(step.input)}));`;
  return `text(await tools[${JSON.stringify(step.tool)}](${JSON.stringify(step.input)}));`;
}

/** Asks for the user's leave to run outside the sandbox. */
function escalation({ escalate }: { readonly escalate: boolean }): Readonly<Record<string, unknown>> {
  if (!escalate) return {};
  return { sandbox_permissions: "require_escalated", justification: "The script of this prompt asked for it." };
}

function questionFor(question: string): Readonly<Record<string, unknown>> {
  const options = ["Yes", "No"].map((label) => ({ label, description: `The answer is ${label.toLowerCase()}` }));
  return { questions: [{ id: "question", header: "Question", question, options }] };
}

let nextId = 0;
/** An identifier that no other item of this process has. */
export const newId = (prefix: string): string =>
  `${prefix}_scripted${Date.now().toString(36)}${(nextId++).toString(36)}`;

/** An item of a response's output. */
export type OutputItem = Readonly<Record<string, unknown>> & { readonly type: string };

/** The call in the style that the request speaks: code mode, or classic function calls. */
export function toolItem(step: Step, body: ResponsesRequest): OutputItem {
  const call = { id: newId("ctc"), call_id: newId("call"), status: "completed" };
  const custom = (name: string, input: string): OutputItem => ({ type: "custom_tool_call", ...call, name, input });
  const named = (name: string, args: unknown): OutputItem => ({
    type: "function_call",
    ...call,
    id: newId("fc"),
    name,
    arguments: JSON.stringify(args),
  });
  if (step.kind === "ask") return named("request_user_input", questionFor(step.question));
  if (body.input.some(({ type }) => type === "additional_tools")) return custom("exec", codeFor(step));
  if (step.kind === "write" && body.tools?.some(({ name }) => name === "apply_patch") === true) {
    return custom("apply_patch", patchFor(step.path, step.text));
  }
  if (step.kind === "write") {
    const patch = patchFor(step.path, step.text);
    return named("exec_command", { cmd: `apply_patch <<'END_OF_PATCH'\n${patch}END_OF_PATCH` });
  }
  if (step.kind === "run") return named("exec_command", { cmd: step.command, ...escalation(step) });
  const namespace = body.tools?.find(
    ({ type, name }) => type === "namespace" && step.tool.startsWith(`${name}__`),
  )?.name;
  if (namespace === undefined) return named(step.tool, step.input);
  return { ...named(step.tool.slice(namespace.length + 2), step.input), namespace };
}
