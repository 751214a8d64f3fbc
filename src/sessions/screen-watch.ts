import type { AgentTemplate, Environment } from "../agents/index.ts";
import { dialogIdOf, isAbout, type ScreenDialog } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { hasRunningThread } from "../platform/process-table.ts";
import { descendantsOf } from "../platform/processes.ts";
import type { TerminalHostClient, TerminalLook } from "../terminal-host/terminal-info.ts";
import {
  type ActivityState,
  isBooting,
  isResting,
  type Observation,
  type OpenPermission,
  type StandingScreen,
} from "./activity.ts";
import type { LiveSessionInput } from "./live-session-input.ts";

// OpenCode waits for a minute where one that was killed has left a lock (measured), and then begins.
const emptyStartMs = 90_000;
// Its first start, with no way to the registry, took 108 s of an empty screen (measured).
const longestEmptyMs = 300_000;
// Looks come every second or so; in a longer pause the machine slept, and the agent with it.
const longestPauseMs = 10_000;
// A dialog that the template knows needs no long proof; it may still be painted.
const knownDialogMs = 400;
// Spinners turn and clocks count at least every second; a person is to know within five.
const unknownScreenMs = 4_000;
// A start that took 1 s on a quiet machine took 15 s with a load of ten times its processors (Codex, measured).
const longestLoadingMs = 90_000;
// A program that the agent started may compute for ever, beside a dialog of the agent.
const longestChildrenMs = 20_000;
// From then on the process is asked whether it computes, which costs more than a look.
const askProcessMs = 2_000;
const maxScreenCharacters = 8_000;

/** What one look at a terminal found. */
export type ScreenLook =
  | { readonly kind: "composer" }
  /** Nothing is shown, or it changes, or it says itself that it loads, for a minute and a half at most. */
  | { readonly kind: "moving" }
  | ({ readonly kind: "stands" } & StandingScreen);

/** What a {@link ScreenWatch} works with. */
export interface ScreenWatchDeps {
  readonly host: Pick<TerminalHostClient, "look" | "end">;
  readonly clock: Clock;
  readonly log: Log;
  readonly terminalId: string;
  readonly pid: number;
  readonly env: Environment;
  readonly template: Pick<
    AgentTemplate,
    "name" | "readyBy" | "composerPainted" | "isStarting" | "readDialog" | "hasHung"
  >;
  readonly origin: LiveSessionInput["origin"];
  /** Whether the process, or one that it started, computes at this moment. */
  readonly isComputing?: (pid: number, children: boolean) => boolean;
}

/**
 * Looks at the screen of an agent that does not work: whether the composer is there, or a dialog or message stands still in its place. An
 * agent that hangs at its start before it has painted anything is ended: its start has failed.
 */
export class ScreenWatch {
  readonly #deps: ScreenWatchDeps;
  readonly #isComputing: (pid: number, children: boolean) => boolean;
  #lookedAt: number;
  #emptyMs = 0;
  /** The dialog that stood there when a permission was last looked for. */
  #asked: ScreenDialog | null = null;
  #sawComposer: boolean;
  /** What the screen shows since when. */
  #shown: {
    readonly text: string;
    readonly since: number;
    /** When it was first seen, whether or not the process computed since. */
    readonly from: number;
    readonly computed: number;
    /** Whether it was reported already: then it stands until it changes. */
    readonly stood: boolean;
  } | null = null;

  constructor(deps: ScreenWatchDeps) {
    this.#deps = deps;
    this.#isComputing = deps.isComputing ?? isComputing;
    this.#lookedAt = deps.clock.now();
    // Whoever uses the agent's own menus while a gateway starts is not in need of it.
    this.#sawComposer = deps.origin === "found";
  }

  /** Whether the composer was seen, so that a look tells nothing new until something waits for it. */
  get sawComposer(): boolean {
    return this.#sawComposer;
  }

  /**
   * What the screen says that is not known yet. `pending` says that a prompt waits for the composer. A turn that runs is never called in
   * question.
   */
  async news(state: ActivityState, { pending }: { readonly pending: boolean }): Promise<readonly Observation[]> {
    const booting = isBooting(state);
    const attention = state.activity === "needs_attention";
    const waits = isResting(state) && (pending || !this.#sawComposer);
    if (!booting && !attention && !waits) return [];
    const look = await this.look({ booting });
    if (look.kind === "stands") {
      const { screen, dialog } = look;
      const known = state.standing?.screen === screen && state.standing.dialog?.dialogId === dialog?.dialogId;
      return known ? [] : [{ kind: "screen_stands", screen, dialog }];
    }
    if (look.kind === "composer" && (state.started || this.#deps.template.readyBy === "composer")) {
      return booting || attention ? [{ kind: "composer_painted" }] : [];
    }
    return attention ? [{ kind: "screen_moved" }] : [];
  }

  /** Looks for the dialog of a permission. @returns whether another one stands there than before, or none any more */
  async hasNewDialog(): Promise<boolean> {
    const before = this.#asked;
    this.#asked = await this.#dialog();
    return (before && dialogIdOf(before)) !== (this.#asked && dialogIdOf(this.#asked));
  }

  /** The one that the dialog on the screen, as it was at the last look, is about; none when it may be about several. */
  askedAmong<T extends Pick<OpenPermission, "kind" | "input">>(permissions: readonly T[]): T | null {
    const dialog = this.#asked;
    if (dialog === null) return null;
    const meant = permissions.filter(({ kind, input }) => kind === "permission" && isAbout(dialog, input));
    return meant.length === 1 ? (meant[0] ?? null) : null;
  }

  /** Whether the screen asks one of the open questions at this moment. */
  async asks({ permissions }: Pick<ActivityState, "permissions">): Promise<boolean> {
    const dialog = await this.#dialog();
    return dialog !== null && permissions.some(({ input }) => isAbout(dialog, input));
  }

  async #dialog(): Promise<ScreenDialog | null> {
    const { host, terminalId, template } = this.#deps;
    if (template.readDialog === undefined) return null;
    return template.readDialog((await host.look(terminalId)).lines);
  }

  async look({ booting }: { readonly booting: boolean }): Promise<ScreenLook> {
    const { host, terminalId, template } = this.#deps;
    const look = await host.look(terminalId);
    if (template.composerPainted(look.lines)) {
      this.#shown = null;
      this.#sawComposer = true;
      return { kind: "composer" };
    }
    const screen = screenText(look.lines);
    if (screen === "") {
      this.#shown = null;
      if (booting) await this.#endWhenHung();
      return { kind: "moving" };
    }
    this.#emptyMs = 0;
    return this.#standing(look, screen);
  }

  #standing({ lines, title }: TerminalLook, screen: string): ScreenLook {
    const now = this.#deps.clock.now();
    const dialog = this.#deps.template.readDialog?.(lines) ?? null;
    // A known dialog stays the same when another choice is selected.
    const text = dialog === null ? `${title ?? ""}\n${screen}` : dialogIdOf(dialog);
    if (this.#shown?.text !== text) this.#shown = { text, since: now, from: now, computed: 0, stood: false };
    const { since, from, computed, stood } = this.#shown;
    // Of a permission a hook reports, which on a loaded machine comes later than its dialog.
    const needed = dialog?.choices.some(({ decides }) => decides !== undefined) ? unknownScreenMs : knownDialogMs;
    if (dialog !== null && now - since >= needed) {
      return { kind: "stands", screen, dialog: { ...dialog, dialogId: dialogIdOf(dialog), seenAt: since } };
    }
    if (dialog !== null || now - since < askProcessMs) return { kind: "moving" };
    const loads = isLoading(screen) || this.#deps.template.isStarting?.(lines) === true;
    if (loads && now - from < longestLoadingMs) return { kind: "moving" };
    // On a slow machine a screen stands still because the agent is not there yet; one that waits for a person sleeps.
    if (!stood && this.#isComputing(this.#deps.pid, now - from < longestChildrenMs)) {
      this.#shown = { text, since: computed > 0 ? now : since, from, computed: computed > 0 ? 0 : 1, stood };
    }
    if (now - this.#shown.since < unknownScreenMs) return { kind: "moving" };
    this.#shown = { ...this.#shown, stood: true };
    return { kind: "stands", screen, dialog: null };
  }

  async #endWhenHung(): Promise<void> {
    const { host, clock, log, terminalId, template, pid } = this.#deps;
    const now = clock.now();
    this.#emptyMs += Math.min(now - this.#lookedAt, longestPauseMs);
    this.#lookedAt = now;
    if (template.hasHung === undefined || this.#emptyMs < emptyStartMs) return;
    if (this.#emptyMs < longestEmptyMs && !template.hasHung(this.#deps)) return;
    log.warn({ agent: template.name, pid }, "ending an agent that has hung at its start");
    await host.end(terminalId);
  }
}

/** Agents compute in several threads, and sleep while their hooks compute. @param children whether what the agent started counts */
export function isComputing(pid: number, children: boolean): boolean {
  return hasRunningThread(pid) || (children && descendantsOf(pid).some((child) => hasRunningThread(child.pid)));
}

// Control and format characters; a terminal drops most of them, and what it keeps could reorder the text.
const invisible = /[\p{Cc}\p{Cf}]/gu;

function screenText(lines: readonly string[]): string {
  const text = lines.map((line) => line.replaceAll(invisible, "").trimEnd()).join("\n");
  return text
    .replaceAll(/\n{3,}/g, "\n\n")
    .replace(/^\n+/, "")
    .trimEnd()
    .slice(0, maxScreenCharacters)
    .toWellFormed();
}

/** The last line says that something is under way: "Resuming session…". */
function isLoading(screen: string): boolean {
  return /(?:…|\.\.\.)$/.test(screen);
}
