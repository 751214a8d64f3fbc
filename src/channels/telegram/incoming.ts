import type { CallbackQuery, Message, Update } from "grammy/types";
import type { ChannelUpdate, Incoming, IncomingFile } from "../channel.ts";

/** A chat. In a forum, each topic is its own chat. */
export interface TelegramPlace {
  readonly chat: string;
  readonly topic: number | null;
}

/** The chat and topic for a chat id. */
export function chatAndTopic(chatId: string): TelegramPlace {
  const [chat = "", topic] = chatId.split("/");
  return { chat, topic: topic === undefined ? null : Number(topic) };
}

/** Converts a Telegram update to the common format. @param botName the bot's own, without `@` */
export function fromTelegram(update: Update, botName: string): ChannelUpdate {
  const { update_id: updateId, message, callback_query: query } = update;
  if (message !== undefined) return { updateId, incoming: fromMessage(message, botName) };
  if (query !== undefined) return { updateId, incoming: fromPress(query) };
  return { updateId, incoming: null };
}

function fromPress({ id, from, message, data }: CallbackQuery): Incoming | null {
  if (message === undefined || data === undefined || from.is_bot) return null;
  const topic = "is_topic_message" in message && message.is_topic_message ? message.message_thread_id : undefined;
  return {
    userId: String(from.id),
    userName: nameOf(from),
    chatId: chatIdOf(message.chat.id, topic),
    isPrivate: message.chat.type === "private",
    messageId: String(message.message_id),
    content: { kind: "press", pressId: id, data },
  };
}

function fromMessage(message: Message, botName: string): Incoming | null {
  const { from, chat } = message;
  if (from === undefined || from.is_bot) return null;
  const content = contentOf(message, botName);
  if (content === null) return null;
  return {
    userId: String(from.id),
    userName: nameOf(from),
    chatId: chatIdOf(chat.id, message.is_topic_message === true ? message.message_thread_id : undefined),
    isPrivate: chat.type === "private",
    messageId: String(message.message_id),
    ...(message.media_group_id === undefined ? {} : { albumId: message.media_group_id }),
    content,
  };
}

/** Messages without text that are addressed to readers, unlike notices such as joins and pins. */
const unreadable = [
  "voice",
  "audio",
  "video",
  "video_note",
  "animation",
  "sticker",
  "location",
  "contact",
  "poll",
] as const;

function contentOf(message: Message, botName: string): Incoming["content"] | null {
  if (unreadable.some((kind) => message[kind] !== undefined)) return { kind: "unreadable" };
  const files = filesOf(message);
  const text = message.text ?? (files.length > 0 ? (message.caption ?? "") : undefined);
  if (text === undefined) return null;
  const replied = message.reply_to_message;
  // In a topic every message replies to the topic's first one.
  const replyTo =
    replied === undefined || replied.forum_topic_created !== undefined ? null : String(replied.message_id);
  const [, name, addressee, rest = ""] = /^\/([a-z0-9_]{1,32})(?:@(\w+))?(?:\s+([\s\S]*))?$/i.exec(text) ?? [];
  if (name === undefined) return { kind: "text", text, replyTo, files };
  if (addressee !== undefined && addressee.toLowerCase() !== botName.toLowerCase()) return null;
  return { kind: "command", name: name.toLowerCase(), rest, replyTo, files };
}

/** A photo comes in several sizes, the largest last. An animation is also a document. */
function filesOf({ photo, document }: Message): IncomingFile[] {
  const picture = photo?.at(-1);
  if (picture !== undefined) return [fileOf(picture, "photo.jpg")];
  return document === undefined ? [] : [fileOf(document, document.file_name ?? "file")];
}

function fileOf(
  { file_id: fileId, file_size: sizeBytes }: { readonly file_id: string; readonly file_size?: number },
  name: string,
): IncomingFile {
  return { fileId, name, sizeBytes: sizeBytes ?? null };
}

function chatIdOf(chat: number, topic: number | undefined): string {
  return topic === undefined ? String(chat) : `${chat}/${topic}`;
}

function nameOf({
  username,
  first_name: firstName,
}: {
  readonly username?: string;
  readonly first_name: string;
}): string {
  return username === undefined ? firstName : `@${username}`;
}
