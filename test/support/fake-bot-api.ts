import { createServer, type Server } from "node:http";
import { z } from "zod";
import { bodyOf } from "./bot-api-body.ts";
import { BadRequest, type Entity, type Said, textOf } from "./bot-api-text.ts";

// A stand-in for Telegram's Bot API server, written for these tests from its documentation; it is not Telegram. It holds to what matters here:
// updates are handed over until they are confirmed by an offset, messages have bounds, styles have to fit their text, edits that change
// nothing are errors, and one chat may get one message a second when `paced` is on.

/** A message in a chat, as a person sees it. */
export interface ShownMessage {
  readonly messageId: number;
  readonly chatId: string;
  readonly text: string;
  readonly entities: readonly Entity[];
  readonly buttons: readonly { readonly text: string; readonly callback_data: string }[];
  readonly document: { readonly name: string; readonly content: string } | null;
  readonly replyTo: number | null;
  readonly topic: number | null;
  readonly edits: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** A person who uses the app. */
export interface Person {
  readonly id: number;
  readonly username: string;
}

/** The stand-in, running on the loopback. */
export interface FakeBotApi {
  readonly url: string;
  readonly messages: readonly ShownMessage[];
  /** Every request: its method and body. */
  readonly requests: readonly {
    readonly method: string;
    readonly body: Record<string, unknown>;
    readonly at: number;
  }[];
  /** What was shown for a moment after presses. */
  readonly notices: readonly string[];
  /** A person writes. @returns the message's id */
  write(
    from: Person,
    text: string,
    more?: {
      readonly replyTo?: number;
      readonly chat?: number;
      readonly topic?: number;
      /** A document; as a photo, without a name. */
      readonly file?: { readonly name?: string; readonly bytes: Buffer };
      readonly albumId?: string;
    },
  ): number;
  /** A person presses the button with these words. */
  press(from: Person, message: ShownMessage, label: string): void;
  /** Hands over whatever update a test makes up; `update_id` is set. */
  give(update: Readonly<Record<string, unknown>>): void;
  /** Sends the same updates again, as Telegram does until they are acknowledged. */
  repeatAll(): void;
  /** Decides about a request in place of the server; null lets it be. */
  intercept: (method: string, body: Record<string, unknown>) => Interception | null;
  close(): Promise<void>;
}

/** What happens to a request instead: an answer, or the connection breaks, before or after it had its effect. */
export type Interception =
  | { readonly status: number; readonly description: string; readonly retryAfter?: number }
  | "break"
  | "break-after";

/** Starts it. @param options `paced`: more than a message a second to one chat is 429, as Telegram does after a while */
export async function startFakeBotApi(
  options: { readonly token: string; readonly port?: number; readonly paced?: boolean } = { token: "1:fake" },
): Promise<FakeBotApi> {
  const messages: ShownMessage[] = [];
  const requests: { method: string; body: Record<string, unknown>; at: number }[] = [];
  const notices: string[] = [];
  let updates: Record<string, unknown>[] = [];
  const given: Record<string, unknown>[] = [];
  let nextUpdateId = 1_000;
  let nextMessageId = 1;
  const wakers = new Set<() => void>();

  function give(update: Readonly<Record<string, unknown>>): void {
    const whole = { update_id: nextUpdateId, ...update };
    nextUpdateId += 1;
    given.push(whole);
    updates.push(whole);
    for (const wake of wakers) wake();
  }

  const files = new Map<string, Buffer>();

  function withFile(
    { text, ...message }: Record<string, unknown>,
    { name, bytes }: { readonly name?: string; readonly bytes: Buffer },
  ): Record<string, unknown> {
    const fileId = `file-${files.size + 1}`;
    files.set(fileId, bytes);
    const file = { file_id: fileId, file_unique_id: fileId, file_size: bytes.length };
    const caption = text === "" ? {} : { caption: text };
    // A photo comes in several sizes.
    const small = { ...file, file_id: "small", width: 10, height: 10, file_size: 10 };
    return name === undefined
      ? { ...message, ...caption, photo: [small, { ...file, width: 48, height: 48 }] }
      : { ...message, ...caption, document: { ...file, file_name: name } };
  }

  const methods: Readonly<Record<string, (body: Record<string, unknown>) => unknown>> = {
    getMe: () => ({ id: 1, is_bot: true, first_name: "Postern", username: "postern_test_bot" }),
    setMyCommands: () => true,
    sendChatAction: () => true,
    getFile({ file_id: id }) {
      const bytes = files.get(String(id));
      if (bytes === undefined) throw new BadRequest("Bad Request: wrong file_id");
      if (bytes.length > 20 * 1024 * 1024) throw new BadRequest("Bad Request: file is too big");
      return { file_id: id, file_unique_id: id, file_size: bytes.length, file_path: `documents/${String(id)}` };
    },
    answerCallbackQuery: ({ text }) => notices.push(z.string().parse(text ?? "")) > 0,
    sendMessage: (body) => shown(body, textOf(body, "text", 4_096), null),
    sendDocument: (body) => shown(body, textOf(body, "caption", 1_024), documentSchema.parse(body["document"])),
    editMessageText: edit,
  };

  function shown(body: Record<string, unknown>, said: Said, document: ShownMessage["document"]): unknown {
    const {
      chat_id: chatId,
      reply_markup: markup,
      reply_parameters: reply,
      message_thread_id: topic,
    } = commonSchema.parse(body);
    const last = messages.findLast((message) => message.chatId === chatId);
    if (options.paced === true && last !== undefined && Date.now() - last.at < 1_000) {
      throw new BadRequest("Too Many Requests: retry after 1", 429, 1);
    }
    const message: ShownMessage = {
      messageId: nextMessageId,
      chatId,
      ...said,
      buttons: buttonsOf(markup),
      document,
      replyTo: reply?.message_id ?? null,
      topic: topic ?? null,
      edits: 0,
      at: Date.now(),
    };
    nextMessageId += 1;
    messages.push(message);
    return { message_id: message.messageId, date: 0, chat: { id: Number(chatId), type: "private" }, text: said.text };
  }

  function edit(body: Record<string, unknown>): unknown {
    const { chat_id: chatId, message_id: messageId, reply_markup: markup } = editSchema.parse(body);
    const at = messages.findIndex((message) => message.messageId === messageId && message.chatId === chatId);
    const before = messages[at];
    if (before === undefined) throw new BadRequest("Bad Request: message to edit not found");
    const after = { ...before, ...textOf(body, "text", 4_096), buttons: buttonsOf(markup), edits: before.edits + 1 };
    const look = ({ text: words, entities, buttons }: ShownMessage): string =>
      JSON.stringify([words, entities, buttons]);
    if (look(before) === look(after))
      throw new BadRequest("Bad Request: message is not modified: specified new message content");
    messages[at] = after;
    return { message_id: messageId };
  }

  async function getUpdates(body: Record<string, unknown>, gone: () => boolean): Promise<unknown> {
    const { offset, timeout } = z.object({ offset: z.int().optional(), timeout: z.int().default(0) }).parse(body);
    // Updates before the offset are confirmed, and never delivered again.
    if (offset !== undefined) updates = updates.filter(({ update_id: id }) => Number(id) >= offset);
    const until = Date.now() + timeout * 1_000;
    while (updates.length === 0 && Date.now() < until && !gone() && server.listening) {
      await new Promise<void>((resolve) => {
        wakers.add(resolve);
        setTimeout(resolve, 50).unref();
      });
      wakers.clear();
    }
    return updates.slice(0, 100);
  }

  const fake: { intercept: FakeBotApi["intercept"] } = { intercept: () => null };
  const server: Server = createServer((request, response) => {
    void (async () => {
      const [, holder, fileId = ""] = /^\/file\/bot([^/]+)\/documents\/([\w-]+)$/.exec(request.url ?? "") ?? [];
      const bytes = files.get(fileId);
      if (holder !== undefined) {
        return holder === options.token && bytes !== undefined
          ? response.writeHead(200).end(bytes)
          : response.writeHead(404).end();
      }
      const [, token, method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url ?? "") ?? [];
      const body = await bodyOf(request);
      requests.push({ method, body, at: Date.now() });
      const instead = fake.intercept(method, body);
      if (instead === "break") return request.socket.destroy();
      const answer = await answerTo(() => {
        if (token !== options.token) throw new BadRequest("Unauthorized", 401);
        if (instead !== null && typeof instead === "object") {
          throw new BadRequest(instead.description, instead.status, instead.retryAfter);
        }
        if (method === "getUpdates") return getUpdates(body, () => request.socket.destroyed);
        const run = methods[method];
        if (run === undefined) throw new BadRequest(`Not Found: method ${method}`, 404);
        return run(body);
      });
      if (instead === "break-after") return request.socket.destroy();
      return response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(answer.body));
    })();
  });
  await new Promise<void>((listening) => server.listen(options.port ?? 0, "127.0.0.1", listening));
  const address = server.address();
  const port = address === null || typeof address === "string" ? 0 : address.port;

  return Object.assign(fake, {
    url: `http://127.0.0.1:${port}`,
    messages,
    requests,
    notices,
    give,
    repeatAll() {
      updates = [...given];
    },
    write(
      from: Person,
      words: string,
      { replyTo, chat, topic, file, albumId }: NonNullable<Parameters<FakeBotApi["write"]>[2]> = {},
    ) {
      const messageId = nextMessageId;
      nextMessageId += 1;
      const album = albumId === undefined ? {} : { media_group_id: albumId };
      const whole = { ...messageFrom(from, { messageId, words, replyTo, chat, topic }), ...album };
      give({ message: file === undefined ? whole : withFile(whole, file) });
      return messageId;
    },
    press(from: Person, message: ShownMessage, label: string) {
      const button = message.buttons.find(({ text: words }) => words.includes(label));
      if (button === undefined) throw new Error(`There is no button "${label}" under: ${message.text}`);
      const chat = chatOf(Number(message.chatId), from);
      const pressed = { message_id: message.messageId, date: 1, chat };
      give({
        callback_query: {
          id: `press-${nextUpdateId}`,
          from: personOf(from),
          message: pressed,
          data: button.callback_data,
        },
      });
    },
    async close() {
      server.closeAllConnections();
      await new Promise<void>((closed) => server.close(() => closed()));
    },
  });
}

const documentSchema = z.object({ name: z.string(), content: z.string() });
const markupSchema = z.object({
  inline_keyboard: z.array(
    z.array(
      z.object({ text: z.string().min(1), callback_data: z.string().refine((data) => Buffer.byteLength(data) <= 64) }),
    ),
  ),
});
const commonSchema = z.looseObject({
  chat_id: z.coerce.string(),
  reply_markup: markupSchema.optional(),
  reply_parameters: z.object({ message_id: z.int(), allow_sending_without_reply: z.literal(true) }).optional(),
  message_thread_id: z.coerce.number().optional(),
});
const editSchema = commonSchema.extend({ message_id: z.int() });

function buttonsOf(markup: z.infer<typeof markupSchema> | undefined): ShownMessage["buttons"] {
  return markup?.inline_keyboard.flat() ?? [];
}

async function answerTo(run: () => unknown): Promise<{ readonly status: number; readonly body: unknown }> {
  try {
    return { status: 200, body: { ok: true, result: await run() } };
  } catch (error) {
    const status = error instanceof BadRequest ? error.status : 400;
    const retryAfter = error instanceof BadRequest ? error.retryAfter : undefined;
    const description = error instanceof Error ? error.message : String(error);
    const parameters = retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } };
    return { status, body: { ok: false, error_code: status, description, ...parameters } };
  }
}

const personOf = ({ id, username }: Person) => ({ id, is_bot: false, first_name: username, username });
const chatOf = (id: number, from: Person) =>
  id === from.id ? { id, type: "private", first_name: from.username } : { id, type: "supergroup", title: "A group" };

function messageFrom(
  from: Person,
  message: {
    readonly messageId: number;
    readonly words: string;
    readonly replyTo: number | undefined;
    readonly chat: number | undefined;
    readonly topic: number | undefined;
  },
): Record<string, unknown> {
  const { messageId, words, replyTo, chat = from.id, topic } = message;
  return {
    message_id: messageId,
    date: Math.floor(Date.now() / 1_000),
    from: personOf(from),
    chat: chatOf(chat, from),
    text: words,
    ...(replyTo === undefined ? {} : { reply_to_message: { message_id: replyTo, date: 1, chat: chatOf(chat, from) } }),
    ...(topic === undefined ? {} : { is_topic_message: true, message_thread_id: topic }),
  };
}
