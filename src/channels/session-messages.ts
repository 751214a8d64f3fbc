import { z } from "zod";
import type { PendingPermission, ReadOutput, SessionSummary } from "../wire/coding.ts";
import { idleEndWords } from "../wire/idle-words.ts";
import { type Button, type MessageBody, messageBodySchema } from "./channel.ts";
import { bold, inStyle, plainLine, plainMessage, plainWords, type Styled, shortened, styled } from "./styled.ts";

/** Whether the session is inactive, so that its transcript is complete for now. */
export function isAtRest({ activity }: Pick<SessionSummary, "activity">): boolean {
  return activity === null || activity === "idle" || activity === "limited" || activity === "needs_login";
}

/** A turn's status, for a message that is updated. */
export function statusMessage(
  session: ReadOutput,
  { sinceMs, replyTo }: { readonly sinceMs: number; readonly replyTo: string | null },
): MessageBody {
  const text = `${activityWords(session)}${isAtRest(session) ? "" : toolWords(session)} · ${durationWords(sinceMs)}`;
  return plainMessage(styled(text), { replyTo, silent: true });
}

/** A session's status in one line. */
export function activityWords(session: SessionSummary): string {
  const { activity, queuedPrompts, draft, agent, resetsAt, turnFailure } = session;
  if (draft) return `✋ ${agent} has a queued prompt, but its terminal contains unsent text. Send or delete it there.`;
  switch (activity) {
    case "starting":
      return `⏳ ${agent} is starting`;
    case "working":
      return `⏳ ${agent} is working${queuedPrompts > 0 ? `, ${queuedPrompts} queued` : ""}`;
    case "needs_permission":
    case "needs_answer":
      return `✋ ${agent} is waiting for your answer`;
    case "needs_attention":
      return `✋ ${agent} needs your attention in its terminal`;
    case "needs_login":
      return `🔑 ${agent} requires you to log in, in its terminal`;
    case "limited":
      return `⛔ ${agent} is rate limited${resetsAt === null ? "" : ` until ${resetsAt}`}`;
    case "idle":
      return turnFailure === null ? `✓ ${agent} is done` : `⚠ ${agent} did not answer: ${plainLine(turnFailure, 300)}`;
    case null:
      return endWords(session);
  }
}

function endWords({ agent, status, exitCode, signal, closedAt, endedAfterIdleMs }: SessionSummary): string {
  if (endedAfterIdleMs !== null) return `■ ${agent} ${idleEndWords(endedAfterIdleMs)}. Send a message to resume it.`;
  if (closedAt !== null) return `■ ${agent} was closed`;
  const how = signal ?? (exitCode === null ? null : `exit code ${exitCode}`);
  return `■ ${agent} ${status === "failed" ? "failed" : "ended"}${how === null ? "" : ` (${how})`}`;
}

/** Its current activity, as far as the transcript shows. */
function toolWords({ turns }: ReadOutput): string {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return "";
  const calls = last.blocks.filter((block) => block.type === "tool_call");
  const current = calls.at(-1);
  return current === undefined
    ? ""
    : ` · ${calls.length} tool ${calls.length === 1 ? "call" : "calls"}, now ${plainLine(current.name, 60)}`;
}

/** Rounded to growing steps, so that a message does not change every second. */
function durationWords(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The context of a question. */
export interface QuestionContext {
  /** Whether it can be answered here: the chat has `coding:drive`, and the agent's hook is waiting. */
  readonly canAnswer: boolean;
  /** Where else it can be answered. */
  readonly url: string;
  readonly agent: string;
  readonly replyTo: string | null;
}

// A message has 4096 characters, and the decision is added below.
const maxInputLength = 3_000;
const maxOptions = 8;
const maxLabelLength = 60;

const questionsSchema = z.looseObject({
  questions: z.array(
    z.looseObject({
      question: z.string(),
      multiSelect: z.boolean().optional(),
      options: z.array(z.looseObject({ label: z.string(), description: z.string().optional() })),
    }),
  ),
});

/** An agent's single-choice question, which buttons can answer. */
export interface SimpleQuestion {
  readonly question: string;
  readonly options: readonly { readonly label: string; readonly description?: string | undefined }[];
}

/** @returns null if buttons cannot answer it: several questions, or several answers to one */
export function simpleQuestion({ kind, input }: Pick<PendingPermission, "kind" | "input">): SimpleQuestion | null {
  if (kind !== "question") return null;
  const questions = questionsSchema.safeParse(input).data?.questions ?? [];
  const [first] = questions;
  if (first === undefined || questions.length > 1 || first.multiSelect === true) return null;
  return first.options.length === 0 || first.options.length > maxOptions ? null : first;
}

/** The choices of an agent's dialog, if buttons can show all of them; else null. */
export function dialogChoices({
  kind,
  choices = [],
}: Pick<PendingPermission, "kind" | "choices">): NonNullable<PendingPermission["choices"]> | null {
  return kind === "dialog" && choices.length > 0 && choices.length <= maxOptions ? choices : null;
}

/** A message for an agent's request. Shows exactly what the agent wants to do, and marks where the text was truncated. */
export function questionMessage(permission: PendingPermission, context: QuestionContext): MessageBody {
  const { canAnswer, url, replyTo } = context;
  const simple = simpleQuestion(permission);
  const { kind } = permission;
  const hasButtons = kind === "question" ? simple !== null : kind !== "dialog" || dialogChoices(permission) !== null;
  const canHere = canAnswer && hasButtons;
  const where = canHere ? "" : `\n\nAnswer it in the terminal or at ${url}`;
  const words = styled(...(simple === null ? wanted(permission, context) : asked(simple, context)), where);
  return plainMessage(words, { replyTo, buttons: canHere ? buttonsOf(permission, simple) : [] });
}

function buttonsOf(permission: PendingPermission, simple: SimpleQuestion | null): Button[][] {
  const { permissionId, kind } = permission;
  if (simple !== null) {
    return simple.options.map(({ label }, index) => [
      { label: plainLine(label, maxLabelLength) || String(index + 1), data: `q:${permissionId}:${index}` },
    ]);
  }
  const choices = dialogChoices(permission);
  if (choices !== null) {
    return choices.map(({ choiceId, label }) => [
      { label: plainLine(label, maxLabelLength) || choiceId, data: `d:${permissionId}:${choiceId}` },
    ]);
  }
  const [yes, no] = kind === "plan" ? ["Approve", "Keep planning"] : ["Allow", "Deny"];
  return [
    [
      { label: `✅ ${yes}`, data: `p:${permissionId}:a` },
      { label: `❌ ${no}`, data: `p:${permissionId}:d` },
    ],
    ...(kind === "permission" ? [[{ label: "✅ Allow for this session…", data: `o:${permissionId}` }]] : []),
  ];
}

function asked({ question, options }: SimpleQuestion, { agent }: QuestionContext): readonly (string | Styled)[] {
  const lines = options.map(
    ({ label, description }) =>
      `\n• ${plainLine(label)}${description === undefined || description === "" ? "" : `: ${plainLine(description)}`}`,
  );
  return [bold(`${agent} asks`), "\n", shortened(plainWords(question), 1_000), shortened(lines.join(""), 2_000)];
}

const knownInputSchema = z.looseObject({
  command: z.union([z.string(), z.array(z.string())]).optional(),
  file_path: z.string().optional(),
  plan: z.string().optional(),
  text: z.string().optional(),
});

function wanted({ kind, tool, input }: PendingPermission, { agent }: QuestionContext): readonly (string | Styled)[] {
  const name = plainLine(tool, 100);
  const heads = { plan: `${agent} has a plan`, question: `${agent} asks`, dialog: `${agent}: ${name}` };
  const head = kind === "permission" ? `${agent}: ${name}?` : heads[kind];
  const { command, plan, text: shown } = knownInputSchema.safeParse(input).data ?? {};
  const single = onlyField(input);
  const whole =
    single === "plan" && plan !== undefined
      ? plan
      : kind === "dialog" && shown !== undefined
        ? shown
        : single === "command" && command !== undefined
          ? [command].flat().join(" ")
          : readable(input);
  const text = plainWords(whole);
  const cut = text.length > maxInputLength;
  const notice = `\n⚠️ Truncated: ${text.length - maxInputLength} more characters. Review all of it before you allow it.`;
  return [bold(head), "\n", inStyle("pre", shortened(text, maxInputLength)), cut ? notice : ""];
}

/** The field that determines the action. The description next to it is written by the agent and proves nothing. */
function onlyField(input: unknown): string | null {
  const keys = Object.keys(z.looseObject({}).safeParse(input).data ?? {}).filter((key) => key !== "description");
  return keys.length === 1 ? (keys[0] ?? null) : null;
}

/** Each field under its name, with the line breaks of its text. */
function readable(input: unknown): string {
  const fields = z.looseObject({}).safeParse(input).data;
  if (fields === undefined) return JSON.stringify(input, null, 1) ?? "";
  return Object.entries(fields)
    .map(([name, value]) => {
      const text = typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "");
      return `${name}: ${text.includes("\n") ? "\n" : ""}${text}`;
    })
    .join("\n");
}

/** The same message after the decision, with its result. */
export function settledQuestion(body: string, outcome: string): MessageBody {
  const before = messageBodySchema.parse(JSON.parse(body));
  return { ...before, text: `${before.text}\n\n${outcome}`, buttons: [] };
}
