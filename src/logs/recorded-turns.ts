import { sql } from "kysely";
import { type LogsDatabase, logsQuery, textsIn } from "./logs-database.ts";
import { isMarked } from "./marked-entries.ts";

/** A range of turns, inclusive. */
export interface TurnRange {
  readonly first: number;
  readonly last: number;
}

export interface TurnOwner {
  readonly accountId: string;
  /** All names the session ever had. */
  readonly names: readonly string[];
}

/** Deleted turns that are not to be recorded again. */
interface Suppressed extends TurnRange {
  /** The name they were recorded under. */
  readonly sessionId: string;
}

/** Ranges of consecutive numbers. */
function rangesOf(indexes: readonly number[]): readonly TurnRange[] {
  const ranges: { first: number; last: number }[] = [];
  for (const index of [...new Set(indexes)].toSorted((one, other) => one - other)) {
    const open = ranges.at(-1);
    if (open !== undefined && index === open.last + 1) open.last = index;
    else ranges.push({ first: index, last: index });
  }
  return ranges;
}

/** `names` is a JSON list. */
type Within = { accountId: string; names: string; first: number; last: number };

const findRecorded = logsQuery<Within, { session_id: string; turn_index: number; log_id: string; marked: number }>(
  (dialect, slot) => sql`select session_id, turn_index, log_id,
      case when ${isMarked("log_turns.log_id")} then 1 else 0 end as marked from log_turns
    where account_id = ${slot("accountId")} and session_id in ${textsIn(dialect, slot("names"))}
      and turn_index >= ${slot("first")} and turn_index <= ${slot("last")}`,
);
const findSuppressed = logsQuery<Within, { session_id: string; first_turn: number; last_turn: number }>(
  (dialect, slot) => sql`select session_id, first_turn, last_turn from log_suppressions
    where account_id = ${slot("accountId")} and session_id in ${textsIn(dialect, slot("names"))}
      and first_turn <= ${slot("last")} and last_turn >= ${slot("first")}`,
);

/** Which turns of a range are recorded, and which suppressed, including those of `marked` entries, which are being deleted. */
export async function knownTurns(
  on: LogsDatabase,
  { accountId, names }: TurnOwner,
  { first, last }: TurnRange,
): Promise<{
  readonly recorded: ReadonlyMap<number, string>;
  readonly suppressed: readonly Suppressed[];
  readonly marked: readonly string[];
}> {
  const within = { accountId, names: JSON.stringify(names), first, last };
  const held = await findRecorded(on, within);
  const marked = held.filter((row) => row.marked === 1);
  const suppressed = await findSuppressed(on, within);
  return {
    recorded: new Map(held.flatMap((row) => (row.marked === 1 ? [] : [[row.turn_index, row.log_id] as const]))),
    suppressed: [
      ...suppressed.map((row) => ({ sessionId: row.session_id, first: row.first_turn, last: row.last_turn })),
      ...marked.map((row) => ({ sessionId: row.session_id, first: row.turn_index, last: row.turn_index })),
    ],
    marked: [...new Set(marked.map(({ log_id }) => log_id))],
  };
}

/** Suppresses turns: they are recorded only on explicit request. */
export async function suppressTurns(
  { db }: LogsDatabase,
  { accountId, sessionId }: { readonly accountId: string; readonly sessionId: string },
  { indexes, at }: { readonly indexes: readonly number[]; readonly at: number },
): Promise<void> {
  for (const range of rangesOf(indexes)) await insertSuppression(db, accountId, { ...range, sessionId, at });
}

async function insertSuppression(
  db: LogsDatabase["db"],
  accountId: string,
  { sessionId, first, last, at }: Suppressed & { readonly at: number },
): Promise<void> {
  await db
    .insertInto("log_suppressions")
    .values({ account_id: accountId, session_id: sessionId, first_turn: first, last_turn: last, created_at: at })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** Lifts the suppression of only these turns. */
export async function allowTurns(
  on: LogsDatabase,
  owner: TurnOwner,
  { indexes, at }: { readonly indexes: readonly number[]; readonly at: number },
): Promise<void> {
  for (const { first, last } of rangesOf(indexes)) {
    const { suppressed } = await knownTurns(on, owner, { first, last });
    for (const range of suppressed) {
      await on.db
        .deleteFrom("log_suppressions")
        .where("account_id", "=", owner.accountId)
        .where("session_id", "=", range.sessionId)
        .where("first_turn", "=", range.first)
        .where("last_turn", "=", range.last)
        .execute();
      const before = { ...range, last: first - 1, at };
      const after = { ...range, first: last + 1, at };
      for (const rest of [before, after]) {
        if (rest.first <= rest.last) await insertSuppression(on.db, owner.accountId, rest);
      }
    }
  }
}
