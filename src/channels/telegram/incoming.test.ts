import type { Update } from "grammy/types";
import { expect, test } from "vitest";
import { chatAndTopic, fromTelegram } from "./incoming.ts";

const from = { id: 7, is_bot: false, first_name: "Ann" };
const chat = { id: 7, type: "private", first_name: "Ann" } as const;
const read = (message: object) => {
  const whole: Update = { update_id: 1, message: { message_id: 5, date: 1, chat, from, text: "", ...message } };
  return fromTelegram(whole, "My_Bot").incoming;
};

test("parses a command's name and argument, on any line", () => {
  expect(read({ text: "/ask fix it\n\nplease" })?.content).toEqual({
    kind: "command",
    name: "ask",
    rest: "fix it\n\nplease",
    replyTo: null,
    files: [],
  });
  expect(read({ text: "/ASK@my_bot\nfix" })?.content).toMatchObject({ name: "ask", rest: "fix" });
  expect(read({ text: "/ask@other_bot fix" })).toBeNull();
  expect(read({ text: "/etc/passwd is a file" })?.content).toMatchObject({ kind: "text" });
});

test("accepts only people: no bots, channels or anonymous group administrators", () => {
  expect(read({ text: "/ask x", from: { ...from, is_bot: true } })).toBeNull();
  expect(read({ text: "/ask x", from: undefined })).toBeNull();
  expect(fromTelegram({ update_id: 3 }, "My_Bot")).toEqual({ updateId: 3, incoming: null });
});

test("takes the largest size of a photo, and a file by its name, with the caption as text or command", () => {
  const photo = [
    { file_id: "small", file_size: 10 },
    { file_id: "large", file_size: 99 },
  ];
  expect(read({ text: undefined, photo })?.content).toEqual({
    ...{ kind: "text", text: "", replyTo: null },
    files: [{ fileId: "large", name: "photo.jpg", sizeBytes: 99 }],
  });
  const document = { file_id: "d", file_name: "log.txt" };
  expect(read({ text: undefined, document, caption: "/ask what failed?" })?.content).toMatchObject({
    ...{ kind: "command", name: "ask", rest: "what failed?" },
    files: [{ fileId: "d", name: "log.txt", sizeBytes: null }],
  });
});

test("reports a voice message and an animation as unreadable, and ignores that someone joined", () => {
  expect(read({ text: undefined, voice: {} })?.content).toEqual({ kind: "unreadable" });
  expect(read({ text: undefined, animation: {}, document: { file_id: "a" } })?.content).toEqual({ kind: "unreadable" });
  expect(read({ text: undefined, new_chat_members: [from] })).toBeNull();
});

test("a topic is a separate chat, and its first message does not count as replied to", () => {
  const group = { id: -9, type: "supergroup", title: "G" };
  const topic = { is_topic_message: true, message_thread_id: 4, chat: group };
  const start = { message_id: 4, date: 1, chat: group, forum_topic_created: { name: "T", icon_color: 1 } };
  expect(read({ text: "hi", ...topic, reply_to_message: start })).toMatchObject({
    chatId: "-9/4",
    isPrivate: false,
    content: { replyTo: null },
  });
  expect(chatAndTopic("-9/4")).toEqual({ chat: "-9", topic: 4 });
  expect(chatAndTopic("-9")).toEqual({ chat: "-9", topic: null });
});
