import type { AgentTemplate } from "../agents/index.ts";
import type { OnDraft } from "../wire/coding.ts";
import type { OpenPrompt, PromptState } from "./prompt-queue.ts";

/** A prompt in an outbox. `onDraft` is left out for one that waits until the composer is empty. */
export interface OutboxPrompt extends OpenPrompt {
  readonly onDraft?: OnDraft | undefined;
  /** Whether it can be sent behind this draft; left out: no. */
  readonly mayFollow?: ((draft: string) => Promise<boolean>) | undefined;
}

/** `received`: the agent reported that it took the prompt, and has not written it down yet. */
export type DeliveryState = PromptState | "received";

/** How far a prompt has come. */
export interface PromptProgress {
  readonly state: DeliveryState;
  /** Turns in the transcript before this prompt's; known once it was sent. */
  readonly turnsBefore: number;
  /** Whether the turn that it began has ended. */
  readonly turnOver: boolean;
}

/** A prompt that went out. */
export interface SentPrompt {
  readonly promptId: string;
  readonly text: string;
  /** What was in the composer before it, and was sent with it. */
  readonly draft?: string | undefined;
  /** On the command line, or typed into the terminal. */
  readonly by: "argv" | "typing";
  readonly turnsBefore: number;
  readonly sentAt: number;
  readonly enters: number;
  /** Whether the agent took a prompt since that is not known to be this one. */
  readonly otherTaken: boolean;
}

/** Where an outbox types. */
export interface OutboxTerminal {
  readonly terminalId: string;
  readonly template: AgentTemplate;
  /** Where a prompt lies for the agent's editor to fetch. */
  readonly promptPath: string;
}

/** What an outbox needs to know of its session at the moment. */
export interface OutboxView {
  /** Whether the agent is idle and nothing waits for an answer: the only time to type. */
  maySend(): boolean;
  /** The same, asked of the agent too: no dialog may be open when something is typed. */
  maySendNow(): Promise<boolean>;
  /** Whether the agent is still booting. */
  starting(): boolean;
  /** Whether this process's hooks have reported anything. */
  hooksReport(): boolean;
  /** Turns in the transcript while the agent was last idle. */
  turnCount(): number;
  /** All turns in the transcript, once the last one has been written to its end: those before the prompt that is typed next. */
  turnsBeforeNext(): Promise<number>;
  /** Looks once more whether the agent took this prompt: in what its hooks left, and in the transcript. */
  wasTaken(text: string): Promise<boolean>;
  /** Whether this prompt, of which the agent said that it took it, is in the transcript. */
  isWritten(prompt: SentPrompt): Promise<boolean>;
  changed(): void;
  failed(error: unknown): void;
}
