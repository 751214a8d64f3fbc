import { createHash } from "node:crypto";

/** One tool call that a prompt asks for. */
export type Step =
  | { readonly kind: "write"; readonly path: string; readonly text: string }
  | { readonly kind: "run"; readonly command: string; readonly escalate: boolean }
  | { readonly kind: "ask"; readonly question: string }
  | { readonly kind: "call"; readonly tool: string; readonly input: Readonly<Record<string, unknown>> };

/** What a prompt makes the model do. The grammar is in the README of this folder. */
export interface Script {
  readonly thinking: string | null;
  /** Tool calls, one for each model request, in the order of their lines. */
  readonly steps: readonly Step[];
  /** Milliseconds over which the last answer is streamed. */
  readonly slowMs: number;
  /** Answers with this HTTP status; `times` requests in a row, or always when null. */
  readonly fail: {
    readonly status: number;
    readonly times: number | null;
    /** Response headers of the failure. */
    readonly headers: Readonly<Record<string, string>>;
    /** Fields of the error object in the body, over the usual ones. */
    readonly error: Readonly<Record<string, unknown>>;
  } | null;
  /** The last answer; null for the echo. */
  readonly say: string | null;
  /** What is answered to a request with a schema for its answer; null for a sample of it. */
  readonly answer: string | null;
  /** How many numbered lines follow the last answer. */
  readonly lines: number;
}

/** What came back from one tool call. */
export interface ToolOutcome {
  readonly ok: boolean;
  readonly text: string;
}

const echoedCharacters = 60;
const quotedResultCharacters = 400;
/** About 4 MB of answer. */
const maxLines = 50_000;

const lineFiller = "long enough to be a line of prose in an answer";

/** The first 8 hex digits of the SHA-256 of `prompt`: distinguishes turns in answers. */
export function promptDigest(prompt: string): string {
  return createHash("sha256").update(prompt).digest("hex").slice(0, 8);
}

/** The answer to a prompt without directives, for example `ECHO hello there #5d41402a`. */
export function echoOf(prompt: string): string {
  const words = Array.from(prompt.replace(/\s+/g, " ").trim()).slice(0, echoedCharacters).join("");
  return `ECHO ${words} #${promptDigest(prompt)}`;
}

/** Reads the directives of a prompt: one on a line, all other lines are only text. */
export function parseScript(prompt: string): Script {
  const thinking: string[] = [];
  const say: string[] = [];
  const steps: Step[] = [];
  let slowMs = 0;
  let lines = 0;
  let answer: string | null = null;
  let fail: Pick<NonNullable<Script["fail"]>, "status" | "times"> | null = null;
  const headers: Record<string, string> = {};
  const error: Record<string, unknown> = {};
  for (const line of prompt.split("\n")) {
    const [, word, rest] =
      /^\s*(think|say|answer|write|run|escalate|call|ask|slow|lines|fail|header|error)\b:?\s*(.*?)\s*$/.exec(line) ??
      [];
    if (word === undefined || rest === undefined || rest === "") continue;
    if (word === "think") thinking.push(rest);
    else if (word === "say") say.push(rest);
    else if (word === "answer") answer = rest;
    else if (word === "run") steps.push({ kind: "run", command: rest, escalate: false });
    else if (word === "escalate") steps.push({ kind: "run", command: rest, escalate: true });
    else if (word === "ask") steps.push({ kind: "ask", question: rest });
    else if (word === "lines") lines = Math.min(maxLines, Number(/^\d+/.exec(rest)?.[0] ?? 0));
    else if (word === "slow") slowMs = Number(/^\d+/.exec(rest)?.[0] ?? 0);
    else if (word === "fail") fail = parseFail(rest) ?? fail;
    else if (word === "error") Object.assign(error, parseInput(rest));
    else if (word === "header") {
      const [, name, value] = /^([\w-]+)\s+(.+)$/.exec(rest) ?? [];
      if (name !== undefined && value !== undefined) headers[name] = value;
    } else steps.push(...parseToolStep(word, rest));
  }
  return {
    thinking: thinking.length > 0 ? thinking.join("\n") : null,
    steps,
    slowMs,
    fail: fail === null ? null : { ...fail, headers, error },
    say: say.length > 0 ? say.join("\n") : null,
    answer,
    lines,
  };
}

function parseFail(rest: string): { readonly status: number; readonly times: number | null } | null {
  const [, status, times] = /^([45]\d\d)(?:\s+(\d+))?$/.exec(rest) ?? [];
  if (status === undefined) return null;
  return { status: Number(status), times: times === undefined ? null : Number(times) };
}

function parseToolStep(word: string, rest: string): readonly Step[] {
  if (word === "write") {
    const [, path, text] = /^(\S+) with (.*)$/.exec(rest) ?? [];
    return path === undefined || text === undefined ? [] : [{ kind: "write", path, text }];
  }
  const [, tool, input] = /^(\S+)(?:\s+(\{.*\}))?$/.exec(rest) ?? [];
  return tool === undefined ? [] : [{ kind: "call", tool, input: parseInput(input ?? "{}") }];
}

function parseInput(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return { unparsed: text }; // the tool will say what it misses, and the test sees it in the transcript
  }
}

/** The text that ends a turn: `say` or the echo, then a line for each tool result, then the lines asked for. */
export function closingText(prompt: string, script: Script, outcomes: readonly ToolOutcome[]): string {
  const results = outcomes.map(
    ({ ok, text }, index) => `RESULT ${index + 1} ${ok ? "ok" : "error"}: ${text.slice(0, quotedResultCharacters)}`,
  );
  const lines = Array.from(
    { length: script.lines },
    (_, index) => `Line ${index + 1} of ${script.lines}, ${lineFiller}.`,
  );
  return [script.say ?? echoOf(prompt), ...results, ...lines].join("\n");
}
