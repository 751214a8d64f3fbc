import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject } from "vitest";
import { claudeCode } from "../../src/agents/claude-code/claude-code.ts";
import { codex } from "../../src/agents/codex/codex.ts";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { startTimeOf } from "../../src/platform/processes.ts";
import { connectTerminalHost } from "../../src/terminal-host/client.ts";
import type { TerminalHostClient } from "../../src/terminal-host/terminal-info.ts";
import type { AskOutput, ReadOutput } from "../../src/wire/coding.ts";
import type { ApiClient, World } from "./gateway.ts";
import { type OutsideAgent, startOutside } from "./outside-agent.ts";
import { recordSituation } from "./session-recorder.ts";
import { createWitness, type Expected, type Witness } from "./witness.ts";

/** Something that happens to a session, or that it has to say. `$` in texts is a word of this situation alone. */
export type Step =
  /** A prompt through the API. */
  | { readonly ask: string }
  /** A terminal without a prompt. */
  | { readonly spawn: true }
  /** A person starts the agent in their own terminal, outside Postern, with this prompt. */
  | { readonly outside: string }
  /** Text that a user pastes into the terminal, followed by Enter. */
  | { readonly paste: string }
  /** Keys that a person presses. */
  | { readonly keys: string }
  /** An answer to the oldest permission, through the API. */
  | { readonly answer: "allow" | "deny" }
  | { readonly signal: NodeJS.Signals }
  /** The moment at which the model is asked something that holds this text (for the `times`th time). */
  | { readonly untilAsked: string; readonly times?: number }
  /** The moment at which the screen shows this, or no longer does. */
  | { readonly untilScreen: RegExp }
  | { readonly untilScreenLacks: RegExp }
  /** The moment at which this file of the project is there. */
  | { readonly untilFile: string }
  /** The moment at which the process is gone. */
  | { readonly untilGone: true }
  /** What the session has to say within a second of the step before. */
  | { readonly says: Expected }
  /** How long it has to go on saying so. */
  | { readonly forMs: number };

/** One row: an action, and what the test expects to see. */
export interface Situation {
  readonly title: string;
  readonly steps: readonly Step[];
}

/** Where situations are played. */
export interface Stage {
  readonly world: World;
  readonly api: ApiClient;
  readonly agent: string;
  readonly host: TerminalHostClient;
}

/** The terminal host of this world, next to the gateway. */
export function hostOf(world: World): Promise<TerminalHostClient> {
  return connectTerminalHost({
    socketPath: join(world.home, "run", "host.sock"),
    stateDir: join(world.home, "terminal-host"),
    log: silentLog,
    clock: systemClock,
  });
}

const patience = { timeoutMs: 40_000, intervalMs: 120 };
const pasteToEnterMs = 150;

/** Plays one situation in a separate session. */
export async function play(stage: Stage, situation: Situation, word: string): Promise<void> {
  const player = new Player(stage, situation.title, word);
  await player.play(situation.steps);
  const { agent, world } = stage;
  await recordSituation(player.terminalIds, { title: situation.title, agent, root: world.root });
}

class Player {
  readonly #stage: Stage;
  readonly #word: string;
  readonly #witness: Witness;
  #sessionId: string | null = null;
  #pid = 0;
  #terminalId = "";
  #outside: OutsideAgent | null = null;
  readonly #terminalIds = new Set<string>();

  constructor(stage: Stage, title: string, word: string) {
    this.#stage = stage;
    this.#word = word;
    this.#witness = createWitness(`${stage.agent}: ${title}`, () => this.#read());
  }

  /** Null while the session is not known: one from outside is found by its first lines. */
  async #read(): Promise<ReadOutput | null> {
    if (this.#sessionId === null) return null;
    const request = { sessionId: this.#sessionId, last: 1, blocks: false };
    const { status, body } = await this.#stage.api.post<ReadOutput>("/api/coding/coding_read_session", request);
    if (status === 404 && this.#outside !== null) return null;
    expect(status).toBe(200);
    return body;
  }

  async play(steps: readonly Step[]): Promise<void> {
    try {
      for (const step of steps) await this.#take(step);
      await this.#witness.end();
    } catch (error) {
      throw new Error(`${String(error)}\nThe screen shows:\n${(await this.#screen().catch(() => "")).trim()}`, {
        cause: error,
      });
    } finally {
      this.#witness.stop();
      await this.#outside?.close();
      // One that was ended by then is closed all the same.
      if (this.#sessionId !== null) {
        await this.#stage.api.post("/api/coding/coding_close_session", { sessionId: this.#sessionId });
      }
    }
  }

  #text(text: string): string {
    return text.replaceAll("$", this.#word);
  }

  /** `$` stands for this situation's word, `\\$` in the source of a pattern. */
  #pattern({ source, flags }: RegExp): RegExp {
    return new RegExp(source.replaceAll("\\$", this.#word), flags);
  }

  async #screen(): Promise<string> {
    if (this.#outside !== null) return this.#outside.screen().join("\n");
    return (await this.#stage.host.snapshot(this.#terminalId)).lines.join("\n");
  }

  async #write(data: string): Promise<void> {
    if (this.#outside === null) await this.#stage.host.write(this.#terminalId, data);
    else this.#outside.write(data);
  }

  async #startOutside(prompt: string): Promise<void> {
    const { world, agent } = this.#stage;
    const claude = agent === "claude-code";
    const template = claude ? claudeCode : codex;
    const outside = await startOutside(
      world,
      { template, binary: inject("agents")[claude ? "claude" : "codex"] },
      prompt,
    );
    this.#outside = outside;
    this.#pid = outside.pid;
    await until(
      async () =>
        (await outside.sessionId()) !== null &&
        (await template.findTranscript((await outside.sessionId()) ?? "", world.env)) !== null,
      Boolean,
    );
    this.#sessionId = await outside.sessionId();
  }

  async #begun({ sessionId, pid }: Pick<AskOutput, "sessionId" | "pid">): Promise<void> {
    this.#sessionId = sessionId;
    this.#pid = pid ?? 0;
    const terminals = await this.#stage.host.list();
    this.#terminalId =
      terminals.find((terminal) => terminal.pid === this.#pid && terminal.exit === null)?.terminalId ?? "";
    this.#terminalIds.add(this.#terminalId);
  }

  /** The terminals that the session had, the first one first. */
  get terminalIds(): readonly string[] {
    return [...this.#terminalIds];
  }

  async #take(step: Step): Promise<void> {
    const { api, agent, world } = this.#stage;
    if ("says" in step) return this.#witness.expects(step.says);
    if ("forMs" in step) return sleep(step.forMs);
    this.#witness.act();
    if ("outside" in step) await this.#startOutside(this.#text(step.outside));
    else if ("ask" in step) {
      const known = this.#sessionId === null ? { agent } : { sessionId: this.#sessionId };
      await this.#begun(await api.ask({ ...known, dir: world.repository, prompt: this.#text(step.ask) }));
    } else if ("spawn" in step) {
      const request = this.#sessionId === null ? { agent, dir: world.repository } : { sessionId: this.#sessionId };
      const { body } = await api.post<{ sessionId: string; pid: number }>("/api/coding/spawn", request);
      await this.#begun(body);
    } else if ("paste" in step) {
      await this.#write(`\u001b[200~${this.#text(step.paste)} \u001b[201~`);
      await sleep(pasteToEnterMs);
      await this.#write("\r");
    } else if ("keys" in step) await this.#write(step.keys);
    else if ("answer" in step) await this.#answer(step.answer);
    else if ("signal" in step) process.kill(this.#pid, step.signal);
    else await this.#until(step);
  }

  async #answer(decision: "allow" | "deny"): Promise<void> {
    const { api } = this.#stage;
    const sessionId = this.#sessionId ?? "";
    const permissionId = (await api.read(sessionId)).permissions[0]?.permissionId;
    const { status, body } = await api.post("/api/coding/coding_answer_permission", {
      sessionId,
      permissionId,
      decision,
    });
    expect({ status, body }).toMatchObject({ status: 200 });
  }

  async #until(step: Extract<Step, { [key in `until${string}`]: unknown }>): Promise<void> {
    const { world } = this.#stage;
    if ("untilAsked" in step) {
      const text = this.#text(step.untilAsked);
      const asked = (): number =>
        world.modelServer.requests.filter(({ kind, prompt }) => kind === "turn" && prompt?.includes(text)).length;
      await until(asked, (count) => count >= (step.times ?? 1));
    } else if ("untilScreen" in step) {
      const shows = this.#pattern(step.untilScreen);
      await until(
        () => this.#screen(),
        (screen) => shows.test(screen),
      );
    } else if ("untilScreenLacks" in step) {
      const shows = this.#pattern(step.untilScreenLacks);
      await until(
        () => this.#screen(),
        (screen) => !shows.test(screen),
      );
    } else if ("untilFile" in step) {
      const path = join(world.repository, this.#text(step.untilFile));
      await until(() => existsSync(path), Boolean);
    } else {
      await until(
        () => startTimeOf(this.#pid),
        (startTime) => startTime === "",
      );
    }
  }
}

/** As `expect.poll`, which tests that run at the same time cannot use. */
async function until<T>(look: () => T | Promise<T>, holds: (value: T) => boolean): Promise<void> {
  const deadline = Date.now() + patience.timeoutMs;
  while (!holds(await look())) {
    if (Date.now() > deadline) throw new Error(`It did not come to pass: ${String(holds)}`);
    await sleep(patience.intervalMs);
  }
}
