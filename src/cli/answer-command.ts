import type { Command } from "commander";
import { z } from "zod";
import type { PosternClient } from "../client/index.ts";
import { PosternError } from "../core/errors.ts";
import {
  type AnswerPermissionInput,
  answerPermissionOutputSchema,
  type PendingPermission,
  readOutputSchema,
} from "../wire/coding.ts";
import { connect } from "./context.ts";
import { type CommonOptions, collect, describe } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";
import { sessionLine } from "./turn-text.ts";

interface AnswerOptions extends CommonOptions {
  readonly allow?: true;
  readonly deny?: true;
  readonly message?: string;
  readonly answer?: readonly string[];
  readonly choice?: string;
}

/** `postern coding answer`: answers a permission request, question or dialog. */
export function addAnswerCommand(group: Command, context: CliContext): void {
  describe(group.command("answer"), [
    "postern coding answer 0b0c… --allow",
    'postern coding answer 0b0c… --deny --message "Not in this folder."',
    'postern coding answer 0b0c… --answer "Which way?=The short one"',
    "postern coding answer 0b0c… --choice 2",
    "postern coding answer 0b0c… 5f1e… --allow",
  ])
    .description("allow or deny a permission request, or answer a question or dialog; without options, show it")
    .argument("<sessionId>", sessionIdHelp)
    .argument("[permissionId]", "which permission (default: the only one)")
    .option("--allow", "allow the request")
    .option("--deny", "deny the request")
    .option("--message <text>", "with --deny: a message for the agent")
    .option("--answer <question=answer>", "answer a question; repeat for each question", collect)
    .option("--choice <number>", "choose this option of a dialog")
    .action(async (sessionId: string, permissionId: string | undefined, options: AnswerOptions) => {
      const gateway = await connect(context);
      const open = await openPermissions(gateway, sessionId);
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
        ...(options.message !== undefined && { message: options.message }),
        ...(options.answer !== undefined && { answers: answersTo(permission, options.answer) }),
      };
      const output = await gateway.codingAnswerPermission(input, { output: answerPermissionOutputSchema });
      if (options.json) context.stdout(`${printableJson(output)}\n`);
      else context.stdout(`${sessionLine(output)}\n`);
    });
}

async function openPermissions(gateway: PosternClient, sessionId: string): Promise<readonly PendingPermission[]> {
  const input = { sessionId, last: 1, blocks: false };
  return (await gateway.codingReadSession(input, { output: readOutputSchema })).permissions;
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

/** The named request, or the only one. The gateway refuses one that is not open. */
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

/** Answers by question. A question can contain `=`; the only question need not be named. */
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
