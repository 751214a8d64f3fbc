import { z } from "zod";

/** A styled part of a text. Positions count UTF-16 units, as JavaScript and Telegram do. */
export const spanSchema = z.object({
  kind: z.enum(["bold", "italic", "strike", "code", "pre", "link"]),
  at: z.int().min(0),
  length: z.int().min(1),
  /** Of a `pre`: the language. */
  language: z.string().optional(),
  /** Of a `link`: http or https. */
  url: z.string().optional(),
});

/** A button under a message. `data` comes back when it is pressed: 64 bytes at most. */
export const buttonSchema = z.object({ label: z.string(), data: z.string() });

/** A message as it shall read. */
export const messageBodySchema = z.object({
  text: z.string(),
  spans: z.array(spanSchema),
  /** In rows. */
  buttons: z.array(z.array(buttonSchema)),
  /** A file beside the text. */
  document: z.object({ name: z.string(), content: z.string() }).nullable(),
  /** The message that it answers. */
  replyTo: z.string().nullable(),
  /** Whether it comes without a sound. */
  silent: z.boolean(),
});

export type Span = Readonly<z.infer<typeof spanSchema>>;
export type Button = Readonly<z.infer<typeof buttonSchema>>;
export type MessageBody = Readonly<z.infer<typeof messageBodySchema>>;

/** What a person did in a chat. */
export const incomingContentSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("command"), name: z.string(), rest: z.string(), replyTo: z.string().nullable() }),
  z.object({ kind: z.literal("text"), text: z.string(), replyTo: z.string().nullable() }),
  z.object({ kind: z.literal("press"), pressId: z.string(), data: z.string() }),
  /** A picture, a voice message: nothing that could be sent to an agent. */
  z.object({ kind: z.literal("unreadable") }),
]);

/** Something that came from a chat, in words that no chat program is needed for. */
export const incomingSchema = z.object({
  userId: z.string(),
  /** As the person calls themselves: untrusted. */
  userName: z.string(),
  chatId: z.string(),
  /** Whether the person is alone in the chat. */
  isPrivate: z.boolean(),
  messageId: z.string().nullable(),
  content: incomingContentSchema,
});

export type Incoming = z.infer<typeof incomingSchema>;

/** One thing that the chat program handed over; `incoming` is null for what is of no interest here. */
export interface ChannelUpdate {
  /** The same when it is handed over again. */
  readonly updateId: number;
  readonly incoming: Incoming | null;
}

/** What became of something that was to be handed over to the chat program. */
export type Handover =
  | { readonly kind: "sent"; readonly messageId: string }
  /** Not now: too much was sent. */
  | { readonly kind: "limited"; readonly retryAfterMs: number }
  /** `uncertain`: it may have arrived. */
  | { readonly kind: "unreachable"; readonly uncertain: boolean; readonly reason: string }
  /** Never: the chat is gone, say, or shut the door. */
  | { readonly kind: "refused"; readonly reason: string };

/** What asking the chat program for news came to. */
export type Received =
  | { readonly kind: "updates"; readonly updates: readonly ChannelUpdate[] }
  | { readonly kind: "limited"; readonly retryAfterMs: number }
  | { readonly kind: "unreachable"; readonly reason: string }
  /** It will not recover automatically: a wrong token, another program that receives in our place. */
  | { readonly kind: "refused"; readonly reason: string };

/** Limits of a chat program. */
export interface ChannelLimits {
  /** Longest text of a message, in UTF-16 units. */
  readonly maxTextLength: number;
  readonly maxSpans: number;
  /** Between two messages of one chat. */
  readonly betweenMessagesMs: number;
  /** Of all chats together. */
  readonly maxMessagesPerSecond: number;
}

/** A chat program. Whatever it throws is a mistake of ours: what can go wrong with it is in its answers. */
export interface Channel {
  readonly name: string;
  readonly limits: ChannelLimits;
  /** Waits a while for what people did. @param after the newest update that was kept: it and those before are not handed over again */
  receive(after: number | null, signal: AbortSignal): Promise<Received>;
  send(chatId: string, body: MessageBody): Promise<Handover>;
  /** Text and buttons; a document stays. */
  edit(target: { readonly chatId: string; readonly messageId: string }, body: MessageBody): Promise<Handover>;
  /** Lets the person know that a press was seen. Nothing depends on it. */
  acknowledge(pressId: string, words: string): Promise<void>;
  /** Shows for some seconds that something is being done. Nothing depends on it. */
  showWorking(chatId: string): Promise<void>;
  /** Gives the chat program the list of commands, for its menu. Nothing depends on it. */
  introduce(commands: readonly { readonly name: string; readonly words: string }[]): Promise<void>;
}
