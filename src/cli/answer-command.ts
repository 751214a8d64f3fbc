import type { Command } from "commander";
import { z } from "zod";
import type { PosternClient } from "../client/index.ts";
import { PosternError } from "../core/errors.ts";
import {
  type AnswerPermissionInput,
  type AnswerPermissionOutput,
  answerPermissionOutputSchema,
  type PendingPermission,
  type ReadOutput,
  readOutputSchema,
} from "../wire/coding.ts";
import { rememberSchema } from "../wire/permission-rules.ts";
import type { Turn } from "../wire/turn.ts";
import { connect } from "./context.ts";
import { failWhenUnfinished, followTurn, isUnderWay, maxFollowS, startHeartbeat } from "./follow-turn.ts";
import { type CommonOptions, collect, describe, oneOf, wholeNumber } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { endOf } from "./rules-command.ts";
import { sessionIdHelp } from "./session-id.ts";
import { answerText, attentionText, sessionLine } from "./turn-text.ts";

interface AnswerOptions extends CommonOptions {
  readonly allow?: true;
  readonly deny?: true;
  readonly message?: string;
  readonly answer?: readonly string[];
  readonly choice?: string;
  readonly remember?: "session" | "folder";
  readonly until?: string;
  /** Seconds; true: until the turn ends. */
  readonly wait?: number | true;
}

/** `postern coding answer`: answers a permission request, question or dialog. */
export function addAnswerCommand(group: Command, context: CliContext): void {
  describe(group.command("answer"), [
    "postern coding answer 0b0c… --allow",
    'postern coding answer 0b0c… --deny --message "Not in this folder."',
    'postern coding answer 0b0c… --answer "Which way?=The short one"',
    "postern coding answer 0b0c… --choice 2",
    "postern coding answer last --allow --wait",
    "postern coding answer last --allow --remember folder --until 18:00",
    "postern coding answer 0b0c… 5f1e… --allow",
  ])
    .description("allow or deny a permission request, or answer a question or dialog; without options, show it")
    .argument("<sessionId>", sessionIdHelp)
    .argument("[permissionId]", "permission request (default: the only one)")
    .option("--allow", "allow the request")
    .option("--deny", "deny the request")
    .option("--message <text>", "with --deny: message to the agent")
    .option("--answer <question=answer>", "answer a question; repeat for each question", collect)
    .option("--choice <number>", "choose this option of a dialog")
    .option(
      "--remember <for>",
      "give later requests like it the same answer: session or folder",
      oneOf(rememberForSchema),
    )
    .option("--until <time>", "with --remember: until 18:00 or 2026-12-31T18:00:00Z")
    .option(
      "--wait [seconds]",
      "wait up to this long (default: until the turn ends), then print the agent's answer",
      wholeNumber(0, maxFollowS),
    )
    .action(async (sessionId: string, permissionId: string | undefined, options: AnswerOptions) => {
      const gateway = await connect(context);
      const before = await readLast(gateway, sessionId);
      const open = before.permissions;
      const { choice } = options;
      const decision = decisionOf(options);
      if (decision === null && choice === undefined) {
        context.stdout(
          options.json ? `${printableJson(open)}\n` : open.map((asked) => `${permissionLine(asked)}\n`).join(""),
        );
        return;
      }
      const permission = choose(open, { sessionId, permissionId });
      const input: AnswerPermissionInput = {
        sessionId,
        permissionId: permission?.permissionId ?? permissionId ?? "",
        ...(decision !== null && { decision }),
        ...(choice !== undefined && { choice }),
        ...rememberedIn(options, context),
        ...(options.message !== undefined && { message: options.message }),
        ...(options.answer !== undefined && { answers: answersTo(permission, options.answer) }),
      };
      const output = await gateway.codingAnswerPermission(input, { output: answerPermissionOutputSchema });
      if (options.wait !== undefined) return printRest({ before, output, gateway }, { options, context });
      return context.stdout(options.json ? `${printableJson(output)}\n` : `${sessionLine(output)}\n`);
    });
}

const rememberForSchema = rememberSchema.shape.for;

function rememberedIn(
  { remember, until }: AnswerOptions,
  { clock }: CliContext,
): Pick<AnswerPermissionInput, "remember"> {
  if (remember === undefined && until === undefined) return {};
  if (remember === undefined) throw new PosternError("usage", "--until needs --remember.");
  return { remember: { for: remember, ...(until !== undefined && { until: endOf(until, clock.now()) }) } };
}

async function readLast(gateway: PosternClient, sessionId: string): Promise<ReadOutput> {
  return gateway.codingReadSession({ sessionId, last: 1, blocks: false }, { output: readOutputSchema });
}

interface Answered {
  /** The session as it was before the answer, with its last turn. */
  readonly before: ReadOutput;
  readonly output: AnswerPermissionOutput;
  readonly gateway: PosternClient;
}

/** Prints the agent's output after the answer. @throws PosternError when the turn does not end, like `postern coding ask` */
async function printRest(
  { before, output, gateway: client }: Answered,
  { options, context }: { readonly options: AnswerOptions; readonly context: CliContext },
): Promise<void> {
  const { wait } = options;
  const deadline = typeof wait === "number" ? context.clock.now() + wait * 1000 : Number.POSITIVE_INFINITY;
  const stopHeartbeat = startHeartbeat(context);
  const first = { ...output, turns: before.turns, delivered: true };
  const followed = await followTurn(first, { client, deadline, context }).finally(stopHeartbeat);
  const turns = followed.turns.map((turn) => ({ ...turn, text: newText(turn, before.turns) }));
  if (options.json) context.stdout(`${printableJson({ ...followed, turns })}\n`);
  else {
    const text = answerText(turns);
    if (text !== "") context.stdout(`${text}\n`);
    context.stderr(`${sessionLine(followed)}\n`);
    if (isUnderWay(followed))
      context.stderr(
        `Still running. Follow it with \`postern coding read ${plainLine(output.sessionId)} --wait 600\`.\n`,
      );
    const attention = attentionText(followed);
    if (attention !== "") context.stderr(`${attention}\n`);
  }
  failWhenUnfinished(followed);
}

/** The turn in which the agent asked continues after the answer; only its new text is printed. */
function newText({ index, text }: Turn, before: readonly Turn[]): string {
  const known = before.find((turn) => turn.index === index)?.text ?? "";
  return text.startsWith(known) ? text.slice(known.length) : text;
}

function decisionOf({ allow, deny, answer, message, choice }: AnswerOptions): "allow" | "deny" | null {
  if (choice !== undefined && (allow || deny || answer !== undefined || message !== undefined)) {
    throw new PosternError("usage", "--choice answers a dialog and cannot be combined with other answers.");
  }
  if (allow && deny) throw new PosternError("usage", "Use either --allow or --deny.");
  if (deny) return "deny";
  if (allow || answer !== undefined) return "allow";
  if (message !== undefined) throw new PosternError("usage", "--message needs --deny.");
  return null;
}

/** The given request, or the only one. The gateway refuses a request that is not open. */
function choose(
  open: readonly PendingPermission[],
  { sessionId, permissionId }: { readonly sessionId: string; readonly permissionId: string | undefined },
): PendingPermission | undefined {
  if (permissionId !== undefined) return open.find((permission) => permission.permissionId === permissionId);
  const [only] = open;
  if (only === undefined) {
    throw new PosternError("permission_gone", `Session ${plainLine(sessionId)} is not waiting for an answer.`);
  }
  if (open.length === 1) return only;
  const list = open.map(permissionLine).join("; ");
  throw new PosternError(
    "usage",
    `Session ${plainLine(sessionId)} is waiting for ${open.length} answers. Choose one: ${list}`,
  );
}

/** A pending request on one line. */
export function permissionLine({
  permissionId,
  kind,
  tool,
  input,
  answerable,
  choices = [],
}: PendingPermission): string {
  if (kind === "dialog") {
    const offered = choices.map(({ choiceId, label }) => `--choice ${choiceId}: ${label}`).join(", ");
    return plainLine(`${permissionId} ${tool} ${offered}`);
  }
  const what = kind === "permission" ? tool : kind;
  const where = answerable ? "" : " (answer with `postern attach`)";
  return plainLine(`${permissionId} ${what} ${JSON.stringify(input)}${where}`);
}

const questionsSchema = z.looseObject({ questions: z.array(z.looseObject({ question: z.string() })) });

/** Answers by question. A question can contain `=`; it can be omitted if there is only one. */
function answersTo(permission: PendingPermission | undefined, given: readonly string[]): Record<string, string> {
  const questions = questionsSchema.safeParse(permission?.input).data?.questions.map(({ question }) => question) ?? [];
  return Object.fromEntries(
    given.map((text) => {
      const named = questions.find((question) => text.startsWith(`${question}=`));
      if (named !== undefined) return [named, text.slice(named.length + 1)];
      const [only] = questions;
      if (only !== undefined && questions.length === 1) return [only, text];
      const asked = questions.length === 0 ? "" : ` It asks: ${questions.join(" · ")}`;
      throw new PosternError("usage", `--answer needs "question=answer".${plainLine(asked)}`);
    }),
  );
}
