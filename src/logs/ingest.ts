import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import type { LogEntry, SubmitLogInput } from "../wire/logs.ts";
import type { Turn } from "../wire/turn.ts";
import { contentOf, toEntry } from "./entries.ts";
import { type Derivable, episodeOf } from "./episode.ts";
import { keepEntry, type NewEntry } from "./episode-store.ts";
import { canKeepDir, dirTooLong, type LogsErrorCode } from "./errors.ts";
import { removeMarkedNow } from "./large-deletion.ts";
import { bodyOf, maskedText } from "./log-body.ts";
import type { LogsDatabase, SharedWrite } from "./logs-database.ts";
import { maskSecrets } from "./mask-secrets.ts";
import type { LogsCaller, NamesOf, ResolveDir, SearchText } from "./ports.ts";
import { allowTurns, knownTurns, type TurnRange } from "./recorded-turns.ts";
import type { LogContext } from "./rules.ts";

const maxTitleCharacters = 500;
/** Longer recordings are split into several entries. */
const turnsOfEntry = 50;
const charactersOfEntry = 1_000_000;
const nothingKnown: LogContext = { agent: null, repository: null, branch: null };

export interface IngestDeps extends LogsDatabase {
  readonly clock: Clock;
  readonly searchText: SearchText;
  readonly resolveDir: ResolveDir;
  readonly namesOf: NamesOf;
  readonly write: SharedWrite;
  readonly newId: (epochMs: number) => string;
  /** Whether entries wait for an extractor. */
  readonly later: boolean;
}

export interface Submitted {
  readonly log: LogEntry;
  /** False if the same was submitted with this key before. */
  readonly created: boolean;
}

/**
 * Stores what a caller submits, once per idempotency key.
 * @throws PosternError `invalid_request` for a session id that looks like a secret, `idempotency_conflict` for a reused key,
 *   `dir_not_allowed` if a caller limited to folders gives no directory, and the errors of {@link ResolveDir}
 */
export async function submitLog(
  deps: IngestDeps,
  caller: LogsCaller,
  { input, idempotencyKey }: { readonly input: SubmitLogInput; readonly idempotencyKey?: string | undefined },
): Promise<Submitted> {
  const { accountId } = caller;
  const dir = await dirOf(deps, caller, input.dir);
  const now = deps.clock.now();
  const { content, turns, title, sessionId, observedAt } = input;
  if (sessionId !== undefined) refuseSecret(sessionId);
  const of: Derivable = {
    accountId,
    logId: deps.newId(now),
    title: title === undefined ? null : maskedText(title, maxTitleCharacters),
    sessionId: sessionId ?? null,
    observedAt: observedAt === undefined ? now : Date.parse(observedAt),
    recordedAt: now,
    context: nothingKnown,
    body: bodyOf(turns === undefined ? { content: content ?? "" } : { turns }),
  };
  const key_hash = idempotencyKey === undefined ? null : hashOfKey(idempotencyKey, caller, dir);
  const request_hash = key_hash === null ? null : sha256(JSON.stringify(input));
  const row = { ...rowOf(deps, of, dir), source: "api" as const, key_hash, request_hash };
  const episode = deps.later ? null : episodeOf(of, deps.searchText);
  const submitted = await deps.write(accountId, async (tx) => {
    const found = key_hash === null ? undefined : await findByKey(tx, accountId, key_hash);
    const gone = found && (await removeMarkedNow(tx, { accountId, logIds: [found.log_id], at: now }));
    const known = gone?.length === 1 ? undefined : found;
    if (known !== undefined)
      return known.request_hash === request_hash ? { log: toEntry(known), created: false } : null;
    const kept = await keepEntry(tx, { of, row, episode, indexes: [] }, deps.searchText);
    return { log: toEntry(kept), created: true };
  });
  if (submitted !== null) return submitted;
  throw new PosternError<LogsErrorCode>(
    "idempotency_conflict",
    "This idempotency key was already used for a different entry. Use a new key.",
  );
}

/** Session ids name entities and are searched literally, so they cannot be masked. */
function refuseSecret(sessionId: string): void {
  if (maskSecrets(sessionId) === sessionId) return;
  throw new PosternError<LogsErrorCode>("invalid_request", "`sessionId` looks like a secret. Use another id.");
}

/** An entry's directory. Callers limited to folders must give one, because they could not see the entry otherwise. */
async function dirOf(
  { resolveDir }: IngestDeps,
  { folders }: LogsCaller,
  dir: string | undefined,
): Promise<string | null> {
  if (dir !== undefined) {
    const resolved = await resolveDir(dir, folders);
    if (!canKeepDir(resolved)) throw dirTooLong();
    return resolved;
  }
  if (folders === null) return null;
  throw new PosternError<LogsErrorCode>(
    "dir_not_allowed",
    "This token is limited to some folders. Set `dir` to a directory in one of them.",
  );
}

/** Keeps callers limited to folders from learning which keys are used elsewhere. */
function hashOfKey(idempotencyKey: string, { folders }: LogsCaller, dir: string | null): string {
  return sha256(folders === null ? idempotencyKey : JSON.stringify([idempotencyKey, dir]));
}

async function findByKey({ db }: LogsDatabase, accountId: string, keyHash: string) {
  return db
    .selectFrom("log_entries")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("key_hash", "=", keyHash)
    .executeTakeFirst();
}

function rowOf({ later }: IngestDeps, of: Derivable, dir: string | null) {
  const { body } = of;
  return {
    log_id: of.logId,
    account_id: of.accountId,
    session_id: of.sessionId,
    dir,
    title: of.title,
    form: body.form,
    content: contentOf(body),
    context: JSON.stringify(of.context),
    observed_at: of.observedAt,
    recorded_at: of.recordedAt,
    status: later ? ("pending" as const) : ("ready" as const),
    failure: null,
    key_hash: null,
    request_hash: null,
  };
}

export interface SessionRecording {
  readonly sessionId: string;
  readonly title: string | null;
  /** Real path of its directory, or the repository of its worktree. */
  readonly dir: string | null;
  readonly context: LogContext;
  /** In order; turns already recorded are skipped. */
  readonly turns: readonly Turn[];
  /** On explicit request, deleted turns are recorded again. */
  readonly onPurpose: boolean;
}

export interface Recorded {
  /** `known`: all turns were already recorded. `suppressed`: the missing ones were deleted before. */
  readonly outcome: "recorded" | "known" | "suppressed";
  /** New entries. */
  readonly logIds: readonly string[];
  readonly turns: number;
}

/**
 * Records turns of a session, each once, under any of its names. Skips a session whose directory path is too long.
 * @throws PosternError `invalid_request` for such a path on explicit request
 */
export async function recordSession(
  deps: IngestDeps,
  accountId: string,
  recording: SessionRecording,
): Promise<Recorded> {
  const { sessionId, dir, turns, onPurpose } = recording;
  const [first, last] = [turns.at(0)?.index, turns.at(-1)?.index];
  if (first === undefined || last === undefined) return { outcome: "known", logIds: [], turns: 0 };
  if (dir !== null && !canKeepDir(dir)) {
    if (onPurpose) throw dirTooLong();
    return { outcome: "known", logIds: [], turns: 0 };
  }
  const owner = { accountId, names: await deps.namesOf(sessionId) };
  const select = async (on: LogsDatabase) => {
    const known = await knownTurns(on, owner, { first, last });
    const selected = selectTurns(turns, { ...known, suppressed: onPurpose ? [] : known.suppressed });
    return { ...selected, marked: known.marked };
  };
  const wanted = await select(deps);
  if (wanted.turns.length === 0) return { outcome: wanted.outcome, logIds: [], turns: 0 };
  const entries = groupsOf(wanted.turns).map((group) => entryOf(deps, accountId, { ...recording, turns: group }));
  const made = await deps.write(accountId, async (tx) => {
    // Turns recorded or deleted in between take precedence.
    const now = await select(tx);
    if (now.turns.length !== wanted.turns.length) return null;
    if (onPurpose) {
      const at = deps.clock.now();
      await removeMarkedNow(tx, { accountId, logIds: now.marked, at });
      await allowTurns(tx, owner, { indexes: wanted.turns.map(({ index }) => index), at });
    }
    for (const entry of entries) await keepEntry(tx, entry, deps.searchText);
    return entries.map(({ row }) => row.log_id);
  });
  if (made === null) return recordSession(deps, accountId, recording);
  return { outcome: "recorded", logIds: made, turns: wanted.turns.length };
}

function selectTurns(
  turns: readonly Turn[],
  known: { readonly recorded: ReadonlyMap<number, string>; readonly suppressed: readonly TurnRange[] },
): { readonly turns: readonly Turn[]; readonly outcome: "known" | "suppressed" } {
  const missing = turns.filter(({ index }) => !known.recorded.has(index));
  const left = missing.filter(
    ({ index }) => !known.suppressed.some(({ first, last }) => index >= first && index <= last),
  );
  return { turns: left, outcome: missing.length === 0 ? "known" : "suppressed" };
}

/** Splits turns into entries. */
function groupsOf(turns: readonly Turn[]): readonly (readonly Turn[])[] {
  const groups: Turn[][] = [];
  let characters = 0;
  for (const turn of turns) {
    const size = turn.blocks.reduce((sum, block) => sum + (block.type === "tool_call" ? 4_000 : block.text.length), 0);
    const group = groups.at(-1);
    if (group === undefined || group.length >= turnsOfEntry || characters + size > charactersOfEntry) {
      groups.push([turn]);
      characters = size;
    } else {
      group.push(turn);
      characters += size;
    }
  }
  return groups;
}

function entryOf(deps: IngestDeps, accountId: string, recording: SessionRecording): NewEntry {
  const now = deps.clock.now();
  const last = recording.turns.at(-1);
  const time = Date.parse(last?.endedAt ?? last?.at ?? "");
  const of: Derivable = {
    accountId,
    logId: deps.newId(now),
    title: recording.title === null ? null : maskedText(recording.title, maxTitleCharacters),
    sessionId: recording.sessionId,
    observedAt: Number.isNaN(time) ? now : time,
    recordedAt: now,
    context: recording.context,
    body: bodyOf({ turns: recording.turns }),
  };
  return {
    of,
    row: { ...rowOf(deps, of, recording.dir), source: "session" as const },
    indexes: recording.turns.map(({ index }) => index),
    episode: deps.later ? null : episodeOf(of, deps.searchText),
  };
}
