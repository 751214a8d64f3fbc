import type { Rule } from "./evaluate.ts";

const verbs = { allow: "Allow", deny: "Deny" } as const;

/** Describes a rule in a sentence, for the person who decides whether to store it. */
export function ruleWords(rule: Omit<Rule, "ruleId">): string {
  const who = rule.agent === null ? "" : ` by ${rule.agent}`;
  const where = rule.sessionId === null ? `in ${rule.dir} and its worktrees` : "in this session";
  const until = rule.expiresAt === null ? "" : `, until ${timeWords(rule.expiresAt)}`;
  const undriven = rule.undriven ? ", including after prompts from callers that cannot answer permission requests" : "";
  return `${verbs[rule.effect]} ${subjectOf(rule)}${who} ${where}${until}${undriven}.`;
}

function subjectOf({ tool, pattern }: Omit<Rule, "ruleId">): string {
  if (tool === "command") return pattern === "*" ? "every shell command" : `commands that start with \`${pattern}\``;
  const files = pattern.includes("*") ? `files matching \`${pattern}\`` : `the file \`${pattern}\``;
  return `${tool === "edit" ? "creating and changing" : "reading"} ${files}`;
}

function timeWords(epochMs: number): string {
  return new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
  }).format(epochMs);
}
