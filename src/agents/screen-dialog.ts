import { sha256 } from "../core/ids.ts";

/** A dialog of the agent, read from its screen. */
export interface ScreenDialog {
  readonly title: string;
  /** The dialog's text on the screen. Untrusted. */
  readonly text: string;
  /** In the order on the screen. */
  readonly choices: readonly DialogChoice[];
  /** Index of the choice that Enter selects. */
  readonly selected: number;
}

interface DialogChoice {
  /** The choice's text as shown on the screen. */
  readonly label: string;
  /** For permission dialogs: what this choice decides. */
  readonly decides?: "allow" | "deny";
}

interface KnownDialog {
  readonly title: string;
  /** Matches a line above the choices. */
  readonly sign: RegExp;
  /** For permission dialogs: patterns for the label that allows once and the label that denies. */
  readonly decides?: { readonly allow: RegExp; readonly deny: RegExp };
}

/** How an agent paints its dialogs. */
export interface DialogForm {
  /** Characters in front of the selected choice. */
  readonly cursors: string;
  /** The line above a dialog. Without it, the dialog starts at its sign. */
  readonly top?: RegExp;
  readonly known: readonly KnownDialog[];
}

/** The known dialog on a screen; null if there is none, or if no choice is selected. */
export function readDialog(screen: readonly string[], form: DialogForm): ScreenDialog | null {
  const lines = screen.map(withoutBox);
  const menu = readMenu(lines, form.cursors);
  if (menu === null) return null;
  const { top } = form;
  const above = lines.slice(0, menu.rows[0]);
  for (const known of form.known) {
    const sign = above.findLastIndex((line) => known.sign.test(line));
    if (sign === -1) continue;
    const begin = top === undefined ? sign : above.findLastIndex((line) => top.test(line)) + 1;
    // A sign above the dialog's top line belongs to a dialog that was answered earlier.
    if (sign < begin) continue;
    const text = lines
      .slice(begin)
      .map((line, row) => (begin + row === menu.rows[menu.selected] ? unselected(line, form.cursors) : line).trimEnd());
    const choices = menu.labels.map((label) => choiceOf(label, known));
    return { title: known.title, text: text.join("\n").trim(), choices, selected: menu.selected };
  }
  return null;
}

function choiceOf(label: string, { decides }: KnownDialog): DialogChoice {
  if (decides?.allow.test(label)) return { label, decides: "allow" };
  return decides?.deny.test(label) ? { label, decides: "deny" } : { label };
}

interface Menu {
  readonly rows: readonly number[];
  readonly labels: readonly string[];
  readonly selected: number;
}

function withoutBox(line: string): string {
  return line.replace(/^(\s*)│/, "$1 ").replace(/│\s*$/, "");
}

function unselected(line: string, cursors: string): string {
  const at = line.search(/\S/);
  return cursors.includes(line[at] ?? "-") ? `${line.slice(0, at)} ${line.slice(at + 1)}` : line;
}

/** The choices around the last line with a cursor. */
function readMenu(lines: readonly string[], cursors: string): Menu | null {
  const isSelected = (line: string): boolean => {
    const at = line.search(/\S/);
    return at !== -1 && cursors.includes(line[at] ?? "") && /^\s+\S/.test(line.slice(at + 1));
  };
  const cursorRow = lines.findLastIndex(isSelected);
  if (cursorRow === -1) return null;
  const plain = lines.map((line, row) => (row === cursorRow ? unselected(line, cursors) : line));
  const rows = numberOf(plain[cursorRow]) === null ? blockAround(plain, cursorRow) : numberedAround(plain, cursorRow);
  if (rows.length < 2) return null;
  const labels = rows.map((row) => (plain[row] ?? "").trim().replace(/^\d+\.\s+/, ""));
  return { rows, labels, selected: rows.indexOf(cursorRow) };
}

function numberOf(line: string | undefined): number | null {
  const number = /^\s*(\d{1,2})\.\s+\S/.exec(line ?? "")?.[1];
  return number === undefined ? null : Number(number);
}

const indentOf = (line: string | undefined): number => (line ?? "").search(/\S/);

/** The lines around `row` that have the same indent. */
function blockAround(lines: readonly string[], row: number): readonly number[] {
  const indent = indentOf(lines[row]);
  let first = row;
  while (first > 0 && indentOf(lines[first - 1]) === indent) first -= 1;
  const rows = [first];
  while (indentOf(lines[(rows.at(-1) ?? row) + 1]) === indent) rows.push((rows.at(-1) ?? row) + 1);
  return rows;
}

// A choice can be wrapped, explained, and followed by a blank line.
const farthestRows = 5;

/** The lines around `row` that are numbered from 1, with the numbers in one column. */
function numberedAround(lines: readonly string[], row: number): readonly number[] {
  const indent = indentOf(lines[row]);
  const find = (from: number, step: 1 | -1, number: number): number | null => {
    for (let distance = 1; distance <= farthestRows; distance += 1) {
      const at = from + distance * step;
      if (numberOf(lines[at]) === number && indentOf(lines[at]) === indent) return at;
    }
    return null;
  };
  const number = numberOf(lines[row]) ?? 1;
  const rows = [row];
  for (let wanted = number - 1; wanted > 0; wanted -= 1) {
    const at = find(rows[0] ?? row, -1, wanted);
    if (at === null) return [];
    rows.unshift(at);
  }
  for (let wanted = number + 1; ; wanted += 1) {
    const at = find(rows.at(-1) ?? row, 1, wanted);
    if (at === null) return rows;
    rows.push(at);
  }
}

/** An id that is the same for dialogs with the same text, regardless of the rest of the screen and the selected choice. */
export function dialogIdOf({ title, text, choices }: ScreenDialog): string {
  return sha256(JSON.stringify([title, text, choices.map(({ label }) => label)])).slice(0, 32);
}

// Characters of a command that fit on one line of a dialog.
const wholeCharacters = 40;

/** Whether a permission dialog is about this call: it shows its command, or the file that it writes. */
export function isAbout({ text, choices }: ScreenDialog, input: unknown): boolean {
  if (!choices.some(({ decides }) => decides !== undefined)) return false;
  const lines = text.split("\n").map(squeezed);
  const all = lines.join("");
  return callsOf(input).some(({ command, file }) => {
    if (file !== undefined)
      return lines.some((line) => new RegExp(`(?:^|[^\\w.-])${escaped(file)}(?:$|[^\\w.-])`).test(line));
    const wanted = squeezed(command);
    if (wanted === "") return false;
    if (command.length > wholeCharacters) return all.includes(squeezed(command.slice(0, wholeCharacters)));
    return lines.some((line) => line === wanted || line === `$${wanted}`);
  });
}

type Call = { readonly command: string; readonly file?: never } | { readonly file: string; readonly command?: never };

/** A command is identified by its first line, a file by its name, because dialogs shorten paths. */
function callsOf(input: unknown): readonly Call[] {
  if (typeof input !== "object" || input === null) return [];
  return Object.entries(input).flatMap(([key, value]): readonly Call[] => {
    if (typeof value !== "string") return [];
    if (key === "file_path" || key === "path" || key === "notebook_path") return [{ file: nameOf(value) }];
    if (key !== "command" && key !== "cmd" && key !== "input") return [];
    const patched = [...value.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm)];
    if (patched.length > 0) return patched.map(([, path = ""]) => ({ file: nameOf(path) }));
    return [{ command: value.trim().split("\n")[0] ?? "" }];
  });
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1).trim();
}

function escaped(text: string): string {
  return squeezed(text).replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

function squeezed(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

/** The text in these rows of a composer, without its prompt sign and indent. */
export function typedText(rows: readonly string[], sign: RegExp): string {
  const text = rows.map((row, index) => (index === 0 ? row.replace(sign, " ") : row).replace(/^ {1,2}/, "").trimEnd());
  return text.join("\n").trim();
}

/** A composer shows only part of a long text. Each clearing removes the visible part and this many more rows. */
export const moreRows = 5;

/** Clears with Ctrl+U and Ctrl+K, each of which clears one side of the cursor's line, then the line break on that side. */
export function clearRows(text: string): string {
  const keys = 2 * (text.split("\n").length + moreRows);
  return "\x15".repeat(keys) + "\x0b".repeat(keys);
}
