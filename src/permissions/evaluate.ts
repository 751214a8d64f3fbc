import { join, relative, resolve } from "node:path";
import type { RuledRequest, RuleEffect, RuleTool, RuleVerdict } from "../wire/permission-rules.ts";
import { parseCommandLine, type SimpleCommand } from "./command-line.ts";
import { isRiskyWord, programName } from "./command-risks.ts";
import { isGuarded, matchesPath, matchesPattern } from "./path-pattern.ts";

/** The parts of a rule that the evaluator needs. */
export interface Rule {
  readonly ruleId: string;
  readonly effect: RuleEffect;
  readonly agent: string | null;
  readonly sessionId: string | null;
  /** Real path. */
  readonly dir: string;
  readonly tool: RuleTool;
  readonly pattern: string;
  readonly undriven: boolean;
  /** Epoch milliseconds. */
  readonly expiresAt: number | null;
}

/** A permission request, and whether its session received a prompt from a caller without `coding:drive`. */
export interface RuleRequest extends RuledRequest {
  readonly undriven: boolean;
}

/** The answer of the rules to a request; null if they have none. Pure. Deny rules take precedence. */
export function evaluate(
  rules: readonly Rule[],
  request: RuleRequest,
  now: number,
): Omit<RuleVerdict, "message"> | null {
  const parts = partsOf(request);
  if (parts === null || parts.length === 0) return null;
  const applying = rules.filter((rule) => applies(rule, request, now));
  const denying = applying.find((rule) => rule.effect === "deny" && parts.some((part) => denies(rule, part)));
  if (denying !== undefined) return { effect: "deny", ruleIds: [denying.ruleId] };
  if (parts.some((part) => mayBeDenied(rules, part, { request, now }))) return null;
  const used = new Set<string>();
  for (const part of parts) {
    const covering = applying.find((rule) => rule.effect === "allow" && covers(rule, part, request));
    if (covering === undefined) return null;
    used.add(covering.ruleId);
  }
  return { effect: "allow", ruleIds: [...used].toSorted() };
}

type Part = { readonly command: SimpleCommand } | { readonly path: string };

/** The parts of a request, each of which must match a rule; null if they are uncertain. */
function partsOf({ action, dir }: RuleRequest): readonly Part[] | null {
  if (action.tool !== "command") return action.paths.map((path) => ({ path }));
  const { commands } = parseCommandLine(withoutOwnDir(action.line, dir));
  return commands?.map((command) => ({ command })) ?? null;
}

/** Agents often first change to the folder in which they already are. */
export function withoutOwnDir(line: string, dir: string): string {
  const start = `cd ${dir} && `;
  return /^[\w@%+:,./-]+$/.test(dir) && line.startsWith(start) ? line.slice(start.length) : line;
}

function applies(rule: Rule, request: RuleRequest, now: number): boolean {
  return rule.tool === request.action.tool && appliesToAny(rule, request, now);
}

function appliesToAny(rule: Rule, request: RuleRequest, now: number): boolean {
  if (rule.agent !== null && rule.agent !== request.agent) return false;
  if (rule.expiresAt !== null && rule.expiresAt <= now) return false;
  if (rule.sessionId !== null && !request.sessionIds.includes(rule.sessionId)) return false;
  if (rule.effect === "allow" && request.undriven && !rule.undriven) return false;
  // A denied file is denied wherever the session is.
  return isWithin(rule.dir, request.counted) || (rule.effect === "deny" && rule.tool !== "command");
}

/** A denial needs less certainty than an allowance, so the program's folder and letter case do not matter. */
function denies(rule: Rule, part: Part): boolean {
  if ("path" in part) {
    const below = partsBelow(rule.dir, part.path);
    return below !== null && matchesPattern(folded(rule.pattern), below.map(folded));
  }
  const words = patternWords(rule.pattern);
  if (words === null) return false;
  return words.every((word, index) => {
    const given = part.command[index];
    if (given === undefined) return false;
    return index === 0 ? programName(word) === programName(given) : word.toLowerCase() === given.toLowerCase();
  });
}

/** Some file systems ignore letter case and forms of accents. */
function folded(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/**
 * Whether a command contains the words of a denial somewhere, as in `git --no-pager push` or `sh -c 'git push'`, or mentions a denied file.
 * This is not certain enough for a denial or an allowance, so a person decides.
 */
function mayBeDenied(
  rules: readonly Rule[],
  part: Part,
  { request, now }: { readonly request: RuleRequest; readonly now: number },
): boolean {
  if ("path" in part) return false;
  const denials = rules.filter((rule) => rule.effect === "deny" && appliesToAny(rule, request, now));
  const said = wordsIn(part.command);
  return denials.some((rule) => {
    if (rule.tool !== "command") return namesDenied(rule, part.command, request);
    const [program, ...others] = wordsIn(patternWords(rule.pattern) ?? []);
    if (program === undefined) return false;
    const at = said.findIndex((word) => programName(word) === programName(program));
    return at !== -1 && isInOrder(others, said.slice(at + 1));
  });
}

/** The words of a command, including those in its quoted arguments. */
function wordsIn(command: readonly string[]): readonly string[] {
  const words = command.flatMap((word) => word.toLowerCase().split(/[^\p{L}\p{N}_.@%+:/=-]+/u));
  return words.filter((word) => word !== "");
}

function isInOrder(wanted: readonly string[], words: readonly string[]): boolean {
  let at = 0;
  for (const word of words) if (word === wanted[at]) at += 1;
  return at === wanted.length;
}

/** Whether a command mentions a file that this rule denies, or a folder of such files. */
function namesDenied(rule: Rule, command: SimpleCommand, { dir, counted }: RuleRequest): boolean {
  const paths = command.slice(1).flatMap((word) => word.split(/[=:,@]/).filter((piece) => piece !== ""));
  return paths.some((piece) => {
    const full = resolve(dir, piece);
    const path = isWithin(dir, full) ? join(counted, relative(dir, full)) : full;
    const below = partsBelow(rule.dir, path)?.map(folded);
    if (below === undefined) return false;
    return matchesPattern(folded(rule.pattern), below) || matchesPattern(folded(rule.pattern), [...below, "x"]);
  });
}

function covers(rule: Rule, part: Part, { dir, counted }: RuleRequest): boolean {
  if ("path" in part) {
    const below = partsBelow(rule.dir, part.path);
    return below !== null && matchesPath(rule.pattern, below);
  }
  const words = patternWords(rule.pattern);
  if (words === null) return false;
  const { command } = part;
  if (!words.every((word, index) => word === command[index])) return false;
  // In another folder, `./build` and `scripts/x` are different files.
  if (words.some((word) => word.includes("/") && !word.startsWith("/")) && counted !== rule.dir) return false;
  const [program] = command;
  const further = command.slice(Math.max(words.length, 1));
  // The program's own options come before its subcommand, and change its meaning.
  if (words.length === 1 && rule.pattern !== "*" && further[0]?.startsWith("-") && isSubcommandProgram(program))
    return false;
  const root = allowedRoot(rule.dir, { dir, counted });
  return further.every((word) => !isRiskyWord(program, word) && staysInside(word, root));
}

/** The folder in which arguments must stay: the rule's folder or, for a session in a worktree, the worktree. */
function allowedRoot(ruleDir: string, { dir, counted }: { readonly dir: string; readonly counted: string }): string {
  return dir === counted ? ruleDir : dir;
}

function isSubcommandProgram(program: string): boolean {
  return programName(program) === "git";
}

/** The words of a command pattern, none for `*`; null if it is not one plain command. */
export function patternWords(pattern: string): readonly string[] | null {
  if (pattern === "*") return [];
  const { commands } = parseCommandLine(pattern);
  const [only, ...others] = commands ?? [];
  return only === undefined || others.length > 0 || /[;>]/.test(pattern) ? null : only;
}

const remote = /^https?:\/\/[\w.:-]+(\/|$)/;

/** Whether a word cannot refer to a file outside this folder, or to one that no rule covers, wherever a path begins in it. */
function staysInside(word: string, root: string): boolean {
  const names = word.split(/[/=:,]/);
  // `..` can also be at the end of `-I..` and `@..`, and can lead out of a folder called `https:`.
  if (names.some((name) => name.endsWith("..")) || isGuarded(names)) return false;
  if (remote.test(word)) return true;
  for (const { index } of word.matchAll(/\//g)) {
    const before = word.slice(0, index);
    // The slash is inside a relative path, unless the word is an option with a path attached (`-I/x`), or `@/x`.
    if (/[\w.@%+]$/.test(before) && !/^-\w+$/.test(before) && !/(?:^|[=:,])@$/.test(before)) continue;
    const path = word.slice(index);
    if (path !== "/dev/null" && !isWithin(root, withoutEnd(path))) return false;
  }
  return true;
}

/** A loop, because a regular expression would take quadratic time on many slashes. */
function withoutEnd(path: string): string {
  let end = path.length;
  while (path[end - 1] === "/") end -= 1;
  return path.slice(0, end);
}

function partsBelow(dir: string, path: string): readonly string[] | null {
  if (!isWithin(dir, path) || path === dir) return null;
  return path.slice(dir === "/" ? 1 : dir.length + 1).split("/");
}

/** Whether `dir` is `folder` or is in it, by component. */
export function isWithin(folder: string, dir: string): boolean {
  return dir === folder || dir.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

/** Whether a word of a line is a path below this folder, in any spelling without links; false for a line that no rule can match. */
export function commandsNaming(line: string, folder: string): boolean {
  const wanted = folder.toLowerCase();
  const words = parseCommandLine(line).commands?.flat() ?? [];
  return words.some((word) =>
    word
      .toLowerCase()
      .replace(/\/(?:\.?\/)+/g, "/")
      .includes(wanted),
  );
}
