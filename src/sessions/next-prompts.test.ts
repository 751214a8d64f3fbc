import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { geminiCli } from "../agents/gemini-cli/gemini-cli.ts";
import type { TerminalExit } from "../terminal-host/terminal-info.ts";
import { nextPrompts } from "./next-prompts.ts";
import {
  noPrompts as newPrompts,
  type OutboxPrompt,
  type PromptContext,
  type PromptEffect,
  type PromptMessage,
  type PromptsState,
  type SentPrompt,
} from "./prompts.ts";

/** The prompts in the store have been read. */
const noPrompts: PromptsState = { ...newPrompts, isRead: true };
const context: PromptContext = {
  now: 100_000,
  maySend: true,
  turnCount: 4,
  starting: false,
  hooksReport: true,
  template: claudeCode,
};
const queued: OutboxPrompt = { promptId: "p", prompt: "fix the build", state: "queued", sentAt: null };
const other: OutboxPrompt = { promptId: "q", prompt: "and the tests", state: "queued", sentAt: null };
const sent: SentPrompt = {
  promptId: "p",
  text: "fix the build",
  by: "typing",
  turnsBefore: 4,
  sentAt: 100_000,
  enters: 1,
  otherTaken: false,
};
const exit: TerminalExit = { exitCode: 1, signal: null, at: 0 };
const progress = (state: "queued" | "sent" | "received" | "delivered", turnOver = false) =>
  new Map([["p", { state, turnsBefore: 4, turnOver }]]);
const typingNow: PromptsState = {
  ...noPrompts,
  progress: progress("sent"),
  sending: { prompt: queued, typing: true },
  sent,
};
const waitingNow: PromptsState = { ...noPrompts, progress: progress("queued"), waiting: [queued] };
const sentNow: PromptsState = { ...noPrompts, progress: progress("sent"), sent };
const receivedNow: PromptsState = {
  ...noPrompts,
  progress: progress("received"),
  received: [{ ...sent, receivedAt: 100_000 }],
  current: "p",
};

interface Row {
  readonly what: string;
  readonly from: PromptsState;
  readonly message: PromptMessage;
  readonly context?: Partial<PromptContext>;
  /** Expected changes of the state; everything else stays the same. */
  readonly moves?: Partial<PromptsState>;
  readonly effects?: readonly PromptEffect[];
}

const rows: readonly Row[] = [
  {
    what: "a prompt that is added to a resting agent is sent",
    from: noPrompts,
    message: { kind: "added", prompt: queued },
    moves: { progress: progress("queued"), waiting: [queued], sending: { prompt: queued, typing: false } },
    effects: [{ kind: "send", prompt: queued }],
  },
  {
    what: "one that is added while a turn runs waits",
    from: noPrompts,
    message: { kind: "added", prompt: queued },
    context: { maySend: false },
    moves: { progress: progress("queued"), waiting: [queued] },
  },
  {
    what: "what to do with a draft counts for those before it as well",
    from: waitingNow,
    message: { kind: "added", prompt: { ...other, onDraft: "clear" } },
    context: { maySend: false },
    moves: {
      progress: new Map([...progress("queued"), ["q", { state: "queued", turnsBefore: 4, turnOver: false }]]),
      waiting: [
        { ...queued, onDraft: "clear" },
        { ...other, onDraft: "clear" },
      ],
    },
  },
  {
    what: "nothing is sent while a prompt waits for its confirmation",
    from: { ...sentNow, waiting: [other] },
    message: { kind: "send_next" },
  },
  {
    what: "nothing is sent while one is being sent",
    from: { ...typingNow, sent: null, waiting: [other] },
    message: { kind: "send_next" },
  },
  {
    what: "nothing is sent while the terminal is held",
    from: { ...waitingNow, holds: 1 },
    message: { kind: "send_next" },
  },
  {
    what: "the terminal is held twice and released once",
    from: { ...waitingNow, holds: 2 },
    message: { kind: "released" },
    moves: { holds: 1 },
  },
  {
    what: "what waited is sent when the last one releases the terminal",
    from: { ...waitingNow, holds: 1 },
    message: { kind: "released" },
    moves: { holds: 0, sending: { prompt: queued, typing: false } },
    effects: [{ kind: "send", prompt: queued }],
  },
  {
    what: "a prompt from the command line waits for its confirmation",
    from: noPrompts,
    message: { kind: "found", prompts: [{ ...queued, state: "sent" }], sentBy: "argv" },
    moves: { progress: progress("sent"), sent: { ...sent, by: "argv" } },
  },
  {
    what: "a command from the command line is never confirmed",
    from: noPrompts,
    message: { kind: "found", prompts: [{ ...queued, prompt: "/clear", state: "sent" }], sentBy: "argv" },
    moves: { progress: new Map([["p", { state: "unknown", turnsBefore: 4, turnOver: true }]]) },
    effects: [{ kind: "mark", promptId: "p", state: "unknown" }],
  },
  {
    what: "a prompt that was revoked does not wait any longer",
    from: { ...waitingNow, sending: { prompt: queued, typing: false } },
    message: { kind: "revoked", promptId: "p" },
    moves: { waiting: [] },
  },
  {
    what: "a prompt that is about to be typed waits for its confirmation",
    from: { ...waitingNow, sending: { prompt: queued, typing: false } },
    message: { kind: "typing", promptId: "p", draft: "", turnsBefore: 4 },
    moves: { ...typingNow, waiting: [], sent: { ...sent, draft: "" } },
  },
  {
    what: "a dialog that opened in between: the prompt is the next one again",
    from: { ...typingNow, waiting: [other] },
    message: { kind: "typed", promptId: "p", result: "not_typed" },
    moves: {
      progress: progress("queued"),
      waiting: [queued, other],
      sent: null,
      sending: { prompt: queued, typing: false },
      returned: "p",
    },
    effects: [{ kind: "put_back", promptId: "p" }],
  },
  {
    what: "the time of a prompt begins when it was typed",
    from: typingNow,
    message: { kind: "typed", promptId: "p", result: "typed" },
    context: { now: 109_000 },
    moves: { sent: { ...sent, sentAt: 109_000 } },
  },
  {
    what: "a composer with text that is not ours",
    from: { ...waitingNow, sending: { prompt: queued, typing: false } },
    message: { kind: "typed", promptId: "p", result: "draft" },
    moves: { behindDraft: true, returned: "p" },
  },
  {
    what: "a prompt that was lost on its way is looked for before that is believed",
    from: typingNow,
    message: { kind: "typed", promptId: "p", result: "lost" },
    effects: [{ kind: "ask_again", sent, state: "lost" }],
  },
  {
    what: "a command that stayed in the composer is taken out of it",
    from: { ...typingNow, sent: null, sending: { prompt: { ...queued, prompt: "/clear" }, typing: true } },
    message: { kind: "typed", promptId: "p", result: "held" },
    effects: [{ kind: "clear", promptId: "p", text: "/clear" }],
  },
  {
    what: "the fate of a command is not reported",
    from: { ...typingNow, sent: null, sending: { prompt: { ...queued, prompt: "/clear" }, typing: true } },
    message: { kind: "typing_ended", promptId: "p" },
    moves: {
      progress: new Map([["p", { state: "unknown", turnsBefore: 4, turnOver: true }]]),
      sending: { prompt: { ...queued, prompt: "/clear" }, typing: false },
    },
    effects: [{ kind: "mark", promptId: "p", state: "unknown" }],
  },
  {
    what: "a report by hook is not the transcript",
    from: sentNow,
    message: { kind: "taken", text: "fix  the build\n", by: "hook" },
    moves: { ...receivedNow, sent: null },
  },
  {
    what: "a report of an agent whose transcript we do not read is all there is",
    from: sentNow,
    message: { kind: "taken", text: "fix the build", by: "hook" },
    context: { template: { ...claudeCode, transcriptFormat: null } },
    moves: { progress: progress("delivered"), sent: null, current: "p" },
    effects: [{ kind: "mark", promptId: "p", state: "delivered" }],
  },
  {
    what: "a prompt in the transcript is delivered",
    from: sentNow,
    message: { kind: "taken", text: "fix the build", by: "transcript" },
    moves: { progress: progress("delivered"), sent: null, current: "p" },
    effects: [{ kind: "mark", promptId: "p", state: "delivered" }],
  },
  {
    what: "another prompt than ours was taken",
    from: sentNow,
    message: { kind: "taken", text: "something else", by: "hook" },
    moves: { sent: { ...sent, otherTaken: true } },
  },
  {
    what: "with its draft before it, it is reported as one",
    from: { ...sentNow, sent: { ...sent, draft: "please " } },
    message: { kind: "taken", text: "please fix the build", by: "transcript" },
    moves: { progress: progress("delivered"), sent: null, current: "p" },
    effects: [{ kind: "mark", promptId: "p", state: "delivered" }],
  },
  {
    what: "one that was given up and is taken late is delivered",
    from: { ...noPrompts, progress: progress("sent"), late: [sent] },
    message: { kind: "taken", text: "fix the build", by: "transcript" },
    moves: { progress: progress("delivered"), late: [], current: "p" },
    effects: [{ kind: "mark", promptId: "p", state: "delivered" }],
  },
  {
    what: "a received prompt that is written is delivered",
    from: receivedNow,
    message: { kind: "searched", promptId: "p", written: true, final: false },
    moves: { progress: progress("delivered"), received: [] },
    effects: [{ kind: "mark", promptId: "p", state: "delivered" }],
  },
  {
    what: "one that is not written yet has time",
    from: receivedNow,
    message: { kind: "searched", promptId: "p", written: false, final: false },
    context: { now: 119_000 },
  },
  {
    what: "one that is not written while its turn runs has time without end",
    from: receivedNow,
    message: { kind: "searched", promptId: "p", written: false, final: false },
    context: { now: 900_000, maySend: false },
  },
  {
    what: "one that is not written while the agent rests was refused",
    from: receivedNow,
    message: { kind: "searched", promptId: "p", written: false, final: false },
    context: { now: 121_000 },
    moves: { progress: new Map([["p", { state: "unknown", turnsBefore: 4, turnOver: true }]]), received: [] },
    effects: [{ kind: "mark", promptId: "p", state: "unknown" }],
  },
  {
    what: "nothing more is written by a process that has ended",
    from: receivedNow,
    message: { kind: "searched", promptId: "p", written: false, final: true },
    context: { maySend: false },
    moves: { progress: new Map([["p", { state: "unknown", turnsBefore: 4, turnOver: true }]]), received: [] },
    effects: [{ kind: "mark", promptId: "p", state: "unknown" }],
  },
  {
    what: "the end of a turn is that of the prompt that began it",
    from: { ...receivedNow, received: [], progress: progress("delivered") },
    message: { kind: "turn_over" },
    moves: { progress: progress("delivered", true), current: null },
  },
  {
    what: "the first turn of a process was that of its first prompt, in whatever form",
    from: { ...sentNow, sent: { ...sent, by: "argv", otherTaken: true } },
    message: { kind: "turn_over" },
    effects: [{ kind: "ask_again", sent: { ...sent, by: "argv", otherTaken: true }, state: "unknown" }],
  },
  {
    what: "a prompt on the command line has time from the start of the agent on",
    from: { ...sentNow, sent: { ...sent, by: "argv" } },
    message: { kind: "tick" },
    context: { starting: true, now: 500_000 },
    moves: { sent: { ...sent, by: "argv", sentAt: 500_000 } },
  },
  {
    what: "a prompt on the command line that no report ever named",
    from: { ...sentNow, sent: { ...sent, by: "argv" } },
    message: { kind: "tick" },
    context: { now: 161_000 },
    effects: [{ kind: "ask_again", sent: { ...sent, by: "argv" }, state: "unknown" }],
  },
  {
    what: "a typed prompt is looked after when its confirmation takes long",
    from: sentNow,
    message: { kind: "tick" },
    context: { now: 103_001 },
    effects: [{ kind: "look", sent, overdue: false }],
  },
  {
    what: "and given up when it takes too long",
    from: sentNow,
    message: { kind: "tick" },
    context: { now: 121_000 },
    effects: [{ kind: "look", sent, overdue: true }],
  },
  {
    what: "it is not looked after before that, nor while it is typed",
    from: { ...typingNow, sent: { ...sent, sentAt: 0 } },
    message: { kind: "tick" },
  },
  {
    what: "Enter is pressed again while the composer holds it",
    from: sentNow,
    message: { kind: "looked", promptId: "p", maySend: true, held: true },
    context: { now: 103_001 },
    moves: { sent: { ...sent, enters: 2 } },
    effects: [{ kind: "press_enter", sent }],
  },
  {
    what: "and not a fourth time",
    from: { ...sentNow, sent: { ...sent, enters: 3 } },
    message: { kind: "looked", promptId: "p", maySend: true, held: true },
    context: { now: 119_000 },
  },
  {
    what: "nor while a turn runs or a dialog is open: its time stands still",
    from: sentNow,
    message: { kind: "looked", promptId: "p", maySend: false },
    context: { now: 119_000 },
    moves: { sent: { ...sent, sentAt: 116_000 } },
  },
  {
    what: "an empty composer after another prompt was taken: it may have been ours",
    from: { ...sentNow, sent: { ...sent, otherTaken: true } },
    message: { kind: "looked", promptId: "p", maySend: true, held: false },
    effects: [{ kind: "ask_again", sent: { ...sent, otherTaken: true }, state: "unknown" }],
  },
  {
    what: "a look that is about an earlier prompt says nothing of this one",
    from: sentNow,
    message: { kind: "looked", promptId: "q", maySend: true, held: true },
    context: { now: 119_000 },
  },
  {
    what: "given up, it was delivered after all",
    from: sentNow,
    message: { kind: "asked_again", promptId: "p", taken: true, state: "lost" },
    moves: { progress: progress("delivered"), sent: null, current: "p" },
    effects: [{ kind: "mark", promptId: "p", state: "delivered" }],
  },
  {
    what: "given up as unknown, the agent may take it yet, and the next one is sent",
    from: { ...sentNow, waiting: [other] },
    message: { kind: "asked_again", promptId: "p", taken: false, state: "unknown" },
    moves: {
      progress: new Map([["p", { state: "unknown", turnsBefore: 4, turnOver: true }]]),
      sent: null,
      late: [sent],
      sending: { prompt: other, typing: false },
    },
    effects: [
      { kind: "mark", promptId: "p", state: "unknown" },
      { kind: "send", prompt: other },
    ],
  },
  {
    what: "a process that reports every prompt and ended before it reported this one never took it",
    from: sentNow,
    message: { kind: "ended", exit },
    effects: [{ kind: "ask_again", sent, state: "lost" }],
  },
  {
    what: "a signal ends a hook before it reports, and the agent later",
    from: sentNow,
    message: { kind: "ended", exit: { ...exit, exitCode: 129 } },
    effects: [{ kind: "ask_again", sent, state: "unknown" }],
  },
  {
    what: "the fate is unknown for an agent that reported nothing",
    from: sentNow,
    message: { kind: "ended", exit },
    context: { hooksReport: false },
    effects: [{ kind: "ask_again", sent, state: "unknown" }],
  },
  {
    what: "one without hooks that had not begun took nothing",
    from: sentNow,
    message: { kind: "ended", exit },
    context: { starting: true, hooksReport: false, template: geminiCli },
    effects: [{ kind: "ask_again", sent, state: "lost" }],
  },
  {
    what: "what waits, waits for a resume",
    from: waitingNow,
    message: { kind: "ended", exit },
    context: { maySend: false },
  },
];

describe("one message", () => {
  test.each(rows)("$what", ({ from, message, context: given, moves = {}, effects = [] }) => {
    const step = nextPrompts(from, message, { ...context, ...given });
    expect(step.state).toEqual({ ...from, ...moves });
    expect(step.effects).toEqual(effects);
  });
});

/** Bounded by the suite; `POSTERN_SCHEDULES=100000` in the long run. */
const schedules = Number(process.env["POSTERN_SCHEDULES"] ?? 2_000);

/** An agent, a terminal and a store in which everything may happen late, twice or in another order; `choices` decides what happens next. */
class World {
  readonly typed: string[] = [];
  readonly taken: string[] = [];
  readonly written = new Set<string>();
  readonly oddly = new Set<string>();
  readonly notTyped: string[] = [];
  readonly marks: { readonly promptId: string; readonly state: string }[] = [];
  state: PromptsState = noPrompts;
  resting = true;
  ended = false;
  composer: string | null = null;
  #now = 0;
  #added = 0;
  #hooks: string[] = [];
  /** Work under way: each step is taken when the schedule says so. */
  #tasks: Iterator<undefined, void>[] = [];

  get context(): PromptContext {
    return { ...context, now: this.#now, maySend: this.resting && !this.ended, turnCount: 0 };
  }

  handle(message: PromptMessage): void {
    const { state, effects } = nextPrompts(this.state, message, this.context);
    this.state = state;
    for (const effect of effects) this.#tasks.push(this.#carryOut(effect));
  }

  *#carryOut(effect: PromptEffect): Generator<undefined, void> {
    yield undefined;
    switch (effect.kind) {
      case "send":
        yield* this.#send(effect.prompt);
        return;
      case "mark":
        this.marks.push(effect);
        return;
      case "put_back":
        this.marks.push({ ...effect, state: "queued" });
        return;
      case "press_enter":
        this.#enter();
        return;
      case "clear":
        this.handle({ kind: "cleared", promptId: effect.promptId, cleared: this.#clear(effect.text) });
        return;
      case "look":
        yield* this.#look(effect);
        return;
      case "ask_again": {
        const { promptId, text } = effect.sent;
        this.#drain();
        const taken = this.state.sent?.text === text && this.written.has(text);
        yield undefined;
        this.handle({ kind: "asked_again", promptId, taken, state: effect.state });
      }
    }
  }

  *#look({ sent: { promptId, text }, overdue }: Extract<PromptEffect, { kind: "look" }>): Generator<undefined, void> {
    if (!this.context.maySend) return this.handle({ kind: "looked", promptId, maySend: false });
    const held = this.composer === text;
    if (!overdue) {
      // The rules between a look and its report also apply to Enter: nothing else empties the composer.
      return this.handle({ kind: "looked", promptId, maySend: true, held });
    }
    this.#drain();
    const removed = this.#clear(text);
    yield undefined;
    this.handle({ kind: "given_up", promptId, state: removed ? "lost" : "unknown" });
  }

  *#send({ promptId, prompt: text }: OutboxPrompt): Generator<undefined, void> {
    yield undefined;
    if (this.composer !== null) {
      this.handle({ kind: "typed", promptId, result: "draft" });
    } else if (!this.context.maySend) {
      this.handle({ kind: "typed", promptId, result: "not_ready" });
    } else {
      this.handle({ kind: "typing", promptId, draft: "", turnsBefore: 0 });
      yield undefined;
      if (this.context.maySend) {
        this.typed.push(promptId);
        this.composer = text;
        yield undefined;
        this.#enter();
        this.handle({ kind: "typed", promptId, result: "typed" });
      } else {
        this.notTyped.push(promptId);
        this.handle({ kind: "typed", promptId, result: "not_typed" });
      }
    }
    yield undefined;
    this.handle({ kind: "typing_ended", promptId });
    yield undefined;
    this.handle({ kind: "sending_ended", promptId });
  }

  /** The agent may drop it, or report it in another form. */
  deaf = false;
  odd = false;
  #enter(): void {
    if (this.composer === null || this.deaf || !this.context.maySend) return;
    this.taken.push(this.composer);
    if (this.odd) this.oddly.add(this.composer);
    this.#hooks.push(this.odd ? `in its own words: ${this.composer.length}` : this.composer);
    this.composer = null;
    this.resting = false;
  }

  #clear(text: string): boolean {
    if (this.composer !== text) return false;
    this.composer = null;
    return true;
  }

  #drain(): void {
    for (const text of this.#hooks.splice(0)) this.handle({ kind: "taken", text, by: "hook" });
  }

  /** One thing happens. */
  step(choice: number): void {
    const [what, detail] = [choice % 16, Math.floor(choice / 16)];
    if (what < 6) return this.#runTask(detail);
    if (this.ended) return;
    if (what === 6 && this.#added < 5) {
      const promptId = `p${this.#added++}`;
      return this.handle({
        kind: "added",
        prompt: { promptId, prompt: `do ${promptId}`, state: "queued", sentAt: null },
      });
    }
    if (what === 7) return this.#drain();
    if (what === 8) {
      const again = this.taken.at(detail % Math.max(1, this.taken.length));
      if (again !== undefined && this.#hooks.length === 0) this.handle({ kind: "taken", text: again, by: "hook" });
      return;
    }
    if (what === 9) {
      for (const text of this.taken) if (!this.oddly.has(text)) this.written.add(text);
      // The hook of a prompt that is already in the transcript may be lost.
      if (detail % 4 === 0) this.#hooks = this.#hooks.filter((text) => !this.written.has(text));
    }
    if (what === 10) {
      for (const { promptId, text } of this.state.received) {
        this.handle({ kind: "searched", promptId, written: this.written.has(text), final: false });
      }
    }
    if (what === 11) this.#now += 200 + 500 * (detail % 20);
    if (what === 12) this.handle({ kind: "tick" });
    if (what === 13) {
      this.resting = true;
      if (this.#hooks.length === 0) this.handle({ kind: "turn_over" });
      this.handle({ kind: "send_next" });
    }
    if (what === 14) this.deaf = detail % 3 === 0;
    if (what === 14) this.odd = detail % 3 === 1;
    if (what === 15 && detail % 8 === 0) this.end();
  }

  #runTask(at: number): void {
    const task = this.#tasks.at(at % Math.max(1, this.#tasks.length));
    if (task?.next().done === true) this.#tasks = this.#tasks.filter((one) => one !== task);
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    // Pending typing ends with the terminal, before anything is settled.
    this.#runAll();
    this.#drain();
    this.handle({ kind: "ended", exit });
    this.#runAll();
    for (const { promptId, text } of this.state.received) {
      this.handle({ kind: "searched", promptId, written: this.written.has(text), final: true });
    }
    this.handle({ kind: "turn_over" });
    this.#runAll();
  }

  #runAll(): void {
    for (let steps = 0; this.#tasks.length > 0; steps += 1) {
      if (steps > 10_000) throw new Error("It never comes to an end.");
      this.#runTask(0);
    }
  }
}

test("whatever comes late, twice or in another order, each prompt is typed at most once, and its fate is true", () => {
  const choices = fc.array(fc.nat(2_000), { minLength: 20, maxLength: 200 });
  fc.assert(
    fc.property(choices, (schedule) => {
      const world = new World();
      for (const choice of schedule) {
        world.step(choice);
        const { sent: onItsWay, sending } = world.state;
        // Two prompts in the terminal at the same time would become one text.
        if (onItsWay !== null && sending !== null) expect(sending.prompt.promptId).toBe(onItsWay.promptId);
      }
      world.end();
      expect(new Set(world.typed).size, "typed twice").toBe(world.typed.length);
      expect([world.state.sent, world.state.sending, world.state.received]).toEqual([null, null, []]);
      const waiting = world.state.waiting.map(({ promptId }) => promptId);
      const unsent = [...world.state.progress].filter(([, { state }]) => state === "queued").map(([id]) => id);
      expect(waiting.toSorted(), "what waits was not sent").toEqual(unsent);
      const marked = new Map(world.marks.map(({ promptId, state }) => [promptId, state]));
      for (const [promptId, { state }] of world.state.progress) {
        const text = `do ${promptId}`;
        if (state === "queued") {
          expect(world.typed).not.toContain(promptId);
          continue;
        }
        expect(marked.get(promptId), "the store says the same").toBe(state);
        if (state === "delivered") expect(world.written).toContain(text);
        if (state === "lost") expect(world.taken).not.toContain(text);
        // A prompt that was given up before its hook was lost stays unknown.
        if (world.written.has(text)) expect(["delivered", "unknown"]).toContain(state);
        if (world.oddly.has(text)) expect(state).toBe("unknown");
      }
      const delivered = world.marks.filter(({ state }) => state === "delivered");
      expect(new Set(delivered.map(({ promptId }) => promptId)).size).toBe(delivered.length);
    }),
    { numRuns: schedules },
  );
}, 300_000);
