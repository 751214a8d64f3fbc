import { type Fields, fieldsAt, isFields, listAt, stringAt, toolInput, toolResult } from "../../transcripts/index.ts";
import type { ToolResult } from "../../wire/turn.ts";

/** A tool call as shown in a turn. */
interface CodexCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly result: ToolResult | null;
}

/** Reads a call line: a function call, a custom tool call, a shell call of the oldest versions, or a web search. */
export function codexCall(payload: Fields, fallbackId: string): CodexCall {
  const type = stringAt(payload, "type");
  const id = stringAt(payload, "call_id") ?? stringAt(payload, "id") ?? fallbackId;
  if (type === "function_call") {
    const input = parsedOr(stringAt(payload, "arguments") ?? "");
    return { id, name: stringAt(payload, "name") ?? "function", input: toolInput(input), result: null };
  }
  if (type === "custom_tool_call") {
    const input = toolInput(payload["input"] ?? null);
    return { id, name: stringAt(payload, "name") ?? "tool", input, result: null };
  }
  const input = toolInput(payload["action"] ?? null);
  if (type === "web_search_call") return { id, name: "web_search", input, result: toolResult(true, "") };
  return { id, name: "shell", input, result: null };
}

export function codexResult(payload: Fields): { readonly id: string; readonly result: ToolResult } | null {
  const id = stringAt(payload, "call_id");
  if (id === null) return null;
  const output = payload["output"];
  const success = isFields(output) ? output["success"] : undefined;
  const text = outputText(output);
  const shell = parsedOr(text);
  if (isFields(shell) && typeof shell["output"] === "string") {
    const exitCode = fieldsAt(shell, "metadata")["exit_code"];
    return { id, result: toolResult(exitCode === undefined || exitCode === 0, withExit(exitCode, shell["output"])) };
  }
  const ok = typeof success === "boolean" ? success : soundsFine(text);
  return { id, result: toolResult(ok, withExit(exitOfHead(text), text.replace(outputHeader, ""))) };
}

/** Puts the exit code before the output, as in Claude Code's transcripts. */
function withExit(exitCode: unknown, output: string): string {
  const failed = typeof exitCode === "number" && exitCode !== 0 && !output.startsWith("Exit code ");
  return failed ? `Exit code ${exitCode}${output === "" ? "" : `\n${output}`}` : output;
}

/** The header of a command's output for the model. */
const outputHeader =
  /^(?:Chunk ID: \S+\n)?(?:Exit code: -?\d+\n)?(?:Wall time: [^\n]*\n)?(?:Process exited with code -?\d+\n)?(?:(?:Original token count|Total output lines): \d+\n)?Output:\n/;

function outputText(output: unknown): string {
  if (typeof output === "string") return output;
  if (Array.isArray(output)) {
    return output
      .filter(isFields)
      .map((part) => stringAt(part, "text") ?? (/image/.test(stringAt(part, "type") ?? "") ? "[image]" : ""))
      .join("");
  }
  return isFields(output) ? outputText(output["content"]) : "";
}

/** Codex writes the outcome into the first lines of the output. */
function soundsFine(text: string): boolean {
  const exit = exitOfHead(text);
  if (exit !== null) return exit === 0;
  const head = text.slice(0, 400);
  return !/^(aborted|unsupported (custom tool )?call|Script (failed|error)|exec_command failed|apply_patch verification failed)/.test(
    head,
  );
}

function exitOfHead(text: string): number | null {
  const head = text.slice(0, 400);
  const exit = /^Exit code: (-?\d+)/.exec(head) ?? /^Process exited with code (-?\d+)/m.exec(head);
  return exit === null ? null : Number(exit[1]);
}

/** Reads an item that holds a whole tool call; null for other items. */
export function codexAction(item: Fields): CodexCall | null {
  const id = stringAt(item, "id");
  if (id === null) return null;
  const fine = item["status"] === "completed";
  switch (item["type"]) {
    case "CommandExecution": {
      const exitCode = item["exit_code"];
      const output =
        stringAt(item, "aggregated_output") ?? `${stringAt(item, "stdout") ?? ""}${stringAt(item, "stderr") ?? ""}`;
      const input = toolInput({ command: commandLine(item["command"]), cwd: plainPath(stringAt(item, "cwd")) });
      const ok = typeof exitCode === "number" ? exitCode === 0 : fine;
      return {
        id,
        name: "exec_command",
        input,
        result: ended(item) ? toolResult(ok, withExit(exitCode, output)) : null,
      };
    }
    case "FileChange": {
      const output = `${stringAt(item, "stdout") ?? ""}${stringAt(item, "stderr") ?? ""}`;
      const input = toolInput({ changes: item["changes"] ?? null });
      return { id, name: "apply_patch", input, result: ended(item) ? toolResult(fine, output) : null };
    }
    case "McpToolCall": {
      const name = `mcp__${stringAt(item, "server") ?? ""}__${stringAt(item, "tool") ?? ""}`;
      const input = toolInput(item["arguments"] ?? null);
      return { id, name, input, result: ended(item) ? mcpResult(item, fine) : null };
    }
    case "WebSearch":
      return {
        id,
        name: "web_search",
        input: toolInput({ query: item["query"] ?? null }),
        result: toolResult(true, ""),
      };
    default:
      return null;
  }
}

function ended(item: Fields): boolean {
  return item["status"] !== "in_progress" && item["status"] !== "inProgress";
}

function mcpResult(item: Fields, fine: boolean): ToolResult {
  const error = item["error"];
  if (typeof error === "string") return toolResult(false, error);
  if (isFields(error)) return toolResult(false, stringAt(error, "message") ?? "The tool failed.");
  const outer = fieldsAt(item, "result");
  const result = isFields(outer["Ok"]) ? outer["Ok"] : outer;
  const failure = stringAt(outer, "Err");
  if (failure !== null) return toolResult(false, failure);
  const isError = result["isError"] === true || result["is_error"] === true;
  const text = listAt(result, "content")
    .map((part) => stringAt(part, "text") ?? "")
    .join("\n");
  return toolResult(fine && !isError, text);
}

/** The script of a `bash -lc` command, without the wrapper. */
function commandLine(command: unknown): string {
  if (typeof command === "string") return command;
  if (!Array.isArray(command)) return "";
  const words = command.filter((word) => typeof word === "string");
  const script = words[2];
  if (words.length === 3 && script !== undefined && /^-l?c$/.test(words[1] ?? "")) return script;
  return words.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

function plainPath(path: string | null): string | null {
  if (path === null || !path.startsWith("file://")) return path;
  try {
    return decodeURIComponent(path.slice("file://".length));
  } catch {
    return path.slice("file://".length); // with a stray %, the path stays as it is
  }
}

function parsedOr(text: string): unknown {
  if (!text.startsWith("{") && !text.startsWith("[")) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text; // not JSON
  }
}

/**
 * In code mode the model calls one tool, `exec`, with a script that calls the others. The actions of the script appear before its result; a script
 * whose actions are shown is not shown itself, unless it failed.
 */
interface Scripts {
  called(call: CodexCall): void;
  /** An action without a call line. */
  didAction(action: CodexCall): void;
  /** @returns whether the call is a script that its actions already show */
  ended(id: string, result: ToolResult): boolean;
}

/** Beyond this number, old scripts that never ended are dropped, because each action is looked up in all running scripts. */
const maxRunning = 32;

export function createScripts(): Scripts {
  const running = new Map<string, string>();
  const shown = new Set<string>();
  return {
    called(call) {
      if (call.name !== "exec" || typeof call.input !== "string") return;
      running.set(call.id, call.input);
      const [oldest] = running.keys();
      if (running.size > maxRunning && oldest !== undefined) running.delete(oldest);
    },
    didAction(action) {
      const command = isFields(action.input) ? action.input["command"] : undefined;
      const quoted = typeof command === "string" ? JSON.stringify(command).slice(1, -1) : null;
      const author = quoted === null ? undefined : [...running].find(([, script]) => script.includes(quoted));
      const id = author?.[0] ?? running.keys().next().value;
      if (id !== undefined) shown.add(id);
    },
    ended(id, result) {
      if (!running.delete(id)) return false;
      return shown.has(id) && result.ok && result.text.startsWith("Script completed");
    },
  };
}

/** Shows a script that only runs commands as these commands; leaves other calls unchanged. */
export function shownCall(call: CodexCall): CodexCall {
  if (call.name !== "exec" || typeof call.input !== "string") return call;
  const commands = commandsIn(call.input);
  return commands.length === 0 ? call : { ...call, name: "exec_command", input: { command: commands.join("\n") } };
}

const literal = /^\s*\{[^{}]*?["']?\bcmd["']?\s*:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\$]|\\.)*`)/s;

/** The commands in a script that are string literals. */
function commandsIn(script: string): readonly string[] {
  const [, ...calls] = script.split(/\btools\.exec_command\s*\(/);
  return calls.flatMap((call) => {
    const quoted = literal.exec(call)?.[1];
    return quoted === undefined ? [] : [unquoted(quoted)];
  });
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function unquoted(quoted: string): string {
  try {
    const value: unknown = JSON.parse(quoted);
    if (typeof value === "string") return value;
  } catch {
    // The literal has other quotes, or escapes that JSON does not have.
  }
  return quoted.slice(1, -1).replace(/\\([^])/g, (_, escaped: string) => escapes[escaped] ?? escaped);
}

const scriptHeader = /^Script completed\n(?:Wall time [^\n]*\n)?(?:Output:\n)?/;

/** The result of a script that is shown as commands. The script succeeds even if its commands fail, but prints their exit code. */
export function shownResult(result: ToolResult): ToolResult {
  const text = result.text.replace(scriptHeader, "");
  const exit = /(?:^|\n)(?:Exit code:?|Process exited with code) (-?\d+)\s*$/.exec(text)?.[1] ?? exitCodeIn(text);
  return { ...toolResult(result.ok && Number(exit ?? 0) === 0, text), truncated: result.truncated };
}

/** The exit code that a script prints as part of the tool's result in JSON. */
function exitCodeIn(text: string): number | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const code = isFields(value) ? value["exit_code"] : undefined;
    return typeof code === "number" ? code : undefined;
  } catch {
    return undefined; // not JSON: plain output
  }
}
