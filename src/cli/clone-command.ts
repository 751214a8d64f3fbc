import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import { type FolderScope, folderScopeSchema } from "../wire/access.ts";
import { type Clone, cloneSchema } from "../wire/clones.ts";
import { connect } from "./context.ts";
import { absolutePath, type CommonOptions, describe, listOf } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface CloneOptions extends CommonOptions {
  readonly into?: string;
  readonly name?: string;
  readonly scopes?: readonly FolderScope[];
}

const pollMs = 500;

/** `postern folder clone`: makes a registered folder from a repository's address. */
export function addCloneCommand(parent: Command, context: CliContext): void {
  describe(parent.command("clone"), [
    "postern folder clone https://github.com/octo/app.git --into ~/code",
    "postern folder clone git@github.com:octo/app.git --into ~/code --name octo-app",
  ])
    .description("clone a repository into a registered folder and register it, through the running gateway")
    .argument("<address>", "address of the repository")
    .option("--into <dir>", "a directory in a registered folder (default: the current one)")
    .option("--name <name>", "name of the new directory (default: the last part of the address)")
    .option(
      "--scopes <list>",
      `comma-separated: ${folderScopeSchema.options.join(", ")} (default: the scopes of the enclosing registered folder)`,
      listOf(folderScopeSchema),
    )
    .action(async (address: string, { into, name, scopes, json }: CloneOptions) => {
      const gateway = await connect(context);
      const input = { address, parent: absolutePath(into ?? ".", context.cwd), ...(name !== undefined && { name }) };
      const more = scopes === undefined ? {} : { scopes: [...scopes] };
      let clone: Clone = await gateway.beginClone({ ...input, ...more }, { output: cloneSchema });
      let said = "";
      while (clone.state === "running") {
        await context.clock.sleep(pollMs);
        clone = await gateway.getClone({ cloneId: clone.cloneId }, { output: cloneSchema });
        const progress = clone.phase === null ? "" : `${clone.phase}: ${clone.percent ?? 0} %`;
        if (progress !== said && !json) context.stderr(`${plainLine(progress)}\n`);
        said = progress;
      }
      if (clone.state !== "done") {
        const why = clone.error ?? "It was cancelled.";
        throw new PosternError("clone_failed", `Cannot clone ${clone.address}: ${why}`);
      }
      context.stdout(json ? `${printableJson(clone)}\n` : `Cloned to ${plainLine(clone.path)}, and registered it.\n`);
    });
}
