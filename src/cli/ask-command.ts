import { resolve } from "node:path";
import type { Command } from "commander";
import { z } from "zod";
import type { PosternClient } from "../client/index.ts";
import { hasCode, PosternError } from "../core/errors.ts";
import { maxPromptAttachments } from "../wire/attachments.ts";
import {
  type AskInput,
  type AskOutput,
  askOutputSchema,
  type OnDraft,
  onDraftSchema,
  type PermissionMode,
  permissionModeSchema,
  readOutputSchema,
} from "../wire/coding.ts";
import { type ForkSessionInput, forkSessionOutputSchema } from "../wire/forks.ts";
import { connect, readAll } from "./context.ts";
import { failWhenUnfinished, followTurn, isUnderWay, maxFollowS, startHeartbeat, waitUntil } from "./follow-turn.ts";
import { absolutePath, type CommonOptions, describe, oneOf, wholeNumber } from "./options.ts";
import { count, plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";
import { answerText, attentionText, lastScreenText, sessionLine } from "./turn-text.ts";
import { uploadFile } from "./upload-file.ts";

interface AskOptions extends CommonOptions {
  readonly dir?: string;
  readonly agent?: string;
  readonly session?: string;
  readonly model?: string;
  readonly systemPrompt?: string;
  readonly permissionMode?: PermissionMode;
  readonly worktree?: true;
  readonly branch?: string;
  readonly base?: string;
  readonly command?: true;
  readonly allowCommands?: true;
  readonly attach?: readonly string[];
  readonly onDraft?: OnDraft;
  readonly idempotencyKey?: string;
  readonly wait?: number;
}

/** The largest body that the gateway accepts by default. */
const maxPromptBytes = 1024 * 1024;
const promptTooLarge = "The prompt on standard input is larger than 1 MiB. Put it into a file and mention the file.";

/** `postern coding ask`: sends a prompt and prints the answer when the turn has ended. */
export function addAskCommand(group: Command, context: CliContext): void {
  describe(group.command("ask"), [
    'postern coding ask "Why does the build fail?"',
    'postern coding ask --session 0b0c… "And on Windows?"',
    'postern coding ask --worktree "Fix the build"',
    'postern coding ask --worktree --branch fix/build --base main "Fix the build"',
    'postern coding ask --attach screenshot.png "What is wrong on this page?"',
    'postern coding ask --session last --command "/compact"',
    "git diff | postern coding ask --wait 0 -",
    'postern coding ask -- "--strict: what does this flag do here?"',
  ])
    .description("send a prompt to an agent, wait for its turn to end, and print the answer")
    .argument("<prompt>", "the prompt; `-` reads standard input")
    .option("--dir <path>", "working directory (default: the current one, or the session's)")
    .option("--agent <name>", "agent to use (default: the configured default)")
    .option("--session <id>", "continue this session")
    .option("--model <name>", "the agent's model")
    .option("--system-prompt <text>", "text to append to the agent's system prompt; new sessions only")
    .option("--permission-mode <mode>", "ask, edits or all (default: ask)", oneOf(permissionModeSchema))
    .option("--worktree", "work in a separate Git worktree next to the repository, on a new branch")
    .option("--branch <name>", "with --worktree: the new branch (default: a name from the prompt)")
    .option("--base <name>", "with --worktree: the branch, tag or commit to start from (default: the default branch)")
    .option("--command", "run one of the agent's commands that are safe to send, such as /compact")
    .option("--allow-commands", "allow a prompt that starts with `/` or `!` to run the agent's command")
    .option(
      "--on-draft <action>",
      "what to do with unsent text in the agent's composer: clear or append",
      oneOf(onDraftSchema),
    )
    .option("--attach <file>", "send an image, PDF or text file with the prompt; repeat it for more files", collect)
    .option("--idempotency-key <key>", "retrying with the same key does not send the prompt twice")
    .option("--wait <seconds>", "wait up to this long (default: until the turn ends)", wholeNumber(0, maxFollowS))
    .action((prompt: string, options: AskOptions) => ask(prompt, { options, context }));
}

async function ask(prompt: string, { options, context }: { options: AskOptions; context: CliContext }): Promise<void> {
  refuseStrayBranch(options);
  const client = await connect(context);
  const deadline = options.wait === undefined ? Number.POSITIVE_INFINITY : context.clock.now() + options.wait * 1000;
  const input: AskInput = {
    prompt:
      prompt === "-" ? await readAll(context.stdin, { maxBytes: maxPromptBytes, tooLarge: promptTooLarge }) : prompt,
    dir: await directoryOf(options, { client, cwd: context.cwd }),
    waitMs: waitUntil(deadline, context),
    ...requestFields(options),
    ...(await uploaded(options, context)),
  };
  const answer = await untilAnswered(client.codingAsk(input, { output: askOutputSchema }), {
    ...{ client, deadline, context, json: options.json },
  });
  if (!options.json) printAnswer(answer, context);
  failWhenUnfinished(answer);
}

interface ForkOptions extends CommonOptions {
  readonly turn?: number;
  readonly agent?: string;
  readonly dir?: string;
  readonly model?: string;
  readonly permissionMode?: PermissionMode;
  readonly worktree?: true;
  readonly branch?: string;
  readonly base?: string;
  readonly wait?: number;
}

/** `postern coding fork`: continues a session's work in a new session. */
export function addForkCommand(group: Command, context: CliContext): void {
  describe(group.command("fork"), [
    'postern coding fork 0b0c… "Try it without the cache instead."',
    'postern coding fork last --agent codex "Continue."',
    'postern coding fork 0b0c… --turn 3 --worktree "Solve it with a queue."',
  ])
    .description("start a new session that knows a session's conversation, with the same agent or another one")
    .argument("<sessionId>", sessionIdHelp)
    .argument("[prompt]", "what to do; if omitted, the agent summarizes the state of the work")
    .option(
      "--turn <index>",
      "the last turn that the new session gets (default: the last one)",
      wholeNumber(0, maxTurn),
    )
    .option("--agent <name>", "agent to continue with (default: the session's)")
    .option("--dir <path>", "working directory (default: the session's)")
    .option("--model <name>", "the agent's model")
    .option("--permission-mode <mode>", "ask, edits or all (default: ask)", oneOf(permissionModeSchema))
    .option("--worktree", "work in a separate Git worktree, which starts from the session's branch")
    .option("--branch <name>", "with --worktree: the new branch (default: a name from the prompt)")
    .option("--base <name>", "with --worktree: the branch, tag or commit to start from")
    .option("--wait <seconds>", "wait up to this long (default: until the turn ends)", wholeNumber(0, maxFollowS))
    .action((sessionId: string, prompt: string | undefined, options: ForkOptions) =>
      fork({ sessionId, prompt }, options, context),
    );
}

const maxTurn = 100_000_000;

async function fork(
  { sessionId, prompt }: { readonly sessionId: string; readonly prompt: string | undefined },
  options: ForkOptions,
  context: CliContext,
): Promise<void> {
  refuseStrayBranch(options);
  const { turn, dir } = options;
  const client = await connect(context);
  const deadline = options.wait === undefined ? Number.POSITIVE_INFINITY : context.clock.now() + options.wait * 1000;
  const input: ForkSessionInput = {
    sessionId,
    waitMs: waitUntil(deadline, context),
    ...(prompt !== undefined && { prompt }),
    ...(turn !== undefined && { turn }),
    ...(dir !== undefined && { dir: absolutePath(dir, context.cwd) }),
    ...launchFields(options),
  };
  const answer = await untilAnswered(client.forkSession(input, { output: forkSessionOutputSchema }), {
    ...{ client, deadline, context, json: options.json },
  });
  if (!options.json) {
    printAnswer(answer, context);
    const { forkedFrom } = answer;
    context.stderr(`Forked from session ${plainLine(forkedFrom.sessionId)} after turn ${forkedFrom.turn}.\n`);
    if (forkedFrom.leftOut > 0)
      context.stderr(
        `The ${count(forkedFrom.leftOut, "oldest turn")} did not fit and ${forkedFrom.leftOut === 1 ? "was" : "were"} left out.\n`,
      );
  }
  failWhenUnfinished(answer);
}

/** Waits until the turn ends or the deadline passes, and prints the answer with `--json`. */
async function untilAnswered<T extends AskOutput>(
  asked: Promise<T>,
  about: {
    readonly client: PosternClient;
    readonly deadline: number;
    readonly context: CliContext;
    readonly json: boolean | undefined;
  },
): Promise<T> {
  const { context, json } = about;
  const stopHeartbeat = startHeartbeat(context);
  const answer = await asked
    .then((first) => followTurn(first, about))
    .catch((error: unknown) => {
      if (!json) printFailedStart(error, context);
      throw error;
    })
    .finally(stopHeartbeat);
  if (json) context.stdout(`${printableJson(answer)}\n`);
  return answer;
}

/** Uploads the files one after another. If one is refused, the command ends before the prompt is sent. */
async function uploaded(
  { attach = [], session: sessionId }: AskOptions,
  { ports, cwd }: CliContext,
): Promise<Pick<AskInput, "attachments">> {
  if (attach.length === 0) return {};
  if (attach.length > maxPromptAttachments) {
    throw new PosternError("usage", `A prompt can have at most ${maxPromptAttachments} files.`);
  }
  const socketPath = await ports.socketPath();
  const attachments: string[] = [];
  for (const path of attach) {
    const { attachmentId } = await uploadFile(resolve(cwd, path), { socketPath, sessionId });
    attachments.push(attachmentId);
  }
  return { attachments };
}

function collect(path: string, before: readonly string[] = []): readonly string[] {
  return [...before, path];
}

function refuseStrayBranch({ worktree, branch, base }: Pick<AskOptions, "worktree" | "branch" | "base">): void {
  if (worktree === true || (branch === undefined && base === undefined)) return;
  throw new PosternError("usage", "--branch and --base are for a new worktree. Add --worktree.");
}

/** A session continues in its own directory, regardless of where the command runs. */
async function directoryOf(
  { dir, session }: AskOptions,
  { client, cwd }: { readonly client: PosternClient; readonly cwd: string },
): Promise<string> {
  if (dir !== undefined || session === undefined) return absolutePath(dir ?? ".", cwd);
  const input = { sessionId: session, limit: 1 };
  return (await client.codingReadSession(input, { output: readOutputSchema })).dir;
}

/** How an agent is launched. */
function launchFields({
  agent,
  model,
  permissionMode,
  worktree,
  branch,
  base: baseBranch,
}: Pick<AskOptions, "agent" | "model" | "permissionMode" | "worktree" | "branch" | "base">): Pick<
  AskInput,
  "agent" | "model" | "permissionMode" | "worktree"
> {
  return {
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    ...(permissionMode !== undefined && { permissionMode }),
    ...(worktree === true && {
      worktree: { ...(branch !== undefined && { branch }), ...(baseBranch !== undefined && { baseBranch }) },
    }),
  };
}

function requestFields(options: AskOptions): Partial<AskInput> {
  const { session: sessionId, systemPrompt, allowCommands, idempotencyKey, onDraft, command } = options;
  return {
    ...launchFields(options),
    ...(sessionId !== undefined && { sessionId }),
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(command === true && { kind: "command" as const }),
    ...(allowCommands !== undefined && { allowCommands }),
    ...(onDraft !== undefined && { onDraft }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

const failedStartSchema = z.object({ lastScreen: z.string() });

/** Prints the last screen of an agent that did not start. The error itself contains the next command. */
function printFailedStart(error: unknown, { stderr }: CliContext): void {
  const details = hasCode(error, "agent_start_failed") ? failedStartSchema.safeParse(error.details) : null;
  if (details?.success) stderr(`${lastScreenText(details.data.lastScreen)}\n`);
}

function printAnswer(answer: AskOutput, context: CliContext): void {
  const text = answerText(answer.turns ?? []);
  if (text !== "") context.stdout(`${text}\n`);
  if (answer.ignored.length > 0) context.stderr(`Ignored for this session: ${answer.ignored.join(", ")}.\n`);
  context.stderr(`${sessionLine(answer)}\n`);
  const { worktree } = answer;
  if (worktree !== null)
    context.stderr(`Working in ${plainLine(worktree.path)}, branch ${plainLine(worktree.branch)}.\n`);
  if (worktree?.rescue && answer.started === "resumed") {
    context.stderr(
      `Earlier uncommitted work was saved. To restore it: \`postern rescue restore ${plainLine(answer.sessionId)}\`\n`,
    );
  }
  for (const warning of answer.warnings) context.stderr(`Warning: ${plainLine(answer.agent)}: ${plainLine(warning)}\n`);
  if (isUnderWay(answer))
    context.stderr(`Still running. Follow it with \`postern coding read ${plainLine(answer.sessionId)}\`.\n`);
  if (answer.failure !== null) context.stderr(`${lastScreenText(answer.failure.lastScreen)}\n`);
  const attention = attentionText(answer);
  if (attention !== "") context.stderr(`${attention}\n`);
}
