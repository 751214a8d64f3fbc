import type { Filler } from "./filler.ts";
import type { LineSink } from "./line-sink.ts";
import type { Random } from "./random.ts";
import { answerText, promptText } from "./words.ts";

/** One transcript to be written. */
export interface SessionPlan {
  readonly sessionId: string;
  readonly cwd: string;
  readonly branch: string;
  readonly language: string;
  /** When the first line was written. */
  readonly startMs: number;
  /** About how large it gets. */
  readonly sizeBytes: number;
  /** A line of about this size stands in it; 0 for none. */
  readonly longLineBytes: number;
  /** Whether a sub-agent wrote it: no conversation of a person. */
  readonly subAgent: boolean;
  /** Whether lines of garbage stand between the others. */
  readonly garbage: boolean;
  /** Whether the last line was not written to its end. */
  readonly halfLastLine: boolean;
  /** A word that stands in no other transcript. */
  readonly rareWord: string;
}

/** What stands in the transcript that was written. */
export interface SessionTruth {
  readonly ownTitle: string | null;
  readonly firstMessage: string | null;
  readonly turnCount: number;
  /** The turn in which the plan's rare word stands. */
  readonly rareTurn: number | null;
  readonly skippedLines: number;
  readonly lastLineMs: number;
}

/** The parts of a turn that both agents have. */
export interface Desk {
  readonly plan: SessionPlan;
  readonly random: Random;
  readonly filler: Filler;
  readonly out: LineSink;
  /** The time of the next line. */
  tick(): string;
  /** A new prompt; counts a turn. */
  prompt(): string;
  /** Any words of the agent; counts a turn unless the last one is the agent's already. */
  answer(): string;
  /** What the agent did counts a turn as well. */
  acted(): void;
  /** What a tool printed. */
  result(): Buffer;
  /** Whether the session is long enough. */
  full(): boolean;
  /** The agent's own title. */
  entitle(title: string): void;
  truth(): SessionTruth;
}

/** A desk for one transcript. */
export function createDesk(plan: SessionPlan, tools: { random: Random; filler: Filler; out: LineSink }): Desk {
  const { random, filler, out } = tools;
  let nowMs = plan.startMs;
  let turnCount = 0;
  let lastRole: "user" | "assistant" | null = null;
  let ownTitle: string | null = null;
  let firstMessage: string | null = null;
  let rareTurn: number | null = null;
  let longLineOwed = plan.longLineBytes > 0;
  let skippedLines = 0;

  function garbage(): void {
    if (!plan.garbage || (skippedLines > 0 && random.chance(0.8))) return;
    skippedLines++;
    out.line(
      random.pick<string | Buffer>([
        "garbage, no JSON at all",
        '{"type":"user","message":{"role":"user","content":"torn in the midd',
        Buffer.alloc(300),
        Buffer.from([0x7b, 0xff, 0xfe, 0x80, 0xc3]),
      ]),
    );
  }

  function acted(): void {
    if (lastRole !== "assistant") turnCount++;
    lastRole = "assistant";
  }

  return {
    plan,
    random,
    filler,
    out,
    tick() {
      nowMs += random.between(5, 4_000);
      return new Date(nowMs).toISOString();
    },
    prompt() {
      garbage();
      let text = promptText(random, plan.language);
      if (rareTurn === null && (turnCount === 0 ? random.chance(0.5) : true)) {
        text = `${text} ${plan.rareWord}`;
        rareTurn = turnCount;
      }
      firstMessage ??= text;
      lastRole = "user";
      turnCount++;
      return text;
    },
    answer() {
      acted();
      return answerText(random, plan.language);
    },
    acted,
    result() {
      if (longLineOwed && out.sizeBytes > plan.sizeBytes * 0.3) {
        longLineOwed = false;
        return filler.take(random, plan.longLineBytes);
      }
      // Mostly short, now and then as long as a tool may print; never much more than the whole transcript is to get.
      const size = Math.exp(6.6 + 1.6 * random.normal());
      return filler.take(random, Math.min(size, 60_000, plan.sizeBytes / 3));
    },
    full: () => out.sizeBytes >= plan.sizeBytes,
    entitle(title) {
      ownTitle = title;
    },
    truth: () => ({ ownTitle, firstMessage, turnCount, rareTurn, skippedLines, lastLineMs: nowMs }),
  };
}

/** JSON text of a string. */
export const quoted = (text: string): string => JSON.stringify(text);
