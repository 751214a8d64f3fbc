import { z } from "zod";
import type { AgentTemplate, HookClaim } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { createHookInbox, type HookInbox } from "./hook-inbox.ts";
import type { RecordKeeper } from "./record-keeper.ts";

/** The line of a report. */
export interface ReportedLine {
  /** When the hook wrote it. */
  readonly at: number;
  /** The id of the permission that the line asks for. */
  readonly permissionId: string;
}
export interface HookReportsDeps {
  readonly inboxPath: string;
  readonly template: AgentTemplate;
  readonly keeper: RecordKeeper;
  readonly clock: Clock;
  readonly log: Log;
  /** Called for each line that counts for this session. */
  readonly onReport: (claim: HookClaim, line: ReportedLine) => Promise<void>;
  /** Called for a decision that a hook passed on before this gateway started. Later decisions are known here. */
  readonly onAnswered: (note: PermissionNote) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** The reports of one live session's hooks. Each line is checked before it counts. */
export class HookReports {
  readonly #deps: HookReportsDeps;
  #inbox: HookInbox | null = null;
  #refused = 0;
  #replaying = true;

  constructor(deps: HookReportsDeps) {
    this.#deps = deps;
  }

  /** Reads everything that was reported so far, then each new report. */
  async open(): Promise<void> {
    const { inboxPath: path, clock, onError } = this.#deps;
    this.#inbox = createHookInbox({ path, clock, onLine: (line) => this.#onLine(line), onError });
    await this.#inbox.drain();
    this.#replaying = false;
  }

  async #onLine(text: string): Promise<void> {
    const { keeper, template, clock, onReport, onAnswered } = this.#deps;
    const line = parseInboxLine(text);
    const claim = line === null ? null : template.parseHook(line.payload);
    if (line === null || claim === null) {
      const note = parsePermissionNote(text);
      return note === null || !this.#replaying ? undefined : onAnswered(note);
    }
    if (!(await keeper.accepts(claim, line.at))) return this.#refuse(claim);
    const now = clock.now();
    const at = Math.min(line.at ?? now, now);
    await onReport(claim, { at, permissionId: permissionIdOf(text) });
  }

  /** Logged as a warning once for each session: refused lines seldom come alone. */
  #refuse({ event }: HookClaim): void {
    const { log, keeper } = this.#deps;
    this.#refused += 1;
    const fields = { sessionId: keeper.record.sessionId, event: event.kind, refused: this.#refused };
    log[this.#refused === 1 ? "warn" : "debug"](fields, "rejected a hook report of another session");
  }

  async drain(): Promise<void> {
    await this.#inbox?.drain();
  }

  async close(): Promise<void> {
    await this.#inbox?.close();
  }
}

// The last millisecond that a date can hold: a forged time must not break formatting.
const lastTime = 8_640_000_000_000_000;
const lineSchema = z.looseObject({ at: z.number().min(0).max(lastTime).nullable().catch(null), payload: z.unknown() });

/** One line of an inbox. */
export interface InboxLine {
  /** The hook payload, JSON text. */
  readonly payload: string;
  /** When the hook script wrote it, epoch milliseconds; null when the line has no time. */
  readonly at: number | null;
}

/** Reads one line of an inbox; null if the line does not have the hook script's format. */
export function parseInboxLine(line: string): InboxLine | null {
  try {
    const parsed = lineSchema.safeParse(JSON.parse(line));
    if (!parsed.success || parsed.data.payload === undefined) return null;
    const { at, payload } = parsed.data;
    return { at, payload: typeof payload === "string" ? payload : JSON.stringify(payload) };
  } catch {
    return null; // an incomplete line, or one that no hook wrote
  }
}

const noteSchema = z.strictObject({
  at: z.number(),
  permissionId: z.string(),
  behavior: z.enum(["allow", "deny"]),
});

/** A hook's note that it passed a permission decision to its agent. */
export interface PermissionNote {
  readonly permissionId: string;
  readonly decision: "allow" | "deny";
}

/** Reads a line as such a note; null for any other line. The note decides nothing; it only removes a question from the list. */
export function parsePermissionNote(line: string): PermissionNote | null {
  try {
    const note = noteSchema.safeParse(JSON.parse(line)).data;
    return note === undefined ? null : { permissionId: note.permissionId, decision: note.behavior };
  } catch {
    return null; // half a line, or not a hook's
  }
}

/** The id of a permission, here and in the hook that asks: a hash of the line, so that it cannot stand for any other line. */
export function permissionIdOf(line: string): string {
  return sha256(line).slice(0, 32);
}
