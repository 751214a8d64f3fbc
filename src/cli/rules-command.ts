import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import {
  addPermissionRuleInputSchema,
  type PermissionRule,
  permissionRuleSchema,
  permissionRulesSchema,
  type RuleTool,
} from "../wire/permission-rules.ts";
import { connect } from "./context.ts";
import { absolutePath, type CommonOptions, describe, oneOf } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface AddOptions extends CommonOptions {
  readonly tool: RuleTool;
  readonly deny?: true;
  readonly folder?: string;
  readonly session?: string;
  readonly agent?: string;
  readonly until?: string;
  readonly undriven?: true;
  readonly confirm?: string;
}

/** `postern rules …`: standing rules, which answer permission requests. */
export function addRulesCommands(program: Command, context: CliContext): void {
  const group = program.command("rules").description("manage standing rules, which answer permission requests");

  describe(group.command("list"), ["postern rules list", "postern rules list --json"])
    .description("list standing rules")
    .action(async ({ json }: CommonOptions) => {
      const { rules } = await (await connect(context)).listPermissionRules({}, { output: permissionRulesSchema });
      if (json) return context.stdout(`${printableJson({ rules })}\n`);
      if (rules.length === 0) return context.stderr("No standing rules. To add one: postern rules add\n");
      const rows = rules.map((rule) => [
        rule.ruleId,
        stateOf(rule),
        String(rule.uses),
        rule.createdBy.name,
        rule.words,
      ]);
      return context.stdout(`${table(["ID", "STATE", "USES", "BY", "RULE"], rows)}\n`);
    });

  describe(group.command("add"), [
    'postern rules add "git status"',
    'postern rules add "npm test" --folder ~/code/app --until 18:00',
    'postern rules add "src/**" --tool edit --session last',
    'postern rules add "git push" --deny',
  ])
    .description("add a standing rule for a folder or a session")
    .argument("<pattern>", "the first words of the commands, or a path below the folder with * and **")
    .option("--tool <tool>", "command, edit or read", oneOf(addPermissionRuleInputSchema.shape.tool), "command")
    .option("--deny", "deny matching requests; deny rules take precedence")
    .option("--folder <dir>", "sessions in this folder (default: the current one)")
    .option("--session <session>", "only this session")
    .option("--agent <name>", "only requests of this agent")
    .option("--until <time>", "18:00 or 2026-12-31T18:00:00Z (default: never ends)")
    .option("--undriven", "also answer in sessions that received prompts from callers without coding:drive")
    .option("--confirm <pattern>", "repeat the pattern here if it was refused as too broad")
    .action(async (pattern: string, options: AddOptions) => {
      const { tool, deny, folder, session, agent, until, undriven, confirm } = options;
      if (folder !== undefined && session !== undefined) {
        throw new PosternError("usage", "Use either --folder or --session.");
      }
      const body = {
        effect: deny ? ("deny" as const) : ("allow" as const),
        tool,
        pattern,
        ...(session === undefined ? { folder: absolutePath(folder ?? ".", context.cwd) } : { sessionId: session }),
        ...(agent !== undefined && { agent }),
        ...(until !== undefined && { expiresAt: endOf(until, context.clock.now()) }),
        ...(undriven && { undriven }),
        ...(confirm !== undefined && { confirm }),
      };
      const rule = await (await connect(context)).addPermissionRule(body, { output: permissionRuleSchema });
      context.stdout(options.json ? `${printableJson(rule)}\n` : `${plainLine(`${rule.ruleId} ${rule.words}`)}\n`);
    });

  describe(group.command("remove"), ["postern rules remove 3f0c…"])
    .description("remove a standing rule; it no longer answers requests")
    .argument("<ruleId>", "the ID that `postern rules list` shows")
    .action(async (ruleId: string, { json }: CommonOptions) => {
      await (await connect(context)).removePermissionRule({ ruleId });
      context.stdout(json ? `${printableJson({ removed: ruleId })}\n` : `Removed ${plainLine(ruleId)}.\n`);
    });
}

function stateOf({ active, expiresAt }: PermissionRule): string {
  if (!active) return "inactive";
  return expiresAt === null ? "active" : `until ${expiresAt}`;
}

/** The next 18:00 in local time, for example, or an ISO time. @throws PosternError `usage` */
export function endOf(until: string, now: number): string {
  const [, hours, minutes] = /^(\d{1,2}):(\d{2})$/.exec(until) ?? [];
  if (hours === undefined || minutes === undefined) {
    const at = Date.parse(until);
    if (/^\d{4}-\d{2}-\d{2}/.test(until) && !Number.isNaN(at)) return new Date(at).toISOString();
    throw new PosternError("usage", `--until needs a time such as 18:00 or 2026-12-31T18:00:00Z, not ${until}.`);
  }
  if (Number(hours) > 23 || Number(minutes) > 59) throw new PosternError("usage", `${until} is not a time of day.`);
  const end = new Date(now);
  end.setHours(Number(hours), Number(minutes), 0, 0);
  if (end.getTime() <= now) end.setDate(end.getDate() + 1);
  return end.toISOString();
}
