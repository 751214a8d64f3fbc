import { type RawBuilder, sql } from "kysely";
import type { LogHit, LogSearch, SearchLogsInput } from "../wire/logs.ts";
import { type EntryRow, entryColumns, toEntry } from "./entries.ts";
import { isOf, type LogsDatabase, numbersOf, textsOf } from "./logs-database.ts";
import type { NamesOf, SearchTerm, SearchText } from "./ports.ts";
import {
  type EntryFilter,
  entryFilterFor,
  matchesAll,
  matchesEntry,
  matchesPosting,
  type VisibilityFilter,
} from "./visibility-filter.ts";

const defaultLimit = 20;
/** For more frequent words, only the newest chunks are read: the word is not specific, and the user likely means recent ones. */
const maxPieces = 500;
/** Maximum number of words that a prefix matches, in alphabetical order. */
const maxContinuations = 50;
/** Further terms of a query are ignored. */
const maxTerms = 16;
/** Text read for phrases and snippets. */
const maxReadCharacters = 2_000_000;
/** Each further occurrence adds less. */
const saturation = 1.5;

interface Candidate {
  readonly logId: string;
  /** Its newest chunk; later ones have larger ids. */
  newest: number;
  score: number;
}

/** Where a term occurs. */
interface Found {
  readonly term: SearchTerm;
  /** Ids of each word of the term; a prefix has several. */
  readonly words: readonly (readonly number[])[];
  /** Chunks of its rarest word, newest first, with the number of occurrences. */
  readonly pieces: ReadonlyMap<number, number>;
  /** Whether there are more chunks than were read. */
  readonly cut: boolean;
}

/** Visible entries that contain all terms of a query, ranked, with snippets. Hidden or filtered entries do not affect the ranking. */
export async function searchLogs(
  on: LogsDatabase & { readonly searchText: SearchText; readonly namesOf: NamesOf },
  visibility: VisibilityFilter,
  { q, limit = defaultLimit, ...filter }: SearchLogsInput,
): Promise<LogSearch> {
  const entries = await entryFilterFor(on, visibility, filter);
  const terms = on.searchText.terms(q).slice(0, maxTerms);
  const found: Found[] = [];
  for (const term of terms) {
    const one = await findTerm(on, entries, term);
    if (one === null) return { hits: [], hasMore: false, partial: false };
    found.push(one);
  }
  const rarest = found.toSorted((one, other) => one.pieces.size - other.pieces.size);
  const [first, ...others] = rarest;
  if (first === undefined) return { hits: [], hasMore: false, partial: false };
  const candidates = await entriesOf(on, first);
  for (const other of others) await keepWith(on, candidates, other);
  const ranked = [...candidates.values()].toSorted(
    (one, other) => other.score - one.score || other.newest - one.newest,
  );
  return showHits(on, { entries, terms, ranked, limit, cut: first.cut });
}

/** The chunks of a term's rarest word; null if one of its words occurs nowhere. */
async function findTerm(on: LogsDatabase, entries: EntryFilter, term: SearchTerm): Promise<Found | null> {
  const words: (readonly number[])[] = [];
  let best: Pick<Found, "pieces" | "cut"> | null = null;
  for (const [at, word] of term.words.entries()) {
    const ids = await wordIds(on, entries, { word, prefix: term.prefix && at === term.words.length - 1 });
    if (ids.length === 0) return null;
    words.push(ids);
    const pieces = await piecesOf(on, entries, ids);
    if (best === null || pieces.pieces.size < best.pieces.size) best = pieces;
  }
  return best === null ? null : { term, words, ...best };
}

async function wordIds(
  on: LogsDatabase,
  entries: EntryFilter,
  { word, prefix }: { readonly word: string; readonly prefix: boolean },
): Promise<readonly number[]> {
  const rows = await on.db
    .selectFrom("log_words")
    .select("word_id")
    .where("account_id", "=", entries.accountId)
    .$if(prefix && !matchesAll(entries), (query) =>
      query.where(sql<boolean>`exists (select 1 from log_postings as p where p.word_id = log_words.word_id
        and ${matchesPosting(on, entries)})`),
    )
    .$if(!prefix, (query) => query.where("word", "=", word))
    .$if(prefix, (query) => query.where("word", ">=", word).where("word", "<", `${word}\u{10ffff}`))
    .orderBy("word")
    .limit(maxContinuations)
    .execute();
  return rows.map(({ word_id }) => word_id);
}

async function piecesOf(
  on: LogsDatabase,
  entries: EntryFilter,
  ids: readonly number[],
): Promise<Pick<Found, "pieces" | "cut">> {
  const pieces = new Map<number, number>();
  for (const id of ids) {
    const rows = await on.db
      .selectFrom("log_postings as p")
      .select(["chunk_id", "occurrences"])
      .where("word_id", "=", id)
      .$if(!matchesAll(entries), (query) => query.where(matchesPosting(on, entries)))
      .orderBy("chunk_id", "desc")
      .limit(maxPieces + 1)
      .execute();
    for (const { chunk_id, occurrences } of rows) pieces.set(chunk_id, (pieces.get(chunk_id) ?? 0) + occurrences);
    if (pieces.size > maxPieces) break;
  }
  const cut = pieces.size > maxPieces;
  const newest = [...pieces].toSorted(([one], [other]) => other - one).slice(0, maxPieces);
  return { pieces: new Map(newest), cut };
}

/** Rare words weigh more. */
function weightOf({ pieces, cut }: Pick<Found, "pieces" | "cut">, occurrences: number): number {
  const rarity = cut ? 0.01 : Math.log(1 + maxPieces / Math.max(1, pieces.size));
  return (rarity * occurrences) / (occurrences + saturation);
}

async function entriesOf({ db, dialect }: LogsDatabase, found: Found): Promise<Map<string, Candidate>> {
  const { rows } = await sql<{ chunk_id: number; log_id: string }>`
    select chunk_id, log_id from log_chunks where chunk_id in ${numbersOf(dialect, found.pieces.keys())}`.execute(db);
  const candidates = new Map<string, Candidate>();
  for (const { chunk_id, log_id } of rows) {
    const score = weightOf(found, found.pieces.get(chunk_id) ?? 1);
    const known = candidates.get(log_id);
    if (known === undefined) {
      candidates.set(log_id, { logId: log_id, newest: chunk_id, score });
      continue;
    }
    known.score = Math.max(known.score, score);
    known.newest = Math.max(known.newest, chunk_id);
  }
  return candidates;
}

/** Keeps candidates that contain this term too. Starts from their few chunks (`cross join`), because the word can be frequent. */
async function keepWith(on: LogsDatabase, candidates: Map<string, Candidate>, found: Found): Promise<void> {
  const { db, dialect } = on;
  const score = new Map<string, number>();
  let left: Iterable<string> = candidates.keys();
  for (const ids of found.words) {
    const { rows } = await sql<{ log_id: string; occurrences: number }>`
      select c.log_id, max(p.occurrences) as occurrences from log_chunks as c cross join log_postings as p
      where c.log_id in ${textsOf(dialect, left)} and p.chunk_id = c.chunk_id and p.word_id in ${wordList(ids)}
      group by c.log_id`.execute(db);
    left = rows.map(({ log_id }) => log_id);
    score.clear();
    for (const { log_id, occurrences } of rows) score.set(log_id, weightOf(found, occurrences));
  }
  for (const [logId, candidate] of candidates) {
    const more = score.get(logId);
    if (more === undefined) candidates.delete(logId);
    else candidate.score += more;
  }
}

/** Ids as literals: there are few, and the planner makes better plans for literals. */
function wordList(ids: readonly number[]): RawBuilder<unknown> {
  return sql`(${sql.join(ids.map((id) => sql.lit(id)))})`;
}

/** Reads the best candidates and checks phrases. */
async function showHits(
  on: LogsDatabase & { readonly searchText: SearchText },
  asked: {
    readonly entries: EntryFilter;
    readonly terms: readonly SearchTerm[];
    readonly ranked: readonly Candidate[];
    readonly limit: number;
    readonly cut: boolean;
  },
): Promise<LogSearch> {
  const { entries, terms, ranked, limit } = asked;
  const hasPhrase = terms.some(({ words }) => words.length > 1);
  const hits: LogHit[] = [];
  let read = 0;
  let at = 0;
  while (at < ranked.length && hits.length <= limit && read < maxReadCharacters) {
    const some = ranked.slice(at, at + limit + 1);
    at += some.length;
    const shown = await readEntries(on, entries, some);
    for (const { row, text } of shown) {
      read += text.length;
      const places = on.searchText.places(text, terms);
      if (hasPhrase && new Set(places.map(({ term }) => term)).size < terms.length) continue;
      const score = some.find(({ logId }) => logId === row.log_id)?.score ?? 0;
      hits.push({ log: toEntry(row), snippet: on.searchText.snippet(text, places), score });
    }
  }
  const partial = asked.cut || (hasPhrase && at < ranked.length && hits.length <= limit);
  return { hits: hits.slice(0, limit), hasMore: hits.length > limit || at < ranked.length, partial };
}

/** Entries with their text, in the given order. */
async function readEntries(
  on: LogsDatabase,
  entries: EntryFilter,
  some: readonly Candidate[],
): Promise<readonly { readonly row: EntryRow; readonly text: string }[]> {
  const { db, dialect } = on;
  const ids = some.map(({ logId }) => logId);
  const rows = await db
    .selectFrom("log_entries")
    .select(entryColumns)
    .where(isOf(entries.accountId))
    .where(matchesEntry(on, entries))
    .where("log_id", "in", textsOf(dialect, ids))
    .execute();
  const chunks = await db
    .selectFrom("log_chunks")
    .select(["log_id", "content"])
    .where("log_id", "in", textsOf(dialect, ids))
    .orderBy("log_id")
    .orderBy("position")
    .execute();
  const texts = Map.groupBy(chunks, ({ log_id }) => log_id);
  const byId = new Map(rows.map((row) => [row.log_id, row]));
  return ids.flatMap((id) => {
    const row = byId.get(id);
    if (row === undefined) return [];
    const text = (texts.get(id) ?? []).map(({ content }) => content).join("");
    return [{ row, text: row.title === null ? text : `${row.title}\n${text}` }];
  });
}
