import type { ChatSession, ChatWork } from "../chats/index.ts";
import { maxAttachmentBytes } from "../wire/attachments.ts";
import type { IncomingFile } from "./channel.ts";
import { type Dealing, type Dealt, type KeptRequest, keptRequestSchema, type Outcome, say } from "./session-actions.ts";
import { activityWords, settledQuestion, simpleQuestion } from "./session-messages.ts";
import { code, plainLine, plainMessage, type Styled, styled } from "./styled.ts";

/** A prompt as a person wrote it. */
interface WrittenPrompt {
  readonly prompt: string;
  readonly files: readonly IncomingFile[];
}

/** Starts a session in the chat's folder. */
export async function startSession(
  dealing: Dealing,
  dealt: Dealt,
  { prompt: words, files }: WrittenPrompt,
): Promise<Outcome> {
  const { chats, folders } = dealing.deps;
  if (dealt.update.request !== null) return ask(dealing, dealt, null);
  const chat = await chats.store.chat(dealt.incoming.chatId);
  const known = await folders();
  const dir = chat.dir ?? (known.length === 1 ? known[0] : undefined);
  if (dir === undefined) return { say: [plainMessage(styled("Choose a folder first with /folder."))] };
  const prompt = promptOf({ prompt: words, files });
  if (prompt.trim() === "") return { say: [plainMessage(styled("Add a prompt: /ask <prompt>"))] };
  const agent = chat.agent === null ? {} : { agent: chat.agent };
  const attached = await attach(dealing, files, null);
  if ("refusal" in attached) return attached.refusal;
  return ask(dealing, dealt, { input: { dir, prompt, ...agent, ...attached.input }, turnIndex: -1, turnLength: 0 });
}

/** Continues a session. */
export async function continueSession(
  dealing: Dealing,
  dealt: Dealt,
  { sessionId, prompt, files }: WrittenPrompt & { readonly sessionId: string },
): Promise<Outcome> {
  const { sessions, signal, deps } = dealing;
  if (dealt.update.request !== null) return ask(dealing, dealt, null);
  const session = await sessions.read({ sessionId, last: 1, blocks: false }, signal);
  const bound = await deps.chats.store.bound(dealt.incoming.chatId, session.sessionId);
  const last = session.turns.at(-1);
  const { turnIndex, turnLength } = bound ?? { turnIndex: last?.index ?? -1, turnLength: last?.text.length ?? 0 };
  const attached = await attach(dealing, files, session.sessionId);
  if ("refusal" in attached) return attached.refusal;
  const place = { dir: session.dir, sessionId: session.sessionId };
  const input = { ...place, prompt: promptOf({ prompt, files }), ...attached.input };
  return ask(dealing, dealt, { input, turnIndex, turnLength });
}

/** A file can be a message without text. */
function promptOf({ prompt, files }: WrittenPrompt): string {
  return prompt.trim() === "" && files.length > 0 ? "See the attached file." : prompt;
}

/** Stores files that a person sent. Files left by a crash are deleted after a day. */
async function attach(
  { deps, sessions, signal }: Dealing,
  files: readonly IncomingFile[],
  sessionId: string | null,
): Promise<{ readonly input: Pick<KeptRequest["input"], "attachments"> } | { readonly refusal: Outcome }> {
  const attachments: string[] = [];
  for (const { fileId, name, sizeBytes } of files) {
    const shown = plainLine(name, 100);
    if ((sizeBytes ?? 0) > maxAttachmentBytes) {
      return { refusal: say(`⚠️ Not sent: ${shown} is larger than 20 MB. (attachment_too_large)`) };
    }
    const download = await deps.channel.download(fileId, signal);
    if (download.kind !== "file") {
      deps.log.warn({ channel: deps.channel.name, kind: download.kind }, "cannot fetch a file from the chat service");
      return { refusal: say(`⚠️ Not sent: ${shown} could not be fetched. Send it again.`) };
    }
    attachments.push(await sessions.attach(name, sessionId, download.body));
  }
  return { input: attachments.length === 0 ? {} : { attachments } };
}

async function ask(dealing: Dealing, dealt: Dealt, fresh: KeptRequest | null): Promise<Outcome> {
  const { deps, reports } = dealing;
  const { update, incoming } = dealt;
  const { chats, channel } = deps;
  const kept = update.request === null ? fresh : keptRequestSchema.parse(JSON.parse(update.request));
  if (kept === null) return {};
  if (update.request === null) await chats.inbox.keepRequest(update.updateId, JSON.stringify(kept));
  await channel.showWorking(incoming.chatId);
  const { sessionId } = kept.input;
  const send = (): Promise<Outcome> => askAndBind(dealing, dealt, kept);
  // A fast agent can answer before the chat waits for it, so reports on the session are held until then.
  return sessionId === undefined ? send() : reports.exclusively(sessionId, send);
}

/** Makes the answer a reply to this message. */
async function askAndBind({ deps, sessions, signal }: Dealing, dealt: Dealt, kept: KeptRequest): Promise<Outcome> {
  const { chats, channel } = deps;
  const { update, incoming } = dealt;
  const idempotencyKey = `${channel.name}:${incoming.chatId}:${incoming.messageId ?? update.updateId}`;
  const asked = await sessions.ask({ ...kept.input, idempotencyKey }, signal);
  const { sessionId } = asked;
  const before = await chats.store.bound(incoming.chatId, sessionId);
  const key = `status:${incoming.chatId}:${update.updateId}`;
  const words = styled(activityWords(asked), placeWords(asked.title, kept.input.sessionId !== undefined), " in ");
  const bind: ChatSession = {
    chatId: incoming.chatId,
    sessionId,
    // Keeps the progress of reports made in the meantime.
    turnIndex: Math.max(before?.turnIndex ?? -1, kept.turnIndex),
    turnLength: before !== null && before.turnIndex >= kept.turnIndex ? before.turnLength : kept.turnLength,
    promptMessageId: incoming.messageId,
    statusKey: key,
  };
  const body = JSON.stringify(
    plainMessage(styled(words, code(asked.dir)), { replyTo: incoming.messageId, silent: true }),
  );
  const status = [{ key, chatId: incoming.chatId, sessionId, body, final: false }];
  await chats.settle({ bind, say: status, change: endedStatus(before, key) });
  return { sessionId, chat: { sessionId } };
}

function placeWords(title: string | null, isContinued: boolean): string | Styled {
  return isContinued && title !== null ? ` on “${plainLine(title, 60)}”` : "";
}

/** Ends the status message of the previous turn. */
function endedStatus(before: ChatSession | null, key: string): NonNullable<ChatWork["change"]> {
  if (before?.statusKey == null || before.statusKey === key) return [];
  const body = JSON.stringify(plainMessage(styled("⏩ Continued below."), { silent: true }));
  return [{ key: before.statusKey, body, final: true }];
}

/** Answers an agent's question with the person's text, if it replies to one. @returns null if it replies to something else */
export async function answerInWords(
  dealing: Dealing,
  { update, incoming }: Dealt,
  { sessionId, replyTo, text }: { readonly sessionId: string; readonly replyTo: string; readonly text: string },
): Promise<Outcome | null> {
  const { sessions, reports, signal, deps } = dealing;
  // The gateway stopped while processing this update. If the question is still open, its answer is sent again below.
  const begunBefore = update.request !== null;
  const open = await deps.chats.outbox.openQuestions(sessionId);
  const question = open.find(({ messageId, chatId }) => messageId === replyTo && chatId === incoming.chatId);
  if (question === undefined || !(await sessions.canAnswer())) return begunBefore ? { sessionId } : null;
  return reports.exclusively(sessionId, async () => {
    const session = await sessions.read({ sessionId, last: 1, blocks: false }, signal);
    const pending = session.permissions.find(({ permissionId }) => permissionId === question.permissionId);
    const simple = pending === undefined ? null : simpleQuestion(pending);
    if (!begunBefore && (pending === undefined || simple === null)) return null;
    await deps.chats.inbox.keepRequest(update.updateId, JSON.stringify({ decision: "allow" }));
    if (pending !== undefined && simple !== null) {
      const answers = { [simple.question]: text };
      const { permissionId } = pending;
      await sessions.answer({ sessionId, permissionId, decision: "allow", answers }, signal);
    }
    const words = `💬 ${plainLine(incoming.userName, 60)} replied with text.`;
    const body = JSON.stringify(settledQuestion(question.body, words));
    await deps.chats.settle({ change: [{ key: question.key, body, final: true }] });
    return { sessionId };
  });
}
