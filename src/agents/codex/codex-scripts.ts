import { isFields, toolResult } from "../../transcripts/index.ts";
import type { ToolResult } from "../../wire/turn.ts";
import type { CodexCall } from "./codex-tools.ts";

/**
 * In code mode the model calls one tool, `exec`, with a script that calls the others. What the script did comes as actions of their
 * own, in front of the script's result; a script whose actions are shown is not shown itself, unless it went wrong.
 */
export interface Scripts {
  called(call: CodexCall): void;
  /** An action that no call line announced. */
  didAction(action: CodexCall): void;
  /** @returns whether the call is a script that its actions have told. */
  ended(id: string, result: ToolResult): boolean;
}

/** Scripts that never ended are forgotten beyond these: each action is looked for in all that run. */
const maxRunning = 32;

/** No scripts yet. */
export function createScripts(): Scripts {
  const running = new Map<string, string>();
  const told = new Set<string>();
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
      if (id !== undefined) told.add(id);
    },
    ended(id, result) {
      if (!running.delete(id)) return false;
      return told.has(id) && result.ok && result.text.startsWith("Script completed");
    },
  };
}

/** A script that runs commands as the commands that it runs; any other call as it is. */
export function shownCall(call: CodexCall): CodexCall {
  if (call.name !== "exec" || typeof call.input !== "string") return call;
  const commands = commandsIn(call.input);
  return commands.length === 0 ? call : { ...call, name: "exec_command", input: { command: commands.join("\n") } };
}

const literal = /^\s*\{[^{}]*?["']?\bcmd["']?\s*:\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`(?:[^`\\$]|\\.)*`)/s;

/** Commands that stand in a script as strings. */
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
    // In other quotes, or with escapes that JSON does not have.
  }
  return quoted.slice(1, -1).replace(/\\([^])/g, (_, escaped: string) => escapes[escaped] ?? escaped);
}

const scriptHeader = /^Script completed\n(?:Wall time [^\n]*\n)?(?:Output:\n)?/;

/** What came back from a script that is shown as its commands. A script ends well however its commands end, but says how they did. */
export function shownResult(result: ToolResult): ToolResult {
  const text = result.text.replace(scriptHeader, "");
  const exit = /(?:^|\n)(?:Exit code:?|Process exited with code) (-?\d+)\s*$/.exec(text)?.[1] ?? exitCodeIn(text);
  return { ...toolResult(result.ok && Number(exit ?? 0) === 0, text), truncated: result.truncated };
}

/** Of a script that prints what the tool returned, as JSON. */
function exitCodeIn(text: string): number | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    const code = isFields(value) ? value["exit_code"] : undefined;
    return typeof code === "number" ? code : undefined;
  } catch {
    return undefined; // not JSON, so it is the output itself
  }
}
