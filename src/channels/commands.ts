import type { Incoming } from "./channel.ts";
import { listQueue } from "./chat-queue.ts";
import { answerInWords, continueSession, startSession } from "./prompts.ts";
import {
  chooseAgent,
  chooseFolder,
  closeSession,
  type Dealing,
  type Dealt,
  interruptSession,
  keptRequestSchema,
  listSessions,
  type Outcome,
  readSession,
  say,
  shortHash,
} from "./session-actions.ts";
import { bold, code, plainLine, plainMessage, styled } from "./styled.ts";

/** The commands, with descriptions for the chat program's menu. */
export const commands = [
  { name: "ask", words: "Start a session: /ask <prompt>" },
  { name: "folder", words: "Choose the folder for new sessions" },
  { name: "agent", words: "Choose the agent for new sessions" },
  { name: "sessions", words: "List sessions and choose one" },
  { name: "read", words: "Show the latest messages" },
  { name: "queue", words: "List and cancel queued prompts" },
  { name: "interrupt", words: "Stop the running turn" },
  { name: "close", words: "Close the session" },
  { name: "help", words: "Show help" },
] as const;

/** A command and its argument. */
export async function command(
  dealing: Dealing,
  dealt: Dealt,
  { name, rest, replyTo, files }: Extract<Incoming["content"], { readonly kind: "command" }>,
): Promise<Outcome> {
  switch (name) {
    case "start":
    case "help":
      return help(dealing, dealt);
    case "ask":
      return startSession(dealing, dealt, { prompt: rest, files });
    case "folder":
      return folder(dealing, dealt, rest.trim());
    case "agent":
      return agent(dealing, rest.trim());
    case "sessions":
      return listSessions(dealing, dealt);
  }
  if (name !== "read" && name !== "queue" && name !== "interrupt" && name !== "close") {
    return say(`Unknown command /${plainLine(name, 32)}. Use /help to list commands.`);
  }
  const sessionId = await sessionMeant(dealing, dealt, replyTo);
  if (sessionId === null) return say("No session selected. Start one with /ask, or choose one with /sessions.");
  if (name === "interrupt") return interruptSession(dealing, sessionId);
  if (name === "queue") return listQueue(dealing, sessionId);
  if (name === "close") return closeSession(dealing, sessionId);
  const wanted = Number.parseInt(rest, 10);
  return readSession(dealing, { sessionId, last: Number.isNaN(wanted) ? 2 : Math.min(20, Math.max(1, wanted)) });
}

/** A text without a command: continues the session that it replies to, or the chat's current one. */
export async function text(
  dealing: Dealing,
  dealt: Dealt,
  { text: prompt, replyTo, files }: Extract<Incoming["content"], { readonly kind: "text" }>,
): Promise<Outcome> {
  const { isPrivate, chatId } = dealt.incoming;
  const { store } = dealing.deps.chats;
  if (wasAsked(dealt)) return continueSession(dealing, dealt, { sessionId: "", prompt, files });
  if (replyTo !== null) {
    const sessionId = await sessionOfMessage(dealing, chatId, replyTo);
    if (sessionId === null) {
      return isPrivate ? say("That message does not belong to a session. Use /sessions to choose one.") : {};
    }
    // A file is no answer to a question.
    const answer = files.length > 0 ? null : await answerInWords(dealing, dealt, { sessionId, replyTo, text: prompt });
    return answer ?? continueSession(dealing, dealt, { sessionId, prompt, files });
  }
  // In a group, people also talk to each other.
  if (!isPrivate) return {};
  const { sessionId } = await store.chat(chatId);
  if (sessionId === null)
    return say("No session selected. Start one with /ask <prompt>, or choose one with /sessions.");
  return continueSession(dealing, dealt, { sessionId, prompt, files });
}

/** Whether this message's prompt was being sent to a session when the gateway stopped. It is then sent to the same session. */
function wasAsked({ update }: Dealt): boolean {
  return update.request !== null && keptRequestSchema.safeParse(JSON.parse(update.request)).success;
}

async function sessionMeant({ deps }: Dealing, { incoming }: Dealt, replyTo: string | null): Promise<string | null> {
  const replied = replyTo === null ? null : await deps.chats.outbox.sessionOf(incoming.chatId, replyTo);
  return replied ?? (await deps.chats.store.chat(incoming.chatId)).sessionId;
}

/** The session that a message is about, or that a person's message went to. */
async function sessionOfMessage({ deps }: Dealing, chatId: string, messageId: string): Promise<string | null> {
  const { outbox, inbox } = deps.chats;
  return (await outbox.sessionOf(chatId, messageId)) ?? (await inbox.sessionOf(chatId, messageId));
}

async function help({ deps, sessions }: Dealing, { incoming }: Dealt): Promise<Outcome> {
  const { dir, agent: chosen } = await deps.chats.store.chat(incoming.chatId);
  const answers = (await sessions.canAnswer())
    ? "Answer questions from agents with the buttons below them."
    : "Questions from agents are shown here. Answer them in the terminal or in the web application.";
  return say(
    bold("Postern"),
    "\n\n/ask <prompt> starts a session. Photos and files are sent with the prompt.\n",
    "Reply to a message from a session to continue that session.",
    incoming.isPrivate ? " Any other message continues the current session.\n\n" : "\n\n",
    commands.map(({ name, words }) => `/${name}: ${words}`).join("\n"),
    `\n\n${answers}\n\nFolder: `,
    dir === null ? "none, choose one with /folder" : code(plainLine(dir, 1_000)),
    `\nAgent: ${plainLine(chosen ?? "default", 100)}`,
  );
}

const maxButtons = 30;

async function folder(dealing: Dealing, dealt: Dealt, wanted: string): Promise<Outcome> {
  const { folders, allowedDir } = dealing.deps;
  const known = await folders();
  if (wanted !== "") {
    if (known.includes(wanted)) return chooseFolder(dealing, (dir) => dir === wanted);
    const dir = await allowedDir(wanted);
    return { ...say("New sessions in this chat start in ", code(plainLine(dir, 1_000))), chat: { dir } };
  }
  if (known.length === 0) return say("No folders are registered. Enter a path: /folder /home/me/project");
  const { dir: current } = await dealing.deps.chats.store.chat(dealt.incoming.chatId);
  const buttons = known
    .slice(0, maxButtons)
    .map((dir) => [{ label: `${dir === current ? "▸ " : ""}${shortPath(dir)}`, data: `f:${shortHash(dir)}` }]);
  const more =
    known.length > maxButtons
      ? ` ${known.length - maxButtons} more are not listed: enter one with /folder <path>.`
      : "";
  return { say: [plainMessage(styled(`Choose the folder for new sessions.${more}`), { buttons })] };
}

/** The end of a path is more specific than its beginning. */
function shortPath(dir: string): string {
  const path = plainLine(dir, 4_096);
  return path.length <= 50 ? path : `…${path.slice(-49).toWellFormed()}`;
}

async function agent(dealing: Dealing, wanted: string): Promise<Outcome> {
  if (wanted === "default")
    return { ...say("New sessions in this chat use the default agent."), chat: { agent: null } };
  if (wanted !== "") return chooseAgent(dealing, (name) => name === wanted);
  const { agents } = await dealing.sessions.agents(dealing.signal);
  if (agents.length === 0)
    return say("No agents are configured. On the gateway's machine, run ", code("postern coding setup"));
  const buttons = agents
    .slice(0, maxButtons)
    .map(({ name, isDefault }) => [
      { label: `${plainLine(name, 50)}${isDefault ? " (default)" : ""}`, data: `a:${shortHash(name)}` },
    ]);
  return { say: [plainMessage(styled("Choose the agent for new sessions."), { buttons })] };
}
