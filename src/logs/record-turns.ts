import { setImmediate as nextTask } from "node:timers/promises";
import type { Clock } from "../core/clock.ts";
import type { Turn } from "../wire/turn.ts";
import type { Recorded, SessionRecording } from "./ingest.ts";
import type { LogsDatabase } from "./logs-database.ts";
import type { LogsCaller, NamesOf, ReadSession, SessionPart } from "./ports.ts";
import type { TurnOwner } from "./recorded-turns.ts";

export interface RecordTurnsDeps extends LogsDatabase {
  readonly clock: Clock;
  readonly read: ReadSession;
  readonly record: (accountId: string, recording: SessionRecording) => Promise<Recorded>;
  readonly namesOf: NamesOf;
  /** The time (epoch milliseconds) until which a session's content is forgotten, given the session's own id; null if it is not. */
  readonly forgottenAt: (sessionId: string) => Promise<number | null>;
}

export interface TurnsWanted {
  /** Any name the session ever had. */
  readonly sessionId: string;
  /** The account whose memory receives the turns. */
  readonly caller: LogsCaller;
  /** On explicit request: all turns, even deleted or forgotten ones. Otherwise only those after the last recorded or deleted turn. */
  readonly onPurpose: boolean;
  /** Skips a session that is running. */
  readonly onlyIfOver?: boolean;
  readonly signal: AbortSignal;
}

/** Turns per entry. The store is busy for about 40 ms with turns of eight tool calls each. */
const turnsAtOnce = 10;
/** Background recording pauses as long as it worked, at most this long. */
const maxRestMs = 500;
/** Agents write a turn's last line shortly after reporting its end. */
const lookAgainMs = 100;
const maxLooks = 30;

/**
 * Records the ended turns of a session, or all turns if the session is over.
 * @throws PosternError `session_not_found`; the signal's reason
 */
export async function recordTurns(deps: RecordTurnsDeps, wanted: TurnsWanted): Promise<Recorded> {
  const { caller, onPurpose, signal } = wanted;
  const { accountId } = caller;
  const logIds: string[] = [];
  let outcome: Recorded["outcome"] = "known";
  let turns = 0;
  let { after, part } = await firstPart(deps, wanted);
  while (!signal.aborted && !(wanted.onlyIfOver === true && !part.isOver)) {
    const ended = part.isOver || part.unfinished === null ? part.turns : part.turns.slice(0, -1);
    const last = ended.at(-1);
    if (last === undefined) break;
    const { sessionId, dir } = part;
    const forgottenAt = onPurpose ? null : await deps.forgottenAt(sessionId);
    const kept = forgottenAt === null ? ended : ended.filter((turn) => beganAfter(turn, forgottenAt));
    // A title comes from the first prompt.
    const title = forgottenAt === null ? part.title : null;
    const context = { ...part.context, branch: kept[0]?.index === 0 ? part.context.branch : null };
    const begunAt = performance.now();
    const recorded = await deps.record(accountId, { sessionId, title, dir, context, turns: kept, onPurpose });
    logIds.push(...recorded.logIds);
    turns += recorded.turns;
    if (outcome !== "recorded" && recorded.outcome !== "known") outcome = recorded.outcome;
    after = last.index;
    if (ended.length < part.turns.length || after >= part.turnCount - 1) break;
    await nextTask();
    if (!onPurpose) await deps.clock.sleep(Math.min(maxRestMs, performance.now() - begunAt), signal);
    part = await readWritten(deps, wanted, after);
  }
  signal.throwIfAborted();
  return { outcome, logIds, turns };
}

/** A turn without a time counts as earlier. */
function beganAfter({ at }: Turn, epochMs: number): boolean {
  return at !== null && Date.parse(at) > epochMs;
}

/** Reads the first part. Only then is the session's own id known, and with it all its names. */
async function firstPart(
  deps: RecordTurnsDeps,
  wanted: TurnsWanted,
): Promise<{ readonly after: number; readonly part: SessionPart }> {
  const { accountId } = wanted.caller;
  const after = async (names: readonly string[]): Promise<number> =>
    wanted.onPurpose ? -1 : (await nextTurn(deps, { accountId, names })) - 1;
  const names = await deps.namesOf(wanted.sessionId);
  const first = await after(names);
  const part = await readWritten(deps, wanted, first);
  if (names.includes(part.sessionId)) return { after: first, part };
  const own = await after(await deps.namesOf(part.sessionId));
  return { after: own, part: own === first ? part : await readWritten(deps, wanted, own) };
}

async function readWritten(deps: RecordTurnsDeps, wanted: TurnsWanted, after: number): Promise<SessionPart> {
  const { sessionId, caller, signal } = wanted;
  for (let look = 1; ; look += 1) {
    const part = await deps.read(sessionId, { after, limit: turnsAtOnce }, { caller, signal });
    if (part.isOver || part.unfinished !== "unwritten" || look >= maxLooks) return part;
    await deps.clock.sleep(lookAgainMs, signal);
  }
}

/** The recorder's position. */
interface RecordingMark {
  /** The last event handled. */
  readonly eventId: string;
  /** When it was saved, milliseconds since the epoch. */
  readonly at: number;
}

const name = "recorder";

/** Null if automatic recording was never on, or was turned off since. */
export async function recordingMark({ db }: LogsDatabase): Promise<RecordingMark | null> {
  const row = await db.selectFrom("log_marks").selectAll().where("name", "=", name).executeTakeFirst();
  return row === undefined ? null : { eventId: row.event_id, at: row.at };
}

export async function saveRecordingMark({ db }: LogsDatabase, mark: RecordingMark | null): Promise<void> {
  if (mark === null) {
    await db.deleteFrom("log_marks").where("name", "=", name).execute();
    return;
  }
  const { eventId: event_id, at } = mark;
  await db
    .insertInto("log_marks")
    .values({ name, event_id, at })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ event_id, at }))
    .execute();
}

/** The turn after the last recorded or suppressed one. */
async function nextTurn({ db }: LogsDatabase, { accountId, names }: TurnOwner): Promise<number> {
  const recorded = await db
    .selectFrom("log_turns")
    .select("turn_index")
    .where("account_id", "=", accountId)
    .where("session_id", "in", names)
    .orderBy("turn_index", "desc")
    .limit(1)
    .executeTakeFirst();
  const suppressed = await db
    .selectFrom("log_suppressions")
    .select("last_turn")
    .where("account_id", "=", accountId)
    .where("session_id", "in", names)
    .orderBy("last_turn", "desc")
    .limit(1)
    .executeTakeFirst();
  return Math.max(recorded?.turn_index ?? -1, suppressed?.last_turn ?? -1) + 1;
}
