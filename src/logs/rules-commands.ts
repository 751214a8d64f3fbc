import type { ToolResult } from "../wire/turn.ts";
import { type Assertion, type EntityRef, keyOf } from "./assertion.ts";
import type { Said } from "./rules-text.ts";

/** What was run and what came of it; null while it runs. */
export interface RanCommand {
  readonly command: string;
  readonly result: ToolResult | null;
}

/** A longer script is looked at so far. */
const maxCommandCharacters = 10_000;
const maxOutputCharacters = 4_000;
const maxSegments = 50;
const maxPackages = 50;

/** `NAME=value` in front of a command: an environment is not remembered. */
const assignment =
  /^(?:env[ \t]+)?(?:export[ \t]+)?[A-Za-z_]\w{0,100}=(?:"[^"\n]{0,4000}"|'[^'\n]{0,4000}'|[^\s;&|"']{0,4000})[ \t;]*/;
const onlyAssignment = /^(?:export|set|env|printenv)\b[^|;&]*$/;
/** At the very beginning, as Claude Code and Codex write it: behind that stands what the command printed. */
const exitCode =
  /^(?:(?:Error: )?Exit code:? (-?\d{1,3})\b|(?:Chunk ID: \S{1,100}\n)?(?:Wall time: [^\n]{0,100}\n)?Process exited with code (-?\d{1,3})\b)/;
const madeCommit = /^\[(?:detached HEAD|([^\s\]]{1,200}))(?: \(root-commit\))? ([0-9a-f]{7,40})\] /m;
const branchThen = /^(?:Switched to (?:a new )?branch|Already on) '([^'\n]{1,200})'/m;
const branchNow = /^On branch (\S{1,200})$/m;

/** What git prints about branches and commits, it prints of these. */
const gitOfBranches = /^git(?:[ \t]+-[cC][ \t]+\S{1,500}){0,3}[ \t]+(?:status|switch|checkout|commit)\b/;
/** What prints files, or what it is told: git's words among that are somebody else's. */
const printsFiles =
  /(?:^|\|)[ \t]*(?:sudo[ \t]+)?(?:(?:cat|bat|head|tail|less|more|sed|awk|grep|rg|nl|tac|cut|sort|jq|strings|diff|find|xargs|curl|wget|gh|type|python3?|node|perl|ruby)\b|git\b[^|]{0,500}?[ \t](?:show|diff|log|grep|blame|cat-file|reflog|notes)\b|(?:echo|printf)\b[^|]{0,2000}?(?:branch|Switched|Already|\[))/;
/** Quotations are one part each, and comments; else a script is cut where a command ends. */
const partsOfScript = /\\[^]|"(?:[^"\\]|\\[^])*"?|'[^']*'?|(?<![^\s;&|])#[^\n]*|\n|&&|;;|;|[^\\"'\n&;#]+|[&#]/g;
const endsSegment = new Set(["\n", "&&", ";"]);
/** Their argument is a file or an address. */
const takesArgument = new Set([
  ...["-r", "--requirement", "-c", "--constraint", "-e", "--editable", "-i", "--index-url", "--registry", "--path"],
  ...["--extra-index-url", "--git", "--branch", "--target", "-t", "--prefix", "-C"],
]);

/** Programs that install, the word behind them, and what they call a package. */
const installers: Readonly<Record<string, RegExp>> = {
  npm: /^(?:i|install|add)$/,
  pnpm: /^(?:i|install|add)$/,
  yarn: /^add$/,
  bun: /^(?:i|install|add)$/,
  pip: /^install$/,
  pip3: /^install$/,
  uv: /^add$/,
  cargo: /^(?:add|install)$/,
  go: /^get$/,
  gem: /^install$/,
  brew: /^install$/,
  apt: /^install$/,
  "apt-get": /^install$/,
};
const packageName = /^@?[A-Za-z0-9][\w./@+~^=<>[\]-]{0,200}$/;
/** Where a package's version begins; the first sign of a name may be an @. */
const version = /(?!^)(?:@|==|>=|<=|~=|>|<).*$/;

/** A command with how it ended, and what git and installers say that they did. */
export function assertionsOfCommand({ command, result }: RanCommand, { session, at }: Said): readonly Assertion[] {
  const segments = segmentsOf(command);
  const key = keyOf(segments.join(" && "));
  if (key === "") return [];
  const ran: EntityRef = { type: "Command", key };
  const found: Assertion[] = [{ subject: session, predicate: "ran", object: ran, at }];
  if (result === null) return found;
  found.push({ subject: ran, predicate: "last_exit", object: exitOf(result), at });
  if (isOfGit(segments)) found.push(...ofGit(result.text, session, at));
  if (!result.ok) return found;
  const packages = segments.flatMap(packagesOf).slice(0, maxPackages);
  return [...found, ...packages.map((object) => ({ subject: session, predicate: "installed", object, at }))];
}

/** The commands of a script, without the environment that they are given. */
function segmentsOf(command: string): readonly string[] {
  const written: string[] = [];
  let current = "";
  for (const [part] of command.slice(0, maxCommandCharacters).matchAll(partsOfScript)) {
    if (!endsSegment.has(part)) current += part;
    else if (written.push(current) < maxSegments) current = "";
    else break;
  }
  return [...written, current]
    .slice(0, maxSegments)
    .map((segment) => withoutAssignments(segment.trim()))
    .filter((segment) => segment !== "" && !segment.startsWith("#") && !onlyAssignment.test(segment));
}

function withoutAssignments(segment: string): string {
  let rest = segment;
  for (let round = 0; round < 20; round++) {
    const shorter = rest.replace(assignment, "");
    if (shorter === rest) break;
    rest = shorter;
  }
  return rest;
}

/** Whether what was printed is git's own: a file that was printed may say anything. */
function isOfGit(segments: readonly string[]): boolean {
  const isGit = segments.some((segment) => gitOfBranches.test(segment));
  return isGit && !segments.some((segment) => printsFiles.test(segment));
}

/** Agents write the code in front of the output of a command that failed; one that went well may have printed another's. */
function exitOf({ ok, text }: ToolResult): string {
  if (ok) return "0";
  const [, first, second] = exitCode.exec(text.slice(0, maxOutputCharacters)) ?? [];
  return first ?? second ?? "failed";
}

function ofGit(output: string, session: EntityRef, at: number): readonly Assertion[] {
  const head = output.slice(0, maxOutputCharacters);
  const [, committedOn, commit] = madeCommit.exec(head) ?? [];
  const branch = committedOn ?? branchThen.exec(head)?.[1] ?? branchNow.exec(head)?.[1];
  const found: Assertion[] = [];
  if (commit !== undefined) {
    found.push({ subject: session, predicate: "committed", object: { type: "Commit", key: commit }, at });
  }
  if (branch !== undefined) {
    found.push({ subject: session, predicate: "current_branch", object: { type: "Branch", key: keyOf(branch) }, at });
  }
  return found;
}

function packagesOf(segment: string): readonly EntityRef[] {
  const words = segment.replace(/^sudo\s+/, "").split(/\s+/, maxPackages + 5);
  const [program = "", verb = "", ...rest] = words;
  if (installers[program]?.test(verb) !== true) return [];
  const stop = rest.findIndex((word) => /^[|>&]|^2>/.test(word));
  return rest
    .slice(0, stop < 0 ? rest.length : stop)
    .filter((_word, at, all) => !takesArgument.has(all[at - 1] ?? ""))
    .filter((word) => packageName.test(word) && !word.startsWith("./") && !word.startsWith("../"))
    .map((word) => ({ type: "Package", key: word.replace(version, "") }));
}
