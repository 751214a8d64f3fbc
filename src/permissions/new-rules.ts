import { PosternError } from "../core/errors.ts";
import type { RememberPermission, RuleEffect } from "../wire/permission-rules.ts";
import { parseCommandLine } from "./command-line.ts";
import { commandBreadth, proposedLength } from "./command-risks.ts";
import { patternWords, type Rule, type RuleRequest, withoutOwnDir } from "./evaluate.ts";
import { isGuarded, pathBreadth, pathPatternProblem } from "./path-pattern.ts";

/** A rule before it is stored. */
export type NewRule = Omit<Rule, "ruleId">;

/** Patterns that cover a request, one for each part; or the reason why none can. */
export type Proposal =
  | { readonly patterns: readonly string[]; readonly refusal: null }
  | { readonly patterns: readonly []; readonly refusal: string };

/** Proposes patterns for a request: for a command, its program and subcommand, or all its words; for a file, its path. */
export function propose({ action, dir, counted }: RuleRequest): Proposal {
  if (action.tool !== "command") return proposeFiles(action.paths, counted);
  const { commands, refusal } = parseCommandLine(withoutOwnDir(action.line, dir));
  if (commands === null) return { patterns: [], refusal: `This command cannot be remembered: ${refusal}.` };
  const patterns = commands.map((command) => command.slice(0, proposedLength(command)).map(quoted).join(" "));
  return { patterns: [...new Set(patterns)], refusal: null };
}

function proposeFiles(paths: readonly string[], folder: string): Proposal {
  const below = paths.map((path) => (path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : null));
  const patterns = below.filter((path) => path !== null);
  if (patterns.length < paths.length) {
    return { patterns: [], refusal: "This request cannot be remembered: the file is outside the session's folder." };
  }
  const problem = patterns.map(pathPatternProblem).find((one) => one !== null);
  return problem === undefined
    ? { patterns: [...new Set(patterns)], refusal: null }
    : { patterns: [], refusal: `This cannot be remembered: ${problem}` };
}

function quoted(word: string): string {
  return /^[\w@%+:,./-]+$/.test(word) || (word.includes("=") && /^[\w@%+:,./-][\w@%+:,./=-]*$/.test(word))
    ? word
    : `'${word}'`;
}

/** The rules that an answer adds. */
export function rulesToRemember(
  request: RuleRequest,
  {
    effect,
    remember,
    now,
  }: { readonly effect: RuleEffect; readonly remember: RememberPermission; readonly now: number },
): { readonly rules: readonly NewRule[]; readonly refusal: string | null } {
  const proposal = propose(request);
  const patterns = remember.patterns ?? proposal.patterns;
  const forSession = remember.for === "session";
  const [sessionId = null] = request.sessionIds;
  const rules = patterns.map((pattern) => ({
    effect,
    agent: null,
    sessionId: forSession ? sessionId : null,
    dir: request.counted,
    tool: request.action.tool,
    pattern,
    undriven: effect === "allow" && (remember.undriven ?? (forSession && request.undriven)),
    expiresAt: expiryOf(remember.until, now),
  }));
  return { rules: proposal.refusal === null ? rules : [], refusal: proposal.refusal };
}

/** @throws PosternError `invalid_request` */
export function expiryOf(until: string | undefined, now: number): number | null {
  if (until === undefined) return null;
  const at = Date.parse(until);
  if (at > now) return at;
  throw new PosternError("invalid_request", `The end of a rule must be in the future, not ${until}.`);
}

/** Why a pattern must be confirmed by repeating it; null if it need not be. Denying too much is safe. */
export function breadthOf({ effect, tool, pattern }: Pick<NewRule, "effect" | "tool" | "pattern">): string | null {
  if (effect === "deny") return null;
  return tool === "command" ? commandBreadth(patternWords(pattern) ?? []) : pathBreadth(pattern);
}

/** @throws PosternError `invalid_request` | `rule_too_broad` */
export function checkRule(rule: NewRule, confirmed: readonly string[]): void {
  const { tool, pattern } = rule;
  const problem =
    tool === "command"
      ? patternWords(pattern) === null
        ? "A command pattern must be a single plain command, such as `git status`, without other commands, variables or redirections."
        : null
      : pathPatternProblem(pattern);
  if (problem !== null) throw new PosternError("invalid_request", `The pattern ${pattern} is invalid. ${problem}`);
  if (tool !== "command" && isGuarded(rule.dir.split("/"))) {
    throw new PosternError("invalid_request", `No rule covers files in ${rule.dir}.`);
  }
  const breadth = breadthOf(rule);
  if (breadth === null || confirmed.includes(pattern)) return;
  throw new PosternError(
    "rule_too_broad",
    `The pattern ${pattern} is very broad. ${breadth} Choose a narrower one, or repeat it in "confirm".`,
    { details: { pattern } },
  );
}
