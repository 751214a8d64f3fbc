import type { Command } from "commander";
import type { PosternClient } from "../client/index.ts";
import { PosternError } from "../core/errors.ts";
import {
  type AskInput,
  type AskOutput,
  askOutputSchema,
  maxWaitMs,
  type OnDraft,
  onDraftSchema,
  type PermissionMode,
  permissionModeSchema,
  readOutputSchema,
  type SessionSummary,
} from "../wire/coding.ts";
import type { Turn } from "../wire/turn.ts";
import { connect, readAll } from "./context.ts";
import { absolutePath, type CommonOptions, describe, oneOf, wholeNumber } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { answerText, attentionText, sessionLine } from "./turn-text.ts";

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
  readonly allowCommands?: true;
  readonly onDraft?: OnDraft;
  readonly idempotencyKey?: string;
  readonly wait?: number;
}

const heartbeatMs = 15_000;
/** The gateway accepts no larger body by default. */
const maxPromptBytes = 1024 * 1024;
const promptTooLarge = "The prompt on standard input is larger than 1 MiB. Put it into a file and mention the file.";
const dayS = 86_400;
/** Between two reads that return immediately. */
const pauseMs = 200;

/** `postern coding ask`: one prompt, and the answer when the turn has ended. */
export function addAskCommand(group: Command, context: CliContext): void {
  describe(group.command("ask"), [
    'postern coding ask "Why does the build fail?"',
    'postern coding ask --session 0b0c… "And on Windows?"',
    'postern coding ask --worktree "Repair the build"',
    'postern coding ask --worktree --branch fix/build --base main "Repair the build"',
    "git diff | postern coding ask --wait 0 -",
    'postern coding ask -- "--strict: what does this flag do here?"',
  ])
    .description("send a prompt to an agent, wait for its turn to end, and print the answer")
    .argument("<prompt>", "the prompt; `-` reads standard input")
    .option("--dir <path>", "where it works (default: here, or where the session does)")
    .option("--agent <name>", "which agent (default: the configured one)")
    .option("--session <id>", "continue this session")
    .option("--model <name>", "the agent's model")
    .option("--system-prompt <text>", "appended to the agent's own system prompt, in a new session")
    .option("--permission-mode <mode>", "ask, edits or all (default: ask)", oneOf(permissionModeSchema))
    .option("--worktree", "work in a separate Git worktree next to the repository, on a new branch")
    .option("--branch <name>", "with --worktree: the new branch (default: a name from the prompt)")
    .option("--base <name>", "with --worktree: the branch, tag or commit to start from (default: the default branch)")
    .option("--allow-commands", "allow a prompt that starts with `/` or `!` to run the agent's command")
    .option(
      "--on-draft <action>",
      "what to do with unsent text in the agent's composer: clear or append",
      oneOf(onDraftSchema),
    )
    .option("--idempotency-key <key>", "makes a repeated request safe")
    .option("--wait <seconds>", "wait up to this long (default: until the turn ends)", wholeNumber(0, dayS))
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
  };
  const stopHeartbeat = startHeartbeat(context);
  const answer = await client
    .codingAsk(input, { output: askOutputSchema })
    .then((first) => followTurn(first, { client, deadline, context }))
    .finally(stopHeartbeat);
  if (options.json) context.stdout(`${printableJson(answer)}\n`);
  else printAnswer(answer, context);
  failWhenUnfinished(answer);
}

function refuseStrayBranch({ worktree, branch, base }: AskOptions): void {
  if (worktree === true || (branch === undefined && base === undefined)) return;
  throw new PosternError("usage", "--branch and --base are for a new worktree. Add --worktree.");
}

/** A session continues in its own directory, wherever the command runs. */
async function directoryOf(
  { dir, session }: AskOptions,
  { client, cwd }: { readonly client: PosternClient; readonly cwd: string },
): Promise<string> {
  if (dir !== undefined || session === undefined) return absolutePath(dir ?? ".", cwd);
  const input = { sessionId: session, limit: 1 };
  return (await client.codingReadSession(input, { output: readOutputSchema })).dir;
}

function requestFields(options: AskOptions): Partial<AskInput> {
  const { agent, session: sessionId, model, systemPrompt, permissionMode, allowCommands, idempotencyKey } = options;
  const { worktree, branch, base: baseBranch, onDraft } = options;
  return {
    ...(agent !== undefined && { agent }),
    ...(sessionId !== undefined && { sessionId }),
    ...(model !== undefined && { model }),
    ...(systemPrompt !== undefined && { systemPrompt }),
    ...(permissionMode !== undefined && { permissionMode }),
    ...(worktree === true && {
      worktree: { ...(branch !== undefined && { branch }), ...(baseBranch !== undefined && { baseBranch }) },
    }),
    ...(allowCommands !== undefined && { allowCommands }),
    ...(onDraft !== undefined && { onDraft }),
    ...(idempotencyKey !== undefined && { idempotencyKey }),
  };
}

/** Waits on when the turn outlasts the longest wait of one call. */
async function followTurn(
  first: AskOutput,
  { client, deadline, context }: { client: PosternClient; deadline: number; context: CliContext },
): Promise<AskOutput> {
  let answer = first;
  const turns = new Map<number, Turn>((first.turns ?? []).map((turn) => [turn.index, turn]));
  // The last turn is read again, because it may have grown; without one, only newer turns belong to this prompt.
  let after = turns.size > 0 ? Math.max(...turns.keys()) - 1 : first.turnCount - 1;
  while (isUnderWay(answer) && context.clock.now() < deadline) {
    await context.clock.sleep(pauseMs);
    const input = { sessionId: answer.sessionId, after, waitMs: waitUntil(deadline, context) };
    const read = await client.codingReadSession(input, { output: readOutputSchema });
    const { turns: grown, nextAfter, skippedLines: _skippedLines, ...summary } = read;
    for (const turn of grown) turns.set(turn.index, turn);
    after = nextAfter;
    answer = { ...answer, ...summary, turns: [...turns.values()].toSorted((a, b) => a.index - b.index) };
  }
  return answer;
}

/** Whether an agent works, or is about to. */
export function isUnderWay(session: SessionSummary): boolean {
  if (session.status === "completed" || session.status === "failed") return false;
  if (session.activity === null) return false;
  return (
    session.activity === "starting" ||
    session.activity === "working" ||
    (session.activity === "idle" && session.queuedPrompts > 0)
  );
}

function waitUntil(deadline: number, context: CliContext): number {
  return Math.max(0, Math.min(maxWaitMs, deadline - context.clock.now()));
}

function startHeartbeat(context: CliContext): () => void {
  const startedAt = context.clock.now();
  let cancel: () => void;
  const beat = (): void => {
    cancel = context.clock.after(heartbeatMs, () => {
      context.stderr(`Waiting for the agent (${Math.round((context.clock.now() - startedAt) / 1000)} s)\n`);
      beat();
    });
  };
  beat();
  return () => cancel();
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
  const attention = attentionText(answer);
  if (attention !== "") context.stderr(`${attention}\n`);
}

/** Scripts rely on the exit code: success means that the turn was completed. */
function failWhenUnfinished(answer: AskOutput): void {
  const id = plainLine(answer.sessionId);
  if (answer.status === "failed") {
    const screen = plainLine(answer.failure?.lastScreen ?? "").slice(-300);
    throw new PosternError(
      "agent_failed",
      `${answer.agent} exited with code ${answer.exitCode} without an answer. Its last screen: ${screen || "empty"}`,
    );
  }
  if (answer.delivered === false) {
    throw new PosternError(
      "agent_failed",
      `The prompt was not delivered to session ${id}. Send it again; see \`postern coding read ${id}\`.`,
    );
  }
  switch (answer.activity) {
    case "needs_permission":
    case "needs_answer":
      throw new PosternError("agent_needs_you", whatItWaitsFor(answer));
    case "needs_attention":
      throw new PosternError(
        "agent_needs_you",
        `${answer.agent} shows a dialog or message. Answer it with \`postern attach ${id}\`${answer.delivered === true ? "" : "; your prompt is queued until then"}.`,
      );
    case "needs_login":
      throw new PosternError(
        "agent_needs_you",
        `${answer.agent} is not logged in. Log in with \`postern coding setup --agent ${answer.agent} --login\`, then try again.`,
      );
    case "limited":
      throw new PosternError(
        "agent_needs_you",
        `${answer.agent} is rate limited${answer.resetsAt === null ? "" : ` until ${answer.resetsAt}`}.`,
      );
    default:
      if (answer.turnFailure !== null && answer.delivered === true && !isUnderWay(answer)) {
        throw new PosternError("agent_failed", `${answer.agent} did not answer: ${plainLine(answer.turnFailure)}`);
      }
  }
}

// `postern coding answer` without a decision prints it in full.
const maxAskedLength = 300;

function cut(text: string): string {
  return text.length <= maxAskedLength ? text : `${text.slice(0, maxAskedLength)}…`;
}

/** What the session waits for, and the commands that answer it. */
function whatItWaitsFor({ sessionId, activity, permissions }: AskOutput): string {
  const id = plainLine(sessionId);
  const what = activity === "needs_answer" ? "an answer" : "permission";
  if (!permissions.some(({ answerable }) => answerable)) {
    return `Session ${id} is waiting for ${what} in its terminal. Stop the turn with \`postern coding interrupt ${id}\`, or end it with \`postern coding close ${id}\`.`;
  }
  const asked = permissions.map(({ tool, input }) => cut(`${tool} ${JSON.stringify(input)}`)).join("; ");
  const how =
    activity === "needs_answer"
      ? `Answer with \`postern coding answer ${id} --answer "question=answer"\`, or --allow for a plan`
      : `Answer with \`postern coding answer ${id} --allow\``;
  return `Session ${id} is waiting for ${what}: ${asked}. ${how}, or --deny; then continue with \`postern coding read ${id} --wait 600\`.`;
}
