import type { Command } from "commander";
import type { PosternClient } from "../client/index.ts";
import { PosternError } from "../core/errors.ts";
import {
  type ChangedPrompt,
  cancelledPromptSchema,
  changedPromptSchema,
  type PromptQueueOutput,
  promptQueueSchema,
} from "../wire/queue.ts";
import { connect } from "./context.ts";
import { type CommonOptions, describe, wholeNumber } from "./options.ts";
import { cutEnd, plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";

const promptHelp = "position in the queue (1 is sent next), prompt ID, or its first characters (at least 4)";
/** IDs in a table are cut to this length, at which 20 of them are unique. */
const shownIdLength = 8;
const minPrefix = 4;
const shownTextLength = 100;

/** `postern coding queue …`: the prompts that wait in a session. */
export function addQueueCommands(coding: Command, context: CliContext): void {
  const group = coding.command("queue").description("view and change a session's queued prompts");
  addListCommand(group, context);
  addEditCommand(group, context);
  addMoveCommand(group, context);
  addCancelCommand(group, context);
  addSendNowCommand(group, context);
}

function addListCommand(group: Command, context: CliContext): void {
  describe(group.command("list"), ["postern coding queue list 0b0c…", "postern coding queue list last --json"])
    .description("list a session's queued prompts in the order they will be sent")
    .argument("<sessionId>", sessionIdHelp)
    .action(async (sessionId: string, { json }: CommonOptions) => {
      const queue = await listOf(await connect(context), sessionId);
      if (json) return context.stdout(`${printableJson(queue)}\n`);
      if (queue.prompts.length === 0) return context.stderr("No queued prompts.\n");
      return context.stdout(`${queueTable(queue)}\n`);
    });
}

function addEditCommand(group: Command, context: CliContext): void {
  describe(group.command("edit"), ['postern coding queue edit 0b0c… 1 "fix the build, then the tests"'])
    .description("replace the text of a queued prompt")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<prompt>", promptHelp)
    .argument("<text>", "the new text")
    .action(async (sessionId: string, prompt: string, text: string, options: CommonOptions) => {
      const client = await connect(context);
      const promptId = await promptIdOf(client, sessionId, prompt);
      const answer = await client.changeQueuedPrompt({ sessionId, promptId, text }, { output: changedPromptSchema });
      printChanged(context, answer, options, "Changed the prompt.");
    });
}

function addMoveCommand(group: Command, context: CliContext): void {
  describe(group.command("move"), ["postern coding queue move 0b0c… 3 1"])
    .description("move a queued prompt to another position")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<prompt>", promptHelp)
    .argument("<place>", "the new position; 1 is sent next", wholeNumber(1, 1_000))
    .action(async (sessionId: string, prompt: string, place: number, options: CommonOptions) => {
      const client = await connect(context);
      const promptId = await promptIdOf(client, sessionId, prompt);
      const input = { sessionId, promptId, position: place - 1 };
      const answer = await client.changeQueuedPrompt(input, { output: changedPromptSchema });
      printChanged(context, answer, options, "Moved the prompt.");
    });
}

function addSendNowCommand(group: Command, context: CliContext): void {
  describe(group.command("send-now"), ["postern coding queue send-now 0b0c… 2"])
    .description("stop the current turn and send a queued prompt now; resumes a stopped session")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<prompt>", promptHelp)
    .action(async (sessionId: string, prompt: string, options: CommonOptions) => {
      const client = await connect(context);
      const promptId = await promptIdOf(client, sessionId, prompt);
      const input = { sessionId, promptId, sendNow: true };
      const answer = await client.changeQueuedPrompt(input, { output: changedPromptSchema });
      printChanged(context, answer, options, sentWords(answer));
    });
}

function addCancelCommand(group: Command, context: CliContext): void {
  describe(group.command("cancel"), ["postern coding queue cancel 0b0c… 1"])
    .description("remove a prompt from the queue and print it")
    .argument("<sessionId>", sessionIdHelp)
    .argument("<prompt>", promptHelp)
    .action(async (sessionId: string, prompt: string, { json }: CommonOptions) => {
      const client = await connect(context);
      const promptId = await promptIdOf(client, sessionId, prompt);
      const answer = await client.cancelQueuedPrompt({ sessionId, promptId }, { output: cancelledPromptSchema });
      if (json) return context.stdout(`${printableJson(answer)}\n`);
      return context.stdout(`Cancelled: ${plainLine(answer.cancelled.text)}\n`);
    });
}

function listOf(client: PosternClient, sessionId: string): Promise<PromptQueueOutput> {
  return client.listQueuedPrompts({ sessionId }, { output: promptQueueSchema });
}

/** @throws PosternError `prompt_not_found` */
async function promptIdOf(client: PosternClient, sessionId: string, given: string): Promise<string> {
  const { prompts } = await listOf(client, sessionId);
  const named =
    /^\d{1,3}$/.test(given) && given.length < minPrefix
      ? prompts.filter(({ position }) => position === Number(given) - 1)
      : prompts.filter(({ promptId }) => given.length >= minPrefix && promptId.startsWith(given));
  const [only] = named;
  if (only !== undefined && named.length === 1) return only.promptId;
  if (given.length > shownIdLength) return given; // it may have been sent already, which the gateway reports
  throw new PosternError(
    "prompt_not_found",
    `"${plainLine(given)}" matches no queued prompt. List them with \`postern coding queue list ${plainLine(sessionId)}\`.`,
  );
}

function printChanged(context: CliContext, answer: ChangedPrompt, { json }: CommonOptions, words: string): void {
  if (json) return context.stdout(`${printableJson(answer)}\n`);
  context.stdout(`${words}\n`);
  if (answer.prompts.length > 0) context.stdout(`${queueTable(answer)}\n`);
}

function sentWords({ deliveryState, sessionId }: ChangedPrompt): string {
  if (deliveryState === "queued") return "The prompt is next in the queue, and is sent when the agent accepts input.";
  return `Sent. Read the answer with \`postern coding read ${plainLine(sessionId)}\`.`;
}

function queueTable({ prompts }: PromptQueueOutput): string {
  const rows = prompts.map(({ position, promptId, text, attachments }) => [
    String(position + 1),
    plainLine(promptId.slice(0, shownIdLength)),
    cutEnd(plainLine(text), shownTextLength) + filesWords(attachments.length),
  ]);
  return table(["PLACE", "PROMPT", "TEXT"], rows);
}

function filesWords(count: number): string {
  return count === 0 ? "" : ` (${count} ${count === 1 ? "file" : "files"})`;
}
