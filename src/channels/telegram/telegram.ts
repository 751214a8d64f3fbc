import type { InlineKeyboardMarkup, MessageEntity } from "grammy/types";
import type { Api, GrammyError, HttpError } from "grammy/web";
import type { Channel, ChannelLimits, Download, Handover, MessageBody, Received, Span } from "../channel.ts";
import { chatAndTopic, fromTelegram } from "./incoming.ts";

/** Connection settings of the bot. */
export interface TelegramOptions {
  /** From BotFather. It is in every request's URL, and must not be in any log line. */
  readonly token: string;
  /** A Bot API server; Telegram's own by default. Without a trailing slash. */
  readonly apiRoot: string;
  /** Timeout of a long poll. */
  readonly pollSeconds?: number;
}

/**
 * Slightly below Telegram's limits: 4096 characters and 100 styles per message, one message per second in a chat, 30 in all.
 * @see https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this
 */
const limits: ChannelLimits = {
  maxTextLength: 4_000,
  maxSpans: 100,
  betweenMessagesMs: 1_050,
  maxMessagesPerSecond: 25,
};

const defaultPollSeconds = 50;
const requestTimeoutSeconds = 30;
/** For 20 MB over a slow connection. */
const downloadSeconds = 120;
const allowedUpdates = ["message", "callback_query"] as const;

/**
 * Telegram through its Bot API, with long polling, so the gateway need not be reachable. Styles are sent as entities, not as
 * Markdown or HTML, so nothing needs escaping and nothing can fail to parse.
 */
export async function createTelegram(options: TelegramOptions): Promise<Channel> {
  // The runtime-independent build: it uses Node's `fetch` and takes an eighth of the memory of the other one.
  const { Api: ApiOf, GrammyError: RefusalOf, HttpError: FailureOf, InputFile } = await import("grammy/web");
  const { token, apiRoot, pollSeconds = defaultPollSeconds } = options;
  const api: Api = new ApiOf(token, { apiRoot, timeoutSeconds: requestTimeoutSeconds });
  let listening: AbortSignal | null = null;
  const polling: Api = new ApiOf(token, {
    apiRoot,
    timeoutSeconds: pollSeconds + requestTimeoutSeconds,
    // grammY's signal type is from another library; a long poll ends with the caller's signal.
    fetch: (address: string, init: RequestInit) =>
      fetch(address, { ...init, signal: anyOf(init.signal ?? null, listening) }),
  });
  let botName: string | null = null;

  function failureOf(error: unknown): Exclude<Handover, { readonly kind: "sent" }> {
    if (error instanceof RefusalOf) return refusal(error);
    if (error instanceof FailureOf) return unreachable(error);
    throw error;
  }

  async function handOver(task: () => Promise<string>): Promise<Handover> {
    try {
      return { kind: "sent", messageId: await task() };
    } catch (error) {
      return failureOf(error);
    }
  }

  /** Retries without styles if Telegram rejects one. */
  async function withoutStylesIfRefused(
    body: MessageBody,
    task: (body: MessageBody) => Promise<string>,
  ): Promise<string> {
    try {
      return await task(body);
    } catch (error) {
      const isStyle = error instanceof RefusalOf && error.error_code === 400 && body.spans.length > 0;
      if (!isStyle) throw error;
      return task({ ...body, spans: [] });
    }
  }

  /** For best-effort requests. */
  async function attempt(task: () => Promise<unknown>): Promise<void> {
    try {
      await task();
    } catch (error) {
      failureOf(error); // rethrows bugs; ignores Telegram's errors
    }
  }

  return {
    name: "telegram",
    limits,

    async receive(after, signal): Promise<Received> {
      listening = signal;
      try {
        botName ??= (await polling.getMe()).username;
        const updates = await polling.getUpdates({
          ...(after === null ? {} : { offset: after + 1 }),
          timeout: pollSeconds,
          allowed_updates: allowedUpdates,
        });
        const name = botName;
        return { kind: "updates", updates: updates.map((update) => fromTelegram(update, name)) };
      } catch (error) {
        return failureOf(error);
      }
    },

    send: (chatId, whole) =>
      handOver(() =>
        withoutStylesIfRefused(whole, async (body) => {
          const { chat, topic } = chatAndTopic(chatId);
          const common = {
            ...(topic === null ? {} : { message_thread_id: topic }),
            ...(body.replyTo === null
              ? {}
              : { reply_parameters: { message_id: Number(body.replyTo), allow_sending_without_reply: true } }),
            ...(body.buttons.length === 0 ? {} : { reply_markup: keyboardOf(body) }),
            disable_notification: body.silent,
          };
          const entities = body.spans.map(entityOf);
          if (body.document === null) {
            const plain = { ...common, entities, link_preview_options: { is_disabled: true } };
            return String((await api.sendMessage(chat, body.text, plain)).message_id);
          }
          const file = new InputFile(new TextEncoder().encode(body.document.content), body.document.name);
          const caption = { ...common, caption: body.text, caption_entities: entities };
          return String((await api.sendDocument(chat, file, caption)).message_id);
        }),
      ),

    edit: ({ chatId, messageId }, body) =>
      handOver(async () => {
        const { chat } = chatAndTopic(chatId);
        try {
          await api.editMessageText(chat, Number(messageId), body.text, {
            entities: body.spans.map(entityOf),
            link_preview_options: { is_disabled: true },
            reply_markup: keyboardOf(body),
          });
        } catch (error) {
          // The message already has this content.
          const isSame = error instanceof RefusalOf && error.description.includes("message is not modified");
          if (!isSame) throw error;
        }
        return messageId;
      }),

    async download(fileId, signal): Promise<Download> {
      try {
        const { file_path: path } = await api.getFile(fileId);
        // A local Bot API server returns the path of a file on its own disk instead.
        if (path === undefined || path.startsWith("/")) return { kind: "refused", reason: "The file has no address." };
        const address = `${apiRoot}/file/bot${token}/${path.split("/").map(encodeURIComponent).join("/")}`;
        const response = await fetch(address, {
          signal: AbortSignal.any([signal, AbortSignal.timeout(downloadSeconds * 1_000)]),
          redirect: "error",
        });
        if (!response.ok || response.body === null) {
          return { kind: "refused", reason: `The server answered ${response.status}.` };
        }
        return { kind: "file", body: response.body };
      } catch (error) {
        // The address holds the token, so the error of a request is not passed on.
        if (error instanceof RefusalOf || error instanceof FailureOf) return failureOf(error);
        return { kind: "unreachable", uncertain: false, reason: "The file could not be fetched." };
      }
    },

    acknowledge: (pressId, words) => attempt(() => api.answerCallbackQuery(pressId, { text: words })),
    showWorking(chatId) {
      const { chat, topic } = chatAndTopic(chatId);
      return attempt(() => api.sendChatAction(chat, "typing", topic === null ? {} : { message_thread_id: topic }));
    },
    introduce: (commands) =>
      attempt(() => api.setMyCommands(commands.map(({ name, words }) => ({ command: name, description: words })))),
  };
}

function anyOf(...signals: readonly (AbortSignal | null)[]): AbortSignal {
  return AbortSignal.any(signals.filter((signal) => signal !== null));
}

function keyboardOf({ buttons }: MessageBody): InlineKeyboardMarkup {
  return {
    inline_keyboard: buttons.map((row) => row.map(({ label, data }) => ({ text: label, callback_data: data }))),
  };
}

function entityOf({ kind, at: offset, length, language, url }: Span): MessageEntity {
  switch (kind) {
    case "strike":
      return { type: "strikethrough", offset, length };
    case "pre":
      return { type: "pre", offset, length, ...(language === undefined ? {} : { language }) };
    case "link":
      return { type: "text_link", offset, length, url: url ?? "" };
    case "bold":
    case "italic":
    case "code":
      return { type: kind, offset, length };
  }
}

/** Telegram rejected the request. Its description may quote the message, so it is kept only for errors about the bot. */
function refusal({
  error_code: code,
  method,
  parameters,
  description,
}: GrammyError): Exclude<Handover, { readonly kind: "sent" }> {
  if (code === 429) return { kind: "limited", retryAfterMs: (parameters.retry_after ?? 1) * 1_000 };
  if (code >= 500) return { kind: "unreachable", uncertain: true, reason: `${method}: ${code}` };
  const words = code === 401 || code === 403 || code === 404 || code === 409 ? ` ${description.slice(0, 200)}` : "";
  return { kind: "refused", reason: `${method}: ${code}${words}` };
}

/** Codes of errors that occur before anything is sent. */
const beforeSending = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** There was no response. The error's message is not kept, because it may contain the URL with the token. */
function unreachable({ error }: HttpError): Exclude<Handover, { readonly kind: "sent" }> {
  const code = codeOf(error) ?? "no answer";
  return { kind: "unreachable", uncertain: !beforeSending.has(code), reason: code };
}

function codeOf(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if ("code" in error && typeof error.code === "string") return error.code;
  return codeOf(error.cause);
}
