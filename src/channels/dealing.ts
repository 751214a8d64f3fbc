import { z } from "zod";
import type { ChatUpdate, ChatWork } from "../chats/index.ts";
import { askInputSchema } from "../wire/coding.ts";
import type { Incoming, MessageBody } from "./channel.ts";
import type { Deliveries } from "./deliveries.ts";
import type { ChatDeps } from "./ports.ts";
import type { Reports } from "./reports.ts";
import type { Sessions } from "./sessions.ts";

/** What commands, texts and presses are dealt with by. */
export interface Dealing {
  readonly deps: ChatDeps;
  readonly sessions: Sessions;
  readonly reports: Reports;
  readonly deliveries: Deliveries;
  readonly signal: AbortSignal;
}

/** One update that is being dealt with. */
export interface Dealt {
  readonly update: ChatUpdate;
  readonly incoming: Incoming;
}

/** What came of it. */
export interface Outcome extends Pick<ChatWork, "bind" | "change"> {
  readonly say?: readonly MessageBody[];
  /** The session that it is about. */
  readonly sessionId?: string;
  readonly chat?: Omit<NonNullable<ChatWork["chat"]>, "chatId">;
}

/** What is going to be asked, kept from before it is asked: a repeat after a crash is then the same to the letter. */
export const keptRequestSchema = z.object({
  input: askInputSchema,
  /** What was known of the session before this prompt. */
  turnIndex: z.int(),
  turnLength: z.int(),
});
export type KeptRequest = z.infer<typeof keptRequestSchema>;
