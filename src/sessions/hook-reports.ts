import type { AgentTemplate, HookClaim } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import { createHookInbox, type HookInbox } from "./hook-inbox.ts";
import type { Identity } from "./identity.ts";
import { type PermissionNote, parseInboxLine, parsePermissionNote, permissionIdOf } from "./inbox-line.ts";

/** The line of a report. */
export interface ReportedLine {
  /** When the hook wrote it. */
  readonly at: number;
  /** What a permission that it asks for is known by. */
  readonly permissionId: string;
}

/** What {@link HookReports} needs. */
export interface HookReportsDeps {
  readonly inboxPath: string;
  readonly template: AgentTemplate;
  readonly identity: Identity;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each line that counts for this session. */
  readonly onReport: (claim: HookClaim, line: ReportedLine) => Promise<void>;
  /** Called when a hook noted, before we began, that it passed a decision on. What is decided from then on we know ourselves. */
  readonly onAnswered: (note: PermissionNote) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** What the hooks of one live session report, each line checked before it counts. */
export class HookReports {
  readonly #deps: HookReportsDeps;
  #inbox: HookInbox | null = null;
  #refused = 0;
  #replaying = true;

  constructor(deps: HookReportsDeps) {
    this.#deps = deps;
  }

  /** Reads everything that was reported so far, and what comes from then on. */
  async open(): Promise<void> {
    const { inboxPath: path, clock, onError } = this.#deps;
    this.#inbox = createHookInbox({ path, clock, onLine: (line) => this.#onLine(line), onError });
    await this.#inbox.drain();
    this.#replaying = false;
  }

  async #onLine(text: string): Promise<void> {
    const { identity, template, clock, onReport, onAnswered } = this.#deps;
    const line = parseInboxLine(text);
    const claim = line === null ? null : template.parseHook(line.payload);
    if (line === null || claim === null) {
      const note = parsePermissionNote(text);
      return note === null || !this.#replaying ? undefined : onAnswered(note);
    }
    if (!(await identity.accepts(claim, line.at))) return this.#refuse(claim);
    const now = clock.now();
    const at = Math.min(line.at ?? now, now);
    await onReport(claim, { at, permissionId: permissionIdOf(text) });
  }

  /** Says so once for each session: a line that is refused comes seldom alone. */
  #refuse({ event }: HookClaim): void {
    const { log, identity } = this.#deps;
    this.#refused += 1;
    const fields = { sessionId: identity.record.sessionId, event: event.kind, refused: this.#refused };
    log[this.#refused === 1 ? "warn" : "debug"](fields, "refused a hook line that is not this session's");
  }

  async drain(): Promise<void> {
    await this.#inbox?.drain();
  }

  async close(): Promise<void> {
    await this.#inbox?.close();
  }
}
