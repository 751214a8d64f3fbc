import type { Command } from "commander";
import {
  committedSchema,
  type GitStatus,
  gitStatusSchema,
  hunksSchema,
  pushedSchema,
  type StatusFile,
  type UpdateInput,
  updatedSchema,
} from "../wire/publish.ts";
import { connect } from "./context.ts";
import { type CommonOptions, describe } from "./options.ts";
import { count, plainLine, plainText, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { addPullRequestCommands } from "./pull-request-command.ts";
import { sessionIdHelp } from "./session-id.ts";

/** Hooks can run a test suite, so this is as long as the gateway waits for them. */
const hooksMs = 930_000;
const whileWorkingOption = ["--while-working", "also while the agent works"] as const;

/** `postern coding git …`: from a session's changes to a merged branch. */
export function addGitCommands(coding: Command, context: CliContext): void {
  const group = coding
    .command("git")
    .description("stage, commit and publish a session's changes, with your Git configuration and hooks");
  addStatusCommand(group, context);
  addStageCommands(group, context);
  addCommitCommand(group, context);
  addUpdateCommands(group, context);
  addPushCommand(group, context);
  addPullRequestCommands(group, context);
}

function addStatusCommand(group: Command, context: CliContext): void {
  describe(group.command("status"), ["postern coding git status 0b0c…", "postern coding git status last --json"])
    .description("show the changed files, and how the branch relates to others")
    .argument("<sessionId>", sessionIdHelp)
    .action(async (sessionId: string, { json }: CommonOptions) => {
      const status = await (await connect(context)).gitStatus({ sessionId }, { output: gitStatusSchema });
      context.stdout(json ? `${printableJson(status)}\n` : `${statusText(status)}\n`);
    });
}

interface StageOptions extends CommonOptions {
  readonly hunk?: readonly string[];
}

function addStageCommands(group: Command, context: CliContext): void {
  for (const unstage of [false, true]) {
    const name = unstage ? "unstage" : "stage";
    describe(group.command(name), [
      `postern coding git ${name} 0b0c… src/cart.ts`,
      `postern coding git ${name} 0b0c…`,
      `postern coding git ${name} 0b0c… src/cart.ts --hunk 3f2a0c…`,
    ])
      .description(unstage ? "leave changes out of the next commit" : "add changes to the next commit")
      .argument("<sessionId>", sessionIdHelp)
      .argument("[paths...]", "files, relative to the root (default: all)")
      .option("--hunk <id...>", "only these parts of one file, from `postern coding git hunks`")
      .action(async (sessionId: string, paths: string[], { json, hunk }: StageOptions) => {
        const input = {
          sessionId,
          ...(unstage && { unstage }),
          ...(paths.length > 0 && { paths }),
          ...(hunk && { hunks: [...hunk] }),
        };
        const status = await (await connect(context)).gitStage(input, { output: gitStatusSchema });
        context.stdout(json ? `${printableJson(status)}\n` : `${statusText(status)}\n`);
      });
  }

  describe(group.command("hunks"), ["postern coding git hunks 0b0c… src/cart.ts"])
    .description("list the parts of a file's changes that can be staged alone")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<path>", "file, relative to the root")
    .option("--staged", "what can be unstaged")
    .action(async (sessionId: string, path: string, { json, staged }: CommonOptions & { readonly staged?: true }) => {
      const input = { sessionId, path, staged: staged ? ("true" as const) : ("false" as const) };
      const { hunks } = await (await connect(context)).gitHunks(input, { output: hunksSchema });
      if (json) return context.stdout(`${printableJson({ path, hunks })}\n`);
      if (hunks.length === 0) return context.stderr("No hunks. Stage the whole file.\n");
      const texts = hunks.map(
        ({ hunkId, title, patch }) => `${plainLine(hunkId)}  ${plainLine(title)}\n${plainText(patch)}`,
      );
      return context.stdout(`${texts.join("\n").trimEnd()}\n`);
    });
}

interface CommitOptions extends CommonOptions {
  readonly message?: string;
  readonly all?: true;
  readonly amend?: true;
  readonly whileWorking?: true;
}

function addCommitCommand(group: Command, context: CliContext): void {
  describe(group.command("commit"), [
    'postern coding git commit 0b0c… --all --message "Fix the retry"',
    "postern coding git commit 0b0c… --amend",
  ])
    .description("commit what is staged")
    .argument("<sessionId>", sessionIdHelp)
    .option("-m, --message <text>", "the message; with --amend, the previous one if omitted")
    .option("-a, --all", "stage all changes first, including untracked files")
    .option("--amend", "replace the last commit")
    .option(...whileWorkingOption)
    .action(async (sessionId: string, { json, ...given }: CommitOptions) => {
      const committed = await (await connect(context)).gitCommit(
        { sessionId, ...given },
        { output: committedSchema, timeoutMs: hooksMs },
      );
      if (json) return context.stdout(`${printableJson(committed)}\n`);
      if (committed.output !== "") context.stderr(`${plainText(committed.output)}\n`);
      const subject = plainLine(committed.status.head?.subject ?? "");
      return context.stdout(`Committed ${plainLine(committed.commit.slice(0, 10))} ${subject}\n`);
    });
}

interface UpdateOptions extends CommonOptions {
  readonly rebase?: true;
  readonly fetch?: boolean;
  readonly whileWorking?: true;
}

function addUpdateCommands(group: Command, context: CliContext): void {
  const update = async (
    input: UpdateInput,
    { json, done }: { readonly json: true | undefined; readonly done: string },
  ): Promise<void> => {
    const updated = await (await connect(context)).gitUpdate(input, { output: updatedSchema, timeoutMs: hooksMs });
    if (json) return context.stdout(`${printableJson(updated)}\n`);
    if (updated.output !== "") context.stderr(`${plainText(updated.output)}\n`);
    return context.stdout(`${done}\n${statusText(updated.status)}\n`);
  };

  describe(group.command("update"), ["postern coding git update 0b0c…", "postern coding git update 0b0c… --rebase"])
    .description("merge the base branch into the session's branch")
    .argument("<sessionId>", sessionIdHelp)
    .option("--rebase", "rebase the branch onto it instead")
    .option("--no-fetch", "use the base branch as last fetched")
    .option(...whileWorkingOption)
    .action((sessionId: string, { json, rebase, fetch, whileWorking }: UpdateOptions) => {
      const strategy = rebase ? ("rebase" as const) : ("merge" as const);
      return update(
        { sessionId, strategy, ...(fetch === false && { fetch }), ...(whileWorking && { whileWorking }) },
        { json, done: "Updated." },
      );
    });
  for (const action of ["continue", "abort"] as const) {
    describe(group.command(action), [`postern coding git ${action} 0b0c…`])
      .description(
        action === "continue"
          ? "continue an update after its conflicts are staged"
          : "undo an update that has not ended",
      )
      .argument("<sessionId>", sessionIdHelp)
      .option(...whileWorkingOption)
      .action((sessionId: string, { json, whileWorking }: UpdateOptions) =>
        update(
          { sessionId, action, ...(whileWorking && { whileWorking }) },
          { json, done: action === "continue" ? "Updated." : "Undone." },
        ),
      );
  }
}

interface PushOptions extends CommonOptions {
  readonly remote?: string;
  readonly forceWithLease?: true;
}

function addPushCommand(group: Command, context: CliContext): void {
  describe(group.command("push"), ["postern coding git push 0b0c…", "postern coding git push 0b0c… --remote fork"])
    .description("push the session's branch")
    .argument("<sessionId>", sessionIdHelp)
    .option("--remote <name>", "remote to push to (default: as configured in Git, or origin)")
    .option(
      "--force-with-lease",
      "after a rebase or an amend: replace what was pushed, unless someone else pushed meanwhile",
    )
    .action(async (sessionId: string, { json, ...given }: PushOptions) => {
      const pushed = await (await connect(context)).gitPush(
        { sessionId, ...given },
        { output: pushedSchema, timeoutMs: hooksMs },
      );
      if (json) return context.stdout(`${printableJson(pushed)}\n`);
      if (pushed.output !== "") context.stderr(`${plainText(pushed.output)}\n`);
      return context.stdout(`Pushed ${plainLine(pushed.status.branch ?? "")} to ${plainLine(pushed.remote)}.\n`);
    });
}

function statusText(status: GitStatus): string {
  const { branch, upstream, base, update, files, truncated } = status;
  const relations = [upstream, base].flatMap((other) =>
    other === null ? [] : [`${other.ahead} ahead of and ${other.behind} behind ${plainLine(other.name)}`],
  );
  const conflicts = files.filter(({ conflict }) => conflict);
  return [
    `${branch === null ? "No branch" : `Branch ${plainLine(branch)}`}${relations.map((text) => `, ${text}`).join("")}`,
    ...(update === null ? [] : [updateText(status)]),
    ...section("Conflicts", conflicts, () => "both changed"),
    ...section("Staged", files, ({ staged }) => staged),
    ...section("Not staged", files, ({ unstaged, conflict }) => (conflict ? null : unstaged)),
    ...(files.length === 0 ? ["No changes."] : []),
    ...(truncated ? [`Only the first ${count(files.length, "file")} are listed.`] : []),
  ].join("\n");
}

function updateText({ update }: GitStatus): string {
  const what = update?.strategy === "other" ? "An operation" : `A ${update?.strategy}`;
  const how = update?.interrupted === true ? "was interrupted" : "has not ended";
  return `${what} ${how}. Continue it with \`postern coding git continue\`, or undo it with \`postern coding git abort\`.`;
}

function section(
  title: string,
  files: readonly StatusFile[],
  wordOf: (file: StatusFile) => string | null,
): readonly string[] {
  const lines = files.flatMap((file) => {
    const word = wordOf(file);
    const from = file.previousPath === null ? "" : ` (was ${plainLine(file.previousPath)})`;
    return word === null ? [] : [`  ${word.replace("_", " ").padEnd(13)}${plainLine(file.path)}${from}`];
  });
  return lines.length === 0 ? [] : [`${title}:`, ...lines];
}
