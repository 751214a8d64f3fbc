import type { Command } from "commander";
import { type DiffAgainst, diffAgainstSchema, sessionDiffSchema } from "../wire/changes.ts";
import { connect } from "./context.ts";
import { type CommonOptions, describe, oneOf } from "./options.ts";
import { count, plainLine, plainText, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";

interface DiffCommandOptions extends CommonOptions {
  readonly against?: DiffAgainst;
  readonly path?: string;
}

/** `postern coding diff`: the changes of a session. */
export function addDiffCommand(group: Command, context: CliContext): void {
  describe(group.command("diff"), ["postern coding diff 0b0c…", "postern coding diff last --against turn"])
    .description("print a session's changes as patches, including uncommitted and untracked files")
    .argument("<sessionId>", sessionIdHelp)
    .option(
      "--against <what>",
      "base (default), head (only uncommitted changes), seen (since you last looked on the web page) or turn (since the agent's last turn began)",
      oneOf(diffAgainstSchema.unwrap()),
    )
    .option("--path <file>", "only this file, relative to the root of the worktree or repository")
    .action(async (sessionId: string, { against, path, json }: DiffCommandOptions) => {
      const query = { sessionId, ...(against !== undefined && { against }), ...(path !== undefined && { path }) };
      const diff = await (await connect(context)).sessionDiff(query, { output: sessionDiffSchema });
      if (json) return context.stdout(`${printableJson(diff)}\n`);
      const { files, truncated, base } = diff;
      for (const file of files) {
        const text = file.patch ?? `${file.status}: ${plainLine(file.path)} (no patch)\n`;
        context.stdout(`${plainText(text).trimEnd()}\n`);
      }
      const left = truncated ? " Not all of them are printed." : "";
      return context.stderr(`${count(files.length, "file")} changed since ${plainLine(base.name)}.${left}\n`);
    });
}
