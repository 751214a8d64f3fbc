import { z } from "zod";
import type { ChatUpdate, ChatWork } from "../chats/index.ts";
import { sha256 } from "../core/ids.ts";
import { type AnswerPermissionInput, askInputSchema, type ReadOutput, type SessionSummary } from "../wire/coding.ts";
import type { Button, Incoming, MessageBody } from "./channel.ts";
import type { Deliveries } from "./deliveries.ts";
import { fromMarkdown, splitText } from "./markdown.ts";
import type { ChatDeps } from "./ports.ts";
import type { Reports } from "./reports.ts";
import { activityWords } from "./session-messages.ts";
import type { Sessions } from "./sessions.ts";
import { bold, code, plainLine, plainMessage, plainWords, type Styled, shortened, styled } from "./styled.ts";

/** Dependencies for processing commands, texts and presses. */
export interface Dealing {
  readonly deps: ChatDeps;
  readonly sessions: Sessions;
  readonly reports: Reports;
  readonly deliveries: Deliveries;
  readonly signal: AbortSignal;
}

/** An update being processed. */
export interface Dealt {
  readonly update: ChatUpdate;
  readonly incoming: Incoming;
}

/** The result. */
export interface Outcome extends Pick<ChatWork, "bind" | "change"> {
  readonly say?: readonly MessageBody[];
  /** Messages that are changed later, by their keys. */
  readonly keyed?: readonly { readonly key: string; readonly body: string }[];
  /** The session that the outcome is about. */
  readonly sessionId?: string;
  readonly chat?: Omit<NonNullable<ChatWork["chat"]>, "chatId">;
}

/** The result of a press, in a few words that the chat program shows briefly. */
export interface Pressed extends Outcome {
  readonly notice: string;
}

/** An answer to a permission request. */
export interface Choice {
  readonly answer: Pick<AnswerPermissionInput, "decision" | "choice" | "answers" | "remember">;
  /** The result, for the message. */
  readonly words: string;
}

/** A tool call, stored before it is made, so that a repeat after a crash is identical. */
export const keptRequestSchema = z.object({
  input: askInputSchema,
  /** The session's state before this prompt. */
  turnIndex: z.int(),
  turnLength: z.int(),
});
export type KeptRequest = z.infer<typeof keptRequestSchema>;

/** A reply with this text. */
export function say(...pieces: readonly (string | Styled)[]): Outcome {
  return { say: [plainMessage(styled(...pieces))] };
}

/** A short name for a value that exceeds a button's 64 bytes. */
export function shortHash(text: string): string {
  return sha256(text).slice(0, 24);
}

/** Sets the folder for the chat's new sessions. */
export async function chooseFolder({ deps }: Dealing, isWanted: (dir: string) => boolean): Promise<Outcome> {
  const dir = (await deps.folders()).find(isWanted);
  if (dir === undefined) return say("This folder is no longer registered. Use /folder to choose another.");
  return { ...say("New sessions in this chat start in ", code(plainLine(dir, 1_000))), chat: { dir } };
}

/** Sets the agent for the chat's new sessions. */
export async function chooseAgent(
  { sessions, signal }: Dealing,
  isWanted: (name: string) => boolean,
): Promise<Outcome> {
  const { agents } = await sessions.agents(signal);
  const agent = agents.find(({ name, aliases }) => isWanted(name) || aliases.some(isWanted));
  if (agent === undefined) return say("This agent is not configured. Use /agent to choose another.");
  return { ...say("New sessions in this chat use ", bold(agent.name)), chat: { agent: agent.name } };
}

// Shows the end of the last answer, as a reminder.
const maxGlanceLength = 1_500;

/** Makes this the chat's current session, about which it gets reports from now on. */
export async function chooseSession(
  { sessions, deps, signal }: Dealing,
  { incoming }: Dealt,
  id: string,
): Promise<Outcome> {
  const session = await sessions.read({ sessionId: id, last: 2, blocks: false }, signal);
  const { sessionId } = session;
  const { chatId } = incoming;
  const known = await deps.chats.store.bound(chatId, sessionId);
  const last = session.turns.at(-1);
  const glance = plainWords(session.turns.findLast(({ role }) => role === "assistant")?.text ?? "").trim();
  const shown = glance.length <= maxGlanceLength ? glance : `…${glance.slice(-maxGlanceLength).toWellFormed()}`;
  const words = styled(
    bold(plainLine(session.title ?? "(no title)", 100)),
    `\n${activityWords(session)}\n`,
    code(plainLine(session.dir, 1_000)),
    shown === "" ? "" : styled("\n\n", fromMarkdown(shown)),
    "\n\nSend a message to continue.",
  );
  return {
    sessionId,
    chat: { sessionId },
    say: [plainMessage(words, { buttons: [sessionButtons(session)] })],
    bind: known ?? {
      chatId,
      sessionId,
      turnIndex: last?.index ?? -1,
      turnLength: last?.text.length ?? 0,
      promptMessageId: null,
      statusKey: null,
    },
  };
}

// A button has 64 bytes including its kind; all known session ids have 36.
const maxIdBytes = 60;

function sessionButtons({ sessionId, activity }: SessionSummary): Button[] {
  if (activity === null || Buffer.byteLength(sessionId) > maxIdBytes) return [];
  return [
    ...(activity === "idle" ? [] : [{ label: "Interrupt", data: `i:${sessionId}` }]),
    { label: "Close", data: `c:${sessionId}` },
  ];
}

const listedSessions = 8;

/** The newest sessions, each with a button. */
export async function listSessions({ sessions, deps, signal }: Dealing, { incoming }: Dealt): Promise<Outcome> {
  const { dir, sessionId } = await deps.chats.store.chat(incoming.chatId);
  const list = await sessions.list({ limit: listedSessions, ...(dir === null ? {} : { dir }) }, signal);
  if (list.sessions.length === 0) return say(`No sessions${dir === null ? "" : " in this chat's folder"} yet.`);
  const buttons = list.sessions
    .filter((session) => Buffer.byteLength(session.sessionId) <= maxIdBytes)
    .map((session) => {
      const mark = session.sessionId === sessionId ? "▸ " : "";
      const title = plainLine(session.title ?? session.sessionId, 40);
      return [{ label: `${mark}${title} · ${session.activity ?? session.status}`, data: `s:${session.sessionId}` }];
    });
  const where = dir === null ? "" : " in this chat's folder";
  return {
    say: [plainMessage(styled(`${list.total} sessions${where}, newest first. Choose one to continue.`), { buttons })],
  };
}

/** The newest turns of a session. */
export async function readSession(
  { sessions, deps, signal }: Dealing,
  { sessionId, last }: { readonly sessionId: string; readonly last: number },
): Promise<Outcome> {
  const session = await sessions.read({ sessionId, last, blocks: false }, signal);
  return { sessionId: session.sessionId, say: conversation(session, deps.channel.limits) };
}

const maxReadPieces = 5;
const maxReadLength = 16_000;

function conversation(session: ReadOutput, limits: Dealing["deps"]["channel"]["limits"]): MessageBody[] {
  const turns = session.turns.map((turn) =>
    styled(
      bold(turn.role === "user" ? "You" : session.agent),
      "\n",
      fromMarkdown(shortened(plainWords(turn.text).trim(), maxReadLength)),
    ),
  );
  const all = styled(
    ...turns.flatMap((turn) => [turn, "\n\n"]),
    activityWords(session),
    session.turns.length === 0 ? "\nNo messages yet." : "",
  );
  const pieces = splitText(all, limits);
  const kept = pieces.slice(-maxReadPieces);
  const left = pieces.length - kept.length;
  const notice = left === 0 ? [] : [plainMessage(styled(`(${left} earlier messages omitted.)`))];
  return [...notice, ...kept.map((piece) => plainMessage(piece))];
}

/** Interrupts the turn and keeps the session. */
export async function interruptSession({ sessions, signal }: Dealing, id: string): Promise<Outcome> {
  const { sessionId, interrupted, agent } = await sessions.interrupt(id, signal);
  return { ...say(interrupted ? `⏹ Interrupted ${agent}.` : `${agent} is not running a turn.`), sessionId };
}

/** Closes the session and saves uncommitted work in its worktree. */
export async function closeSession({ sessions, signal }: Dealing, id: string): Promise<Outcome> {
  const { sessionId, agent, worktree } = await sessions.close(id, signal);
  const rescue = worktree?.rescue ?? null;
  const kept =
    rescue === null ? "" : ` Uncommitted work is saved as a backup commit: ${rescue.files} files in ${rescue.ref}.`;
  return { ...say(`■ Closed ${agent}. Send a message to resume it.${kept}`), sessionId };
}
