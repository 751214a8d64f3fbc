import { z } from "zod";

/** A styled part of a text. Positions are in UTF-16 units, as in JavaScript and Telegram. */
export const spanSchema = z.object({
  kind: z.enum(["bold", "italic", "strike", "code", "pre", "link"]),
  at: z.int().min(0),
  length: z.int().min(1),
  /** For a `pre`: the language. */
  language: z.string().optional(),
  /** For a `link`: http or https. */
  url: z.string().optional(),
});

/** A button under a message. `data` is returned when it is pressed: at most 64 bytes. */
export const buttonSchema = z.object({ label: z.string(), data: z.string() });

/** The content of a message. */
export const messageBodySchema = z.object({
  text: z.string(),
  spans: z.array(spanSchema),
  /** In rows. */
  buttons: z.array(z.array(buttonSchema)),
  /** A file attached to the text. */
  document: z.object({ name: z.string(), content: z.string() }).nullable(),
  /** The message that it replies to. */
  replyTo: z.string().nullable(),
  /** Whether it is sent without a sound. */
  silent: z.boolean(),
});

export type Span = Readonly<z.infer<typeof spanSchema>>;
export type Button = Readonly<z.infer<typeof buttonSchema>>;
export type MessageBody = Readonly<z.infer<typeof messageBodySchema>>;

/** A file that a person sent. */
const incomingFileSchema = z.object({
  /** The chat program's id for it. */
  fileId: z.string(),
  /** The name from the person's device. Untrusted. */
  name: z.string(),
  /** Null if unknown. */
  sizeBytes: z.int().nullable(),
});

/** What a person did in a chat. */
export const incomingContentSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("command"),
    name: z.string(),
    rest: z.string(),
    replyTo: z.string().nullable(),
    files: z.array(incomingFileSchema).default([]),
  }),
  /** `text` can be empty if there are files. */
  z.object({
    kind: z.literal("text"),
    text: z.string(),
    replyTo: z.string().nullable(),
    files: z.array(incomingFileSchema).default([]),
  }),
  z.object({ kind: z.literal("press"), pressId: z.string(), data: z.string() }),
  /** A voice message or a location, for example, which cannot be sent to an agent. */
  z.object({ kind: z.literal("unreadable") }),
]);

/** A message or button press from a chat, independent of the chat program. */
export const incomingSchema = z.object({
  userId: z.string(),
  /** The person's display name: untrusted. */
  userName: z.string(),
  chatId: z.string(),
  /** Whether the person is alone in the chat. */
  isPrivate: z.boolean(),
  messageId: z.string().nullable(),
  /** The same for all messages of an album. */
  albumId: z.string().optional(),
  content: incomingContentSchema,
});

export type Incoming = z.infer<typeof incomingSchema>;
export type IncomingFile = Readonly<z.infer<typeof incomingFileSchema>>;

/** An update from the chat program; `incoming` is null if it is not relevant. */
export interface ChannelUpdate {
  /** The same if the update is delivered again. */
  readonly updateId: number;
  readonly incoming: Incoming | null;
}

/** The result of sending something to the chat program. */
export type Handover =
  | { readonly kind: "sent"; readonly messageId: string }
  /** Rate limited: retry later. */
  | { readonly kind: "limited"; readonly retryAfterMs: number }
  /** `uncertain`: it may have arrived. */
  | { readonly kind: "unreachable"; readonly uncertain: boolean; readonly reason: string }
  /** Permanent: the chat is gone, for example, or blocked the bot. */
  | { readonly kind: "refused"; readonly reason: string };

/** The result of polling the chat program. */
export type Received =
  | { readonly kind: "updates"; readonly updates: readonly ChannelUpdate[] }
  | { readonly kind: "limited"; readonly retryAfterMs: number }
  | { readonly kind: "unreachable"; readonly reason: string }
  /** It will not recover automatically, for example after a wrong token, or while another program receives the updates. */
  | { readonly kind: "refused"; readonly reason: string };

/** A file's content, as it arrives. */
export type Download =
  | { readonly kind: "file"; readonly body: AsyncIterable<Uint8Array> }
  | Exclude<Handover, { readonly kind: "sent" }>;

/** Limits of a chat program. */
export interface ChannelLimits {
  /** Maximum length of a message, in UTF-16 units. */
  readonly maxTextLength: number;
  readonly maxSpans: number;
  /** Minimum interval between two messages in one chat. */
  readonly betweenMessagesMs: number;
  /** For all chats together. */
  readonly maxMessagesPerSecond: number;
}

/** A chat program. Failures are results; a thrown error is a bug. */
export interface Channel {
  readonly name: string;
  readonly limits: ChannelLimits;
  /** Waits a while for updates. @param after the newest stored update: it and earlier ones are not delivered again */
  receive(after: number | null, signal: AbortSignal): Promise<Received>;
  send(chatId: string, body: MessageBody): Promise<Handover>;
  /** Changes text and buttons; a document stays. */
  edit(target: { readonly chatId: string; readonly messageId: string }, body: MessageBody): Promise<Handover>;
  /** Fetches a file that a person sent. */
  download(fileId: string, signal: AbortSignal): Promise<Download>;
  /** Acknowledges a press. Best effort. */
  acknowledge(pressId: string, words: string): Promise<void>;
  /** Shows a typing indicator for some seconds. Best effort. */
  showWorking(chatId: string): Promise<void>;
  /** Sets the list of commands in the chat program's menu. Best effort. */
  introduce(commands: readonly { readonly name: string; readonly words: string }[]): Promise<void>;
}
