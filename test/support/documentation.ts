import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** A document of this repository, with the commands in it. */
export interface Document {
  /** From the repository's root. */
  readonly path: string;
  readonly text: string;
  readonly commands: readonly DocumentedCommand[];
  /** Code in its prose that begins with `postern`. */
  readonly mentioned: readonly string[];
}

/** One command as written in the document, with all its lines. */
export interface DocumentedCommand {
  /** Document and line, for people. */
  readonly place: string;
  readonly text: string;
  /** The output that the document shows; null if it shows none. */
  readonly shown: string | null;
}

/** A block between fences. */
export interface CodeBlock {
  readonly language: string;
  /** The number of its first line of code, from 1. */
  readonly line: number;
  readonly code: string;
}

/** README and all of `docs/` but the decisions, README first. */
export function documents(): readonly Document[] {
  const paths = ["README.md", ...globSync("docs/**/*.md", { cwd: root, exclude: ["docs/decisions/**"] }).toSorted()];
  return paths.map((path) => {
    const text = readFileSync(resolve(root, path), "utf8");
    return { path, text, commands: commandsOf(path, text), mentioned: mentionedIn(text) };
  });
}

/** Blocks in a list are moved to the margin. */
export function codeBlocks(text: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { indent: string; language: string; line: number; code: string[] } | null = null;
  for (const [index, each] of text.split("\n").entries()) {
    const [, indent = "", language = ""] = /^( *)```(\S*)/.exec(each) ?? [];
    const isFence = each.trimStart().startsWith("```");
    if (open === null) {
      if (isFence) open = { indent, language, line: index + 2, code: [] };
    } else if (isFence) {
      blocks.push({ language: open.language, line: open.line, code: open.code.join("\n") });
      open = null;
    } else open.code.push(each.startsWith(open.indent) ? each.slice(open.indent.length) : each);
  }
  return blocks;
}

/** `sh` blocks are commands; `console` blocks are commands behind `$ `, each with its output. */
function commandsOf(path: string, text: string): readonly DocumentedCommand[] {
  return codeBlocks(text).flatMap(({ language, line, code }): readonly DocumentedCommand[] => {
    const place = (offset: number): string => `${path}:${line + offset}`;
    if (language === "sh")
      return statements(code).map(({ at, statement }) => ({ place: place(at), text: statement, shown: null }));
    if (language !== "console") return [];
    return code
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [command = "", ...output] = part.trimEnd().split("\n");
        return { place: place(0), text: command, shown: output.join("\n") };
      });
  });
}

/** The lines that a shell would read as one command; comments and empty lines belong to the command after them. */
function statements(code: string): readonly { readonly at: number; readonly statement: string }[] {
  const found: { at: number; statement: string }[] = [];
  let begun: string[] = [];
  for (const [index, line] of code.split("\n").entries()) {
    if (begun.length === 0 && /^\s*(#|$)/.test(line)) continue;
    begun.push(line);
    const statement = begun.join("\n");
    if (line.endsWith("\\") || !isWhole(statement)) continue;
    found.push({ at: index + 1 - begun.length, statement });
    begun = [];
  }
  if (begun.length > 0) throw new Error(`A shell does not understand: ${begun.join("\n")}`);
  return found;
}

/** Whether a shell would wait for no further line: no quote, bracket or brace is open. */
function isWhole(statement: string): boolean {
  const open: string[] = [];
  for (let at = 0; at < statement.length; at += 1) {
    const [sign = "", inside] = [statement[at], open.at(-1)];
    const isFirst = /(^|\s)$/.test(statement.slice(0, at));
    if (inside === "'") {
      if (sign === "'") open.pop();
    } else if (sign === "\\") at += 1;
    else if (sign === inside) open.pop();
    else if (inside === '"') {
      if (statement.startsWith("$(", at)) {
        open.push(")");
        at += 1;
      }
    } else if (sign === "'" || sign === '"') open.push(sign);
    else if (sign === "(") open.push(")");
    else if (sign === "{" && isFirst) open.push("}");
    else if (sign === "#" && isFirst) at = `${statement}\n`.indexOf("\n", at);
  }
  return open.length === 0;
}

/** `<id>` and `…` are not shell syntax, so a word replaces them. */
export function withWords(command: string): string {
  return command.replaceAll(/<(\w[\w -]*)>/g, (_all, name: string) => name.replaceAll(" ", "-")).replaceAll("…", "x");
}

function mentionedIn(text: string): readonly string[] {
  const prose = text.replaceAll(/^ *```.*?^ *```/gms, "");
  return [...prose.matchAll(/`((?:[A-Z_]+=\S+ )?postern [^`]+)`/g)].map(([, command = ""]) =>
    command.replaceAll(/\s+/g, " "),
  );
}
