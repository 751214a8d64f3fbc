import type { Command } from "commander";
import { type FolderScope, folderScopeSchema, worktreeNameSchema } from "../wire/access.ts";
import { addCloneCommand } from "./clone-command.ts";
import { withStores } from "./context.ts";
import { addFolderProfileCommands } from "./folder-profile-command.ts";
import { absolutePath, type CommonOptions, describe, listOf, oneOf } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface AddOptions extends CommonOptions {
  readonly scopes: readonly FolderScope[];
  readonly worktreeName?: string;
}

export const trustNotice =
  "This folder is now trusted: agents start here without a trust dialog, and hooks and settings in its repositories run as you.\n";

/** `postern folder add|list|remove|clone|profile`; with or without a running gateway. */
export function addFolderCommands(program: Command, context: CliContext): void {
  const group = program.command("folder").description("manage the folders where agents can work");

  describe(group.command("add"), [
    "postern folder add ~/code --scopes files,coding",
    "postern folder add . --scopes coding,exec",
    'postern folder add ~/code --scopes files,coding --worktree-name "{repository}-{branch}"',
  ])
    .description(
      "register a folder, or change a folder's settings. Once a folder is registered, agents work only in registered folders",
    )
    .argument("<path>", "path of the folder")
    .requiredOption(
      "--scopes <list>",
      `comma-separated: ${folderScopeSchema.options.join(", ")}`,
      listOf(folderScopeSchema),
    )
    .option(
      "--worktree-name <template>",
      "the directory name of new worktrees, with {branch} and {repository} (default: {branch})",
      oneOf(worktreeNameSchema),
    )
    .addHelpText(
      "after",
      "\nScopes:\n  files   show diffs and complete paths\n  coding  start agents; agent hooks in the folder run\n  exec    let agents act without asking (--permission-mode all)",
    )
    .action(async (path: string, options: AddOptions) => {
      const folder = await withStores(context, (stores) =>
        stores.folders.add(absolutePath(path, context.cwd), options.scopes, options),
      );
      if (folder.scopes.includes("coding")) context.stderr(trustNotice);
      const line = `Registered ${plainLine(folder.path)} for ${folder.scopes.join(", ")}.`;
      context.stdout(options.json ? `${printableJson(folder)}\n` : `${line}\n`);
    });

  describe(group.command("list"), ["postern folder list"])
    .description("list registered folders")
    .action(async (options: CommonOptions) => {
      const folders = await withStores(context, (stores) => stores.folders.list());
      if (options.json) return context.stdout(`${printableJson({ folders })}\n`);
      if (folders.length === 0) return context.stderr("No folders registered, so agents can work in any folder.\n");
      return context.stdout(
        `${table(
          ["PATH", "SCOPES", "WORKTREE NAME"],
          folders.map((folder) => [folder.path, folder.scopes.join(","), folder.worktreeName]),
        )}\n`,
      );
    });

  describe(group.command("remove"), ["postern folder remove ~/code"])
    .description("unregister a folder; nothing in it is changed")
    .argument("<path>", "a registered folder")
    .action(async (path: string, options: CommonOptions) => {
      const { folder, left } = await withStores(context, async (stores) => ({
        folder: await stores.folders.remove(absolutePath(path, context.cwd)),
        left: (await stores.folders.list()).length,
      }));
      if (left === 0) context.stderr("No folders are registered now, so agents can work in any folder.\n");
      context.stdout(options.json ? `${printableJson(folder)}\n` : `Removed ${plainLine(folder.path)}.\n`);
    });

  addCloneCommand(group, context);
  addFolderProfileCommands(group, context);
}
