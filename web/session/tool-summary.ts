import { countOfDiff, type DiffLine, diffOfPatch, diffOfTexts, filesOfApplyPatch } from "./line-diff.ts";
import { questionsOf } from "./question-form.tsx";

export interface FileEdit {
  readonly path: string;
  readonly lines: readonly DiffLine[];
}

/** A step of the agent's plan. */
export interface PlanStep {
  readonly text: string;
  readonly state: "done" | "current" | "open";
}

/** How a tool call's input is shown, instead of its JSON. */
export type ToolView =
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "edits"; readonly files: readonly FileEdit[] }
  | { readonly kind: "checklist"; readonly steps: readonly PlanStep[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "json"; readonly text: string };

type Fields = Readonly<Record<string, unknown>>;

const commandFields = ["command", "cmd"] as const;
/** The most informative fields, best first. */
const tellingFields = [
  "file_path",
  "notebook_path",
  "pattern",
  "path",
  "query",
  "url",
  "description",
  "skill",
  "prompt",
  "name",
] as const;
const maxSummaryLength = 200;

export function toolName(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return server === undefined || tool === undefined ? name : `${server}: ${tool}`;
}

export function summaryOfTool(input: unknown): string {
  const view = viewOfTool(input);
  if (view.kind === "edits") {
    const [first] = view.files;
    if (first === undefined) return "";
    const { added, removed } = countOfDiff(view.files.flatMap(({ lines }) => lines));
    const more = view.files.length > 1 ? ` and ${view.files.length - 1} more` : "";
    return cut(`${pathEnd(first.path)}${more} +${added} −${removed}`);
  }
  if (view.kind === "command") return cut(view.command);
  if (view.kind === "checklist") {
    const done = view.steps.filter(({ state }) => state === "done").length;
    return `${done} of ${view.steps.length} steps`;
  }
  if (typeof input === "string") return cut(input.replace(/^\/\/ @exec:.*\n/, ""));
  const fields = fieldsOf(input);
  const { pattern, path } = fields;
  if (typeof pattern === "string" && typeof path === "string" && pattern !== "" && path !== "")
    return cut(`${pattern} in ${pathEnd(path)}`);
  for (const name of tellingFields) {
    const value = fields[name];
    if (typeof value === "string" && value !== "")
      return cut(name.endsWith("path") && value.startsWith("/") ? pathEnd(value) : value);
  }
  const [question] = questionsOf(input);
  if (question !== undefined) return cut(question.question);
  const text = Object.values(fields).find((value) => typeof value === "string");
  return typeof text === "string" ? cut(text) : "";
}

const shownPathParts = 3;

/** The end of a path, which distinguishes files where a line is cut. */
function pathEnd(path: string): string {
  const parts = path.split("/");
  return parts.length <= shownPathParts + 1 ? path : `…/${parts.slice(-shownPathParts).join("/")}`;
}

/** A command, diffs of files, or the input itself. */
export function viewOfTool(input: unknown): ToolView {
  if (typeof input === "string") return viewOfText(input);
  const fields = fieldsOf(input);
  for (const name of commandFields) {
    const command = fields[name];
    if (typeof command === "string") return { kind: "command", command };
    if (Array.isArray(command)) return { kind: "command", command: command.join(" ") };
  }
  const steps = stepsOf(fields["todos"] ?? fields["plan"]);
  if (steps !== null) return { kind: "checklist", steps };
  const files = editsOf(fields);
  if (files !== null) return { kind: "edits", files };
  const patch = fields["patch"] ?? fields["input"];
  if (typeof patch === "string" && patch.includes("*** Begin Patch")) return viewOfText(patch);
  return { kind: "json", text: JSON.stringify(input, null, 2) ?? "" };
}

/** Null if this is not a list of steps. */
function stepsOf(list: unknown): readonly PlanStep[] | null {
  if (!Array.isArray(list) || list.length === 0) return null;
  const steps = list.flatMap((step: unknown): readonly PlanStep[] => {
    const { content, step: named, title, status } = fieldsOf(step);
    const text = [content, named, title].find((part) => typeof part === "string");
    if (typeof text !== "string") return [];
    return [{ text, state: status === "completed" ? "done" : status === "in_progress" ? "current" : "open" }];
  });
  return steps.length === list.length ? steps : null;
}

/** What a tool does, by its input and the words in its name. */
export type ToolKind = "edit" | "read" | "command" | "search" | "web" | "plan" | "task" | "question" | "other";

const kindsByName: readonly (readonly [RegExp, ToolKind])[] = [
  [/web|fetch|http|browser/i, "web"],
  [/grep|glob|search|find|^ls$|list_?dir/i, "search"],
  [/read|view|open_?file|cat/i, "read"],
  [/edit|write|patch|replace/i, "edit"],
  [/todo|plan/i, "plan"],
  [/^task$|agent/i, "task"],
  [/bash|shell|exec|terminal|command/i, "command"],
];

export function kindOfTool({ name, input }: { readonly name: string; readonly input: unknown }): ToolKind {
  const { kind } = viewOfTool(input);
  if (kind === "edits") return "edit";
  if (kind === "command") return "command";
  if (kind === "checklist") return "plan";
  if (questionsOf(input).length > 0) return "question";
  return kindsByName.find(([pattern]) => pattern.test(name))?.[1] ?? "other";
}

const intents: Readonly<Partial<Record<ToolKind, string>>> = {
  command: "Run a command",
  search: "Search files",
  web: "Use the web",
};

/** What a call is for, as a title: `Run a command`, `Edit retry.ts`. */
export function intentOfTool(call: { readonly name: string; readonly input: unknown }): string {
  const kind = kindOfTool(call);
  const view = viewOfTool(call.input);
  const { file_path: named, path, content } = fieldsOf(call.input);
  const paths = view.kind === "edits" ? view.files.map((file) => file.path) : [named ?? path];
  const [first] = paths;
  if ((kind === "edit" || kind === "read") && typeof first === "string" && first !== "") {
    const verb = kind === "read" ? "Read" : typeof content === "string" ? "Write" : "Edit";
    return paths.length === 1 ? `${verb} ${first.split("/").at(-1) ?? first}` : `${verb} ${paths.length} files`;
  }
  // A tool of an MCP server keeps its name, because its words can mean anything.
  return (call.name.startsWith("mcp__") ? undefined : intents[kind]) ?? `Use ${toolName(call.name)}`;
}

const languagesByEnding: Readonly<Record<string, string>> = {
  ...{ ts: "typescript", tsx: "typescript", mts: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript" },
  ...{ py: "python", rb: "ruby", rs: "rust", go: "go", java: "java", kt: "kotlin", swift: "swift", php: "php", c: "c" },
  ...{ h: "c", cc: "cpp", cpp: "cpp", hpp: "cpp", css: "css", html: "xml", xml: "xml", svg: "xml", json: "json" },
  ...{ yaml: "yaml", yml: "yaml", toml: "ini", ini: "ini", sql: "sql", sh: "bash", bash: "bash", md: "markdown" },
};

/** The language of a file by its name; empty if unknown. */
export function languageOf(path: string): string {
  return languagesByEnding[/\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? ""] ?? "";
}

/** A file's text as a tool read it, with the numbers of its lines. Null for other results. */
export function fileOfResult(
  { name, input }: { readonly name: string; readonly input: unknown },
  text: string,
): { readonly numbers: string; readonly text: string; readonly language: string } | null {
  if (kindOfTool({ name, input }) !== "read") return null;
  const fields = fieldsOf(input);
  const path = [fields["file_path"], fields["path"], fields["filePath"]].find((one) => typeof one === "string");
  if (typeof path !== "string") return null;
  const language = languageOf(path);
  const lines = text.split("\n").map((line) => /^\s*(\d+)(?:→|\t)(.*)$/.exec(line));
  // Text after the file, such as a reminder, has no numbers.
  const numbered = lines.findIndex((line) => line === null);
  if (numbered === 0) return { numbers: "", text, language };
  const shown = numbered === -1 ? lines : lines.slice(0, numbered);
  return {
    numbers: shown.map((line) => line?.[1] ?? "").join("\n"),
    text: shown.map((line) => line?.[2] ?? "").join("\n"),
    language,
  };
}

function viewOfText(text: string): ToolView {
  const files = filesOfApplyPatch(text.includes("\\n") && !text.includes("\n***") ? unescaped(text) : text);
  if (files !== null && files.length > 0) return { kind: "edits", files };
  return { kind: "code", language: /\bawait tools\.|^\/\/ @exec/.test(text) ? "javascript" : "", text };
}

/** A patch in a string literal of a program. */
function unescaped(text: string): string {
  const literal = /"(?:[^"\\]|\\.)*\*\*\* Begin Patch(?:[^"\\]|\\.)*"/.exec(text)?.[0];
  if (literal === undefined) return text;
  try {
    const value: unknown = JSON.parse(literal);
    return typeof value === "string" ? value : text;
  } catch {
    return text; // a literal that is not JSON is shown unchanged
  }
}

function editsOf(fields: Fields): readonly FileEdit[] | null {
  const path = fields["file_path"];
  const { changes } = fields;
  if (typeof path === "string") {
    const { old_string: before, new_string: after, content, edits } = fields;
    if (typeof before === "string" && typeof after === "string") return [{ path, lines: diffOfTexts(before, after) }];
    if (typeof content === "string") return [{ path, lines: diffOfTexts("", content) }];
    if (Array.isArray(edits)) return [{ path, lines: edits.flatMap((edit: unknown) => linesOfEdit(fieldsOf(edit))) }];
  }
  if (typeof changes === "object" && changes !== null) {
    return Object.entries(changes).map(([changed, change]: [string, unknown]) => ({
      path: changed,
      lines: linesOfChange(fieldsOf(change)),
    }));
  }
  return null;
}

function linesOfEdit({ old_string: before, new_string: after }: Fields): readonly DiffLine[] {
  return typeof before === "string" && typeof after === "string" ? diffOfTexts(before, after) : [];
}

/** A change in Codex's format: an added file, a deleted file, or a unified diff. */
function linesOfChange(change: Fields): readonly DiffLine[] {
  const { unified_diff: unified, content, type } = change;
  if (typeof unified === "string") return diffOfPatch(unified);
  if (typeof content === "string") return type === "delete" ? diffOfTexts(content, "") : diffOfTexts("", content);
  const [nested] = Object.values(change).filter((value) => typeof value === "object" && value !== null);
  return nested === undefined ? [] : linesOfChange(fieldsOf(nested));
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function cut(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > maxSummaryLength ? `${line.slice(0, maxSummaryLength)}…` : line;
}
