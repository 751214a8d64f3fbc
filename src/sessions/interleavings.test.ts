import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sessionRecord } from "../../test/support/session-record.ts";
import { summaryWith } from "../../test/support/transcript-summary.ts";
import { claudeCode } from "../agents/claude-code/claude-code.ts";
import { codex } from "../agents/codex/codex.ts";
import type { AgentTemplate, HookEvent, ObservedActivity, ScreenDialog } from "../agents/index.ts";
import { isResting } from "./activity.ts";
import { nextSession } from "./next-session.ts";
import type { OutboxPrompt, PromptEffect } from "./prompts.ts";
import type { ScreenLook } from "./screen-view.ts";
import {
  maySend,
  newSessionState,
  type SessionEffect,
  type SessionMessage,
  type SessionState,
  seeksPrompt,
} from "./session-state.ts";

/** Bounded by the suite; `POSTERN_SCHEDULES=100000` in the long run. */
const schedules = Number(process.env["POSTERN_SCHEDULES"] ?? 2_000);

const begin = 1_000_000_000;

interface Call {
  readonly command: string;
  /** Whether its hook waits for a decision. */
  readonly held: boolean;
}

interface Written {
  readonly prompts: readonly string[];
  readonly turnCount: number;
  readonly last: "none" | "open" | "ended" | "aborted";
  readonly at: number;
}

/** The true state of an agent: its turn, its composer, and the pending reports of its hooks and files. */
class Agent {
  now = begin;
  turn: { call: Call | null } | null = null;
  composer = "";
  hooks: SessionMessage[] = [];
  /** The content of the transcript, and the next lines. */
  written: Written = { prompts: [], turnCount: 0, last: "none", at: begin };
  real: Written = this.written;
  file: { activity: ObservedActivity; since: number } = { activity: "idle", since: begin };
  #calls = 0;

  get dialog(): ScreenDialog | null {
    const call = this.turn?.call ?? null;
    if (call === null || (call.held && !this.hasFile)) return null;
    const choices = [
      { label: "Yes", decides: "allow" as const },
      { label: "No", decides: "deny" as const },
    ];
    return { title: "Run", text: `${call.command}\nRun it?`, choices, selected: 0 };
  }

  readonly hasFile: boolean;

  constructor(hasFile: boolean) {
    this.hasFile = hasFile;
  }

  report(event: HookEvent): void {
    const line = { at: this.now, permissionId: `${this.now} ${JSON.stringify(event)}` };
    this.hooks.push({ kind: "reported", event, line });
  }

  #say(activity: ObservedActivity): void {
    if (this.file.activity !== activity) this.file = { activity, since: this.now };
  }

  #write(last: Written["last"], prompt?: string): void {
    const { prompts, turnCount } = this.real;
    this.real = {
      prompts: prompt === undefined ? prompts : [...prompts, prompt],
      turnCount: turnCount + 1,
      last,
      at: this.now,
    };
  }

  /** Presses Enter, which an open dialog would receive. */
  enter(): void {
    if (this.composer === "" || this.dialog !== null || this.turn !== null) return;
    const prompt = this.composer;
    this.composer = "";
    this.turn = { call: null };
    this.report({ kind: "prompt_submitted", prompt });
    this.#write("open", prompt);
    this.#say("working");
  }

  ask(held: boolean): void {
    if (this.turn === null || this.turn.call !== null) return;
    const command = `make ${++this.#calls}`;
    this.turn.call = { command, held };
    const call = { tool: "Bash", input: { command }, callKey: command, subagent: null };
    this.report({ kind: "permission_asked", asks: "permission", ...call });
    this.#say("needs_permission");
  }

  allow(): void {
    const call = this.turn?.call ?? null;
    if (this.turn === null || call === null) return;
    this.turn.call = null;
    const { command } = call;
    this.report({ kind: "tool_ended", tool: "Bash", input: { command }, callKey: command, subagent: null });
    this.#say("working");
  }

  /** Denied through the hook, it continues; with Esc its turn has ended, and no hook reports that. */
  deny(byEsc: boolean): void {
    if (this.turn === null) return;
    if (!byEsc) {
      this.turn.call = null;
      return this.#say("working");
    }
    this.turn = null;
    this.#write("aborted");
    this.#say("idle");
  }

  endTurn(): void {
    if (this.turn === null || this.turn.call !== null) return;
    this.turn = null;
    this.#write("ended");
    this.report({ kind: "turn_ended" });
    this.#say("idle");
  }
}

/** A session and its agent; `choice` decides what happens next. */
class World {
  readonly agent: Agent;
  readonly log: { readonly at: number; readonly message: SessionMessage }[] = [];
  readonly typed: string[] = [];
  readonly marks = new Map<string, string>();
  readonly retired: number[] = [];
  state: SessionState;
  #added = 0;
  #tasks: Iterator<undefined, void>[] = [];
  #lastHook: SessionMessage | null = null;

  readonly template: AgentTemplate;

  constructor(template: AgentTemplate) {
    this.template = template;
    this.agent = new Agent(template === claudeCode);
    this.state = newSessionState(sessionRecord(), "launched", begin);
    this.agent.report({ kind: "session_start", reason: "startup" });
  }

  post(message: SessionMessage): void {
    const { now } = this.agent;
    this.log.push({ at: now, message });
    const { state, effects } = nextSession(this.state, message, { template: this.template, now });
    this.state = state;
    this.#checkIdle(effects);
    if (effects.some(({ kind }) => kind === "send"))
      expect(isResting(state.activity), "sent while it rests").toBe(true);
    for (const effect of effects) this.#tasks.push(this.#carryOut(effect));
  }

  *#carryOut(effect: SessionEffect): Generator<undefined, void> {
    if (effect.kind === "moved") return;
    yield undefined;
    if (effect.kind === "turn_ended") {
      this.#read();
      yield undefined;
      this.#search(false);
      this.post({ kind: "turn_written" });
    } else if (effect.kind === "retire") {
      this.retired.push(this.agent.now);
      yield undefined;
      this.post({ kind: "found_in_use" }); // as if something was typed at this moment
    } else if (effect.kind !== "end_if_hung" && effect.kind !== "note_use") yield* this.#prompt(effect);
  }

  /** Nothing that the session knows may contradict it. */
  #checkIdle(effects: readonly SessionEffect[]): void {
    if (!effects.some(({ kind }) => kind === "retire")) return;
    const { activity, prompts, use } = this.state;
    expect([activity.activity, activity.permissions, use.viewers], "ended while it is idle").toEqual(["idle", [], 0]);
    expect([prompts.sent, prompts.waiting, prompts.received], "ended without a prompt").toEqual([null, [], []]);
    expect(this.agent.composer, "ended without a draft").toBe("");
  }

  #checkIdleTime(): void {
    const { composer, file, hasFile } = this.agent;
    const observed = hasFile ? { ...file, hooked: false } : "none";
    const found = { observed, draft: composer, runsTask: false, canResume: true } as const;
    this.post({ kind: "idle_checked", found, idleTimeoutMs: 1_500 });
  }

  *#prompt(effect: PromptEffect): Generator<undefined, void> {
    const { agent } = this;
    switch (effect.kind) {
      case "send":
        return yield* this.#send(effect.prompt);
      case "mark":
        this.marks.set(effect.promptId, effect.state);
        return;
      case "put_back":
        this.marks.set(effect.promptId, "queued");
        return;
      case "press_enter":
        return agent.enter();
      case "clear":
        return;
      case "look": {
        const { promptId, text } = effect.sent;
        if (!this.#maySendNow()) return this.#say({ kind: "looked", promptId, maySend: false });
        if (!effect.overdue) {
          return this.#say({ kind: "looked", promptId, maySend: true, held: agent.composer === text });
        }
        this.#drain();
        const removed = agent.composer === text;
        if (removed) agent.composer = "";
        return this.#say({ kind: "given_up", promptId, state: removed ? "lost" : "unknown" });
      }
      case "ask_again": {
        const { promptId, text } = effect.sent;
        this.#drain();
        const taken = this.state.prompts.sent?.text === text && agent.written.prompts.includes(text);
        yield undefined;
        this.#say({ kind: "asked_again", promptId, taken, state: effect.state });
      }
    }
  }

  #say(message: Extract<SessionMessage, { kind: "prompt" }>["message"]): void {
    this.post({ kind: "prompt", message });
  }

  /** The checks of state and agent right before the gateway types. */
  #maySendNow(): boolean {
    const { file, hasFile, dialog } = this.agent;
    return maySend(this.state) && (!hasFile || file.activity === "idle") && dialog === null;
  }

  *#send({ promptId, prompt: text }: OutboxPrompt): Generator<undefined, void> {
    const { agent } = this;
    yield undefined;
    if (!this.#maySendNow() || agent.composer !== "") this.#say({ kind: "typed", promptId, result: "not_ready" });
    else {
      this.#say({ kind: "typing", promptId, draft: "", turnsBefore: this.state.transcript.turnsWhenIdle });
      yield undefined;
      if (this.#maySendNow() && agent.composer === "" && agent.turn === null) {
        expect(this.state.life.kind, "typed into an agent that is being ended").toBe("running");
        this.typed.push(promptId);
        agent.composer = text;
        yield undefined;
        if (this.#maySendNow()) agent.enter();
        this.#say({ kind: "typed", promptId, result: "typed" });
      } else this.#say({ kind: "typed", promptId, result: "not_typed" });
    }
    yield undefined;
    this.#say({ kind: "typing_ended", promptId });
    yield undefined;
    this.#say({ kind: "sending_ended", promptId });
  }

  #drain(): void {
    for (const hook of this.agent.hooks.splice(0)) this.post(hook);
  }

  #read(): void {
    const { turnCount, last, at } = this.agent.written;
    const summary = summaryWith({ turnCount, lastTurn: { kind: last }, updatedAt: new Date(at).toISOString() });
    this.post({ kind: "transcript_read", summary });
  }

  #search(final: boolean): void {
    for (const { promptId, text } of this.state.prompts.received) {
      this.#say({ kind: "searched", promptId, written: this.agent.written.prompts.includes(text), final });
    }
  }

  /** The transcript has grown. */
  flush(): void {
    const { agent } = this;
    agent.written = agent.real;
    this.#read();
    this.#search(false);
    const text = this.state.prompts.sent?.text ?? null;
    const isTaken =
      text !== null && seeksPrompt(this.state, this.template, agent.now) && agent.written.prompts.includes(text);
    const dialog = this.state.activity.permissions.length > 0 ? agent.dialog : null;
    this.post({ kind: "transcript_changed", promptTaken: isTaken ? text : null, dialog });
  }

  look(): void {
    const { agent } = this;
    const { dialog } = agent;
    const screen: ScreenLook = {
      composer: dialog === null,
      text: dialog?.text ?? "> ",
      title: null,
      starting: false,
      dialog,
    };
    if (this.state.activity.activity === "working" && !agent.hasFile) this.flush();
    this.#read();
    const file = agent.hasFile ? { ...agent.file, hooked: agent.file.activity === "needs_permission" } : null;
    const { permissions } = this.state.activity;
    const held = agent.turn?.call?.held === true ? permissions.map(({ permissionId }) => permissionId) : [];
    this.post({ kind: "looked", look: { screen, computes: false, file, held } });
    this.#search(false);
    this.#say({ kind: "tick" });
    this.#say({ kind: "send_next" });
  }

  step(choice: number): void {
    const { agent } = this;
    const [what, detail] = [choice % 22, Math.floor(choice / 22)];
    agent.now += 1;
    if (what < 5) return this.#runTask(detail);
    if (what === 5 && this.#added < 5) {
      const promptId = `p${this.#added++}`;
      this.#say({ kind: "added", prompt: { promptId, prompt: `do ${promptId}`, state: "queued", sentAt: null } });
    }
    if (what === 6 && agent.turn === null && agent.composer === "" && this.state.prompts.sending === null) {
      agent.composer = `typed ${detail}`;
      agent.enter();
    }
    if (what === 7) agent.ask(detail % 2 === 0);
    if (what === 8) agent.allow();
    if (what === 9) agent.deny(true);
    if (what === 10 || what === 11) agent.endTurn();
    if (what === 12) this.#answer(detail % 2 === 0);
    if (what === 13 || what === 14) this.#deliver(detail);
    if (what === 15) this.flush();
    if (what === 16 || what === 17) this.look();
    if (what === 18 || what === 19) agent.now += 50 + (detail % 40) * 50;
    if (what === 20) this.post({ kind: "viewer", did: detail % 2 === 0 ? "attach" : "leave" });
    if (what === 21) this.#checkIdleTime();
  }

  /** Answers through the hook, or with keys in the dialog. */
  #answer(allow: boolean): void {
    const call = this.agent.turn?.call ?? null;
    const open = this.state.activity.permissions.find(({ callKey }) => callKey === call?.command);
    if (open === undefined) return;
    if (allow) this.agent.allow();
    else this.agent.deny(false);
    this.post({ kind: "answered", permissionId: open.permissionId, decision: allow ? "allow" : "deny" });
  }

  /** The next report arrives. If the agent has a state file, the report may be lost or arrive twice. */
  #deliver(detail: number): void {
    const hook = this.agent.hooks.shift() ?? null;
    const fate = this.agent.hasFile ? detail % 8 : 0;
    if (fate === 7 && this.#lastHook !== null) this.post(this.#lastHook);
    if (hook === null || fate === 6) return;
    this.post(hook);
    this.#lastHook = hook;
  }

  #runTask(at: number): void {
    const task = this.#tasks.at(at % Math.max(1, this.#tasks.length));
    if (task?.next().done === true) this.#tasks = this.#tasks.filter((one) => one !== task);
  }

  runAll(): void {
    for (let steps = 0; this.#tasks.length > 0; steps += 1) {
      if (steps > 10_000) throw new Error("It never comes to an end.");
      this.#runTask(0);
    }
  }

  /** Everything that was delayed has arrived, and some time has passed. */
  settle(): void {
    this.#drain();
    for (let looks = 0; looks < 60; looks += 1) {
      this.agent.now += 250;
      this.runAll();
      this.#drain();
      if (this.agent.written !== this.agent.real) this.flush();
      this.look();
    }
    this.runAll();
  }

  /** @param killed with the process group: hooks end before they report, and the agent before it writes */
  end(killed: boolean): void {
    this.post({ kind: "ended" });
    this.runAll();
    if (!killed) {
      this.#drain();
      this.flush();
    }
    const exit = { exitCode: killed ? 137 : 0, signal: killed ? "SIGKILL" : null, at: this.agent.now };
    this.#say({ kind: "ended", exit });
    this.runAll();
    this.#search(true);
    this.#say({ kind: "turn_over" });
    this.runAll();
  }
}

/** The agent's true activity. */
function truthOf({ turn }: Agent): string {
  if (turn === null) return "rests";
  return turn.call === null ? "works" : "asks";
}

function shownBy({ activity }: SessionState): string {
  if (activity.permissions.length > 0 || activity.activity.startsWith("needs_")) return "asks";
  // Also if only sub-agents seem to be working, as after lost reports.
  return activity.activity === "working" ? "works" : "rests";
}

describe.each([claudeCode, codex])("$name", (template) => {
  const choices = fc.array(fc.nat(4_000), { minLength: 20, maxLength: 250 });

  test("whatever comes late, twice or never, what the session shows becomes true, and each prompt is typed once at most", () => {
    fc.assert(
      fc.property(choices, fc.nat(3), (schedule, fate) => {
        const world = new World(template);
        for (const choice of schedule) {
          world.step(choice);
          const { sent, sending } = world.state.prompts;
          if (sent !== null && sending !== null) expect(sending.prompt.promptId, "two at once").toBe(sent.promptId);
        }
        const killed = fate === 0;
        if (!killed) {
          world.settle();
          expect(shownBy(world.state), "what it does").toBe(truthOf(world.agent));
        }
        world.end(killed);
        expect(new Set(world.typed).size, "typed twice").toBe(world.typed.length);
        const { prompts } = world.state;
        expect([prompts.sent, prompts.sending, prompts.received], "all is settled").toEqual([null, null, []]);
        for (const [promptId, { state }] of prompts.progress) {
          if (state !== "queued") expect(world.marks.get(promptId), "the store says the same").toBe(state);
          if (state === "queued") expect(world.typed, "queued, not typed").not.toContain(promptId);
          if (state === "delivered") expect(world.agent.written.prompts, "delivered").toContain(`do ${promptId}`);
          if (state === "lost") expect(world.agent.real.prompts, "lost").not.toContain(`do ${promptId}`);
        }
        let again = newSessionState(sessionRecord(), "launched", begin);
        for (const { at, message } of world.log)
          ({ state: again } = nextSession(again, message, { template, now: at }));
        expect(again, "replayed").toEqual(world.state);
      }),
      { numRuns: schedules },
    );
  }, 600_000);
});
