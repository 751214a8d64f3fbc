import { countOfDiff, type DiffLine, diffOfPatch, diffOfTexts, filesOfApplyPatch } from "./line-diff.ts";
import { questionsOf } from "./question-form.tsx";

export interface FileEdit {
  readonly path: string;
  readonly lines: readonly DiffLine[];
}

/** How a tool call's input is shown, instead of its JSON. */
export type ToolView =
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "edits"; readonly files: readonly FileEdit[] }
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
  const todos = fields["todos"] ?? fields["plan"];
  if (Array.isArray(todos)) return `${todos.length} steps`;
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
  const files = editsOf(fields);
  if (files !== null) return { kind: "edits", files };
  const patch = fields["patch"] ?? fields["input"];
  if (typeof patch === "string" && patch.includes("*** Begin Patch")) return viewOfText(patch);
  return { kind: "json", text: JSON.stringify(input, null, 2) ?? "" };
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
