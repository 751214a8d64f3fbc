import type { AgentTemplate, Environment, ObservedActivity, ObservedState } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { ActivityState, Observation } from "./activity.ts";
import { composerOnScreen } from "./deliver.ts";
import type { Identity } from "./identity.ts";
import { agrees, observedChanges } from "./observed-changes.ts";
import type { TranscriptFollower } from "./transcript-follower.ts";

/** What {@link AgentStateReader} asks. */
export interface AgentStateReaderDeps {
  readonly template: AgentTemplate;
  readonly terminalId: string;
  readonly pid: number;
  readonly env: Environment;
  readonly identity: Identity;
  readonly transcript: TranscriptFollower;
  readonly host: TerminalHostClient;
  readonly clock: Clock;
}

// So long after something else told, the state file is believed though it is older.
const silenceMs = 1_500;
// The dialog of a sub-agent's question comes a second or two after its hook.
const askedSilenceMs = 5_000;
// Between two dialogs an agent may be busy for a moment.
const sameWordMs = 200;
// A dialog is painted within a second of its hook's end, on a loaded machine in some; one that was never seen was answered before.
const unseenDialogMs = 5_000;

/** What an agent itself says of its state, beside its hooks: its state file, or its screen where it keeps none. */
export class AgentStateReader {
  readonly #deps: AgentStateReaderDeps;
  /** What the state file said since when, by our clock. */
  #last: { readonly word: string; readonly at: number } | null = null;
  #agrees = true;
  #tells = false;
  /** When a hook, or an answer from here, told last. */
  #reportedAt: number;
  /** When a question was last seen to wait in its hook: its dialog comes after that. */
  #heldAt = 0;
  /** Where no state file tells, how the composer stands since when, while a question is open. */
  #sight: { readonly covered: boolean; readonly at: number } | null = null;
  #wasCovered = false;
  /** What the window title says since when. */
  #title: { readonly activity: ObservedActivity; readonly since: number } | null = null;

  constructor(deps: AgentStateReaderDeps) {
    this.#deps = deps;
    this.#reportedAt = deps.clock.now();
  }

  /** Something else told, at this time. */
  heard(at: number): void {
    this.#reportedAt = at;
  }

  /** What the agent's own state file says, where it keeps one, or its window title, where that tells. */
  says(): Promise<ObservedState | null> {
    const { template, identity, pid, env } = this.#deps;
    if (template.readTitle !== undefined) return this.#saysByTitle(template.readTitle);
    return template.liveState(identity.record.sessionId, { pid, env });
  }

  async #saysByTitle(read: (title: string) => ObservedActivity | null): Promise<ObservedState | null> {
    const { host, terminalId, clock } = this.#deps;
    const { title } = await host.look(terminalId);
    const activity = title === null ? null : read(title);
    if (activity === null) this.#title = null;
    else if (this.#title?.activity !== activity) this.#title = { activity, since: clock.now() };
    return this.#title === null ? null : { ...this.#title, hooked: false };
  }

  /** Whether a state file told at the last look. */
  get tells(): boolean {
    return this.#tells;
  }

  /** Whether the last look found what was known already. */
  get agrees(): boolean {
    return this.#agrees;
  }

  /** Whether a prompt may be typed now: no dialog is open, and no turn runs that its hook has yet to tell of. */
  async letsType(state: ActivityState): Promise<boolean> {
    const observed = await this.says();
    // Of an agent that tells nothing else, nobody would know of an open dialog.
    if (observed === null && this.#deps.template.readTitle !== undefined) return false;
    return observed === null || observed.activity === "idle" || (observed.activity === "working" && state.inBackground);
  }

  /**
   * What the agent says that is not known yet. `restingMs` is how long no turn runs by other reports; `held` says that a question waits in
   * its hook, maybe without a dialog yet.
   */
  async news(
    state: ActivityState,
    { restingMs, held }: { readonly restingMs: number; readonly held: boolean },
  ): Promise<readonly Observation[]> {
    const observed = await this.says();
    if (observed === null) {
      // Once, it may have been read in the middle of a write.
      const again = !this.#tells;
      this.#tells = false;
      return again ? this.#newsBySight(state, held) : [];
    }
    this.#tells = true;
    const now = this.#deps.clock.now();
    if (held) this.#heldAt = now;
    const quietMs = now - Math.max(this.#reportedAt, this.#heldAt);
    const word = `${observed.activity} ${observed.since}`;
    if (this.#last?.word !== word) this.#last = { word, at: now };
    const news = observedChanges({
      state,
      observed,
      repeated: now - this.#last.at >= sameWordMs,
      observedForMs: now - this.#last.at,
      reportedAt: this.#reportedAt,
      silent: quietMs > (state.permissions.length > 0 ? askedSilenceMs : silenceMs),
      restingMs,
    });
    this.#agrees = news.length === 0 && agrees(observed, state);
    return news;
  }

  /** An open question covers the composer. Once that was seen, a composer that is back tells that the question was answered. */
  async #newsBySight({ permissions }: ActivityState, held: boolean): Promise<readonly Observation[]> {
    const { transcript, host, clock } = this.#deps;
    if (permissions.length === 0) {
      this.#sight = null;
      this.#wasCovered = false;
      return [];
    }
    if (held) this.#heldAt = clock.now();
    const covered = !(await composerOnScreen(host, this.#deps));
    const now = clock.now();
    if (this.#sight?.covered !== covered) this.#sight = { covered, at: now };
    this.#wasCovered ||= covered;
    const neverSeen = !this.#wasCovered && now - Math.max(this.#reportedAt, this.#heldAt) > unseenDialogMs;
    if (covered || now - this.#sight.at < sameWordMs || !(this.#wasCovered || neverSeen)) return [];
    await transcript.refresh();
    const runs = (transcript.summary?.lastTurn.kind ?? "open") === "open";
    return [{ kind: "dialog_closed", activity: runs ? "working" : "idle" }];
  }
}
