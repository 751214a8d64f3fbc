import { type Kysely, sql } from "kysely";
import type { CatalogTables } from "./catalog-tables.ts";
import type { QueryTerm } from "./query.ts";
import { foldText, wordBoundary, wordsOf } from "./text-index-words.ts";

/** Parts per transcript: 12 GB of text. */
export const maxParts = 2 ** 20;

/** A part of a transcript's text: an integer that combines the transcript's id and the part's number. */
export type PartId = number;

export function partIdOf(transcriptId: number, part: number): PartId {
  return transcriptId * maxParts + part;
}

export function transcriptOfPart(partId: PartId): number {
  return Math.floor(partId / maxParts);
}

/** The text to search: titles, titles and first messages (`head`), or turns. */
export type SearchField = "title" | "head" | "parts";

/** The word index of one SQL dialect. Both dialects return the same matches, with different ranks. */
export interface TextStore {
  /** Creates its tables in an empty catalog. */
  createTables(): Promise<void>;
  lastPart(transcriptId: number): Promise<{ readonly partId: PartId; readonly content: string } | null>;
  /** Writes or replaces a part. `folded` are its words. */
  putPart(
    partId: PartId,
    part: { readonly content: string; readonly folded: string; readonly isNew: boolean },
  ): Promise<void>;
  dropPart(partId: PartId): Promise<void>;
  putHead(
    transcriptId: number,
    head: { readonly title: string; readonly firstMessage: string; readonly isNew: boolean },
  ): Promise<void>;
  /** Drops a transcript's parts and head. */
  drop(transcriptId: number): Promise<void>;
  /** Erases words of dropped parts. */
  mergeAll(): Promise<void>;

  /** Ids of transcripts, or of parts, that contain all terms. */
  having(field: SearchField, terms: readonly QueryTerm[]): Promise<readonly number[]>;
  /** Ranks of those that contain all terms; larger is better. */
  ranks(field: SearchField, terms: readonly QueryTerm[]): Promise<ReadonlyMap<number, number>>;
  contents(partIds: readonly PartId[]): Promise<ReadonlyMap<PartId, string>>;
}

async function lastPart(
  db: Kysely<CatalogTables>,
  transcriptId: number,
): Promise<{ readonly partId: PartId; readonly content: string } | null> {
  const { rows } = await sql<{ part_id: number; content: string }>`select part_id, content from text_parts
    where part_id >= ${partIdOf(transcriptId, 0)} and part_id < ${partIdOf(transcriptId + 1, 0)}
    order by part_id desc limit 1`.execute(db);
  const [row] = rows;
  return row === undefined ? null : { partId: row.part_id, content: row.content };
}

/** Words buffered before a write: with SQLite's default of 1 MB, writing takes twice as long. */
const hashBytes = 16 * 1024 * 1024;

/** Words in the title count more. */
const titleWeight = 4;

/**
 * Words in FTS5. Its `ascii` tokenizer takes folded text as it is: words are runs of ASCII letters, digits and non-ASCII characters. The
 * tables hold words only; texts are in `text_parts`, titles in the catalog.
 */
export function createSqliteTextStore(db: Kysely<CatalogTables>): TextStore {
  return {
    async createTables() {
      await sql`create table text_parts (part_id integer primary key, content text not null)`.execute(db);
      await sql`create virtual table part_words using fts5
        (words, content = '', contentless_delete = 1, tokenize = 'ascii')`.execute(db);
      await sql`create virtual table head_words using fts5
        (title, first_message, content = '', contentless_delete = 1, tokenize = 'ascii')`.execute(db);
      // Covers the columns that a search needs.
      await sql`create index transcripts_found on transcripts (transcript_id, updated_at, agent, session_id, dir)
        where listed = 1`.execute(db);
      await sql`insert into part_words (part_words, rank) values ('hashsize', ${sql.lit(hashBytes)})`.execute(db);
    },
    lastPart: (transcriptId) => lastPart(db, transcriptId),
    async putPart(partId, { content, folded, isNew }) {
      if (!isNew) await sql`delete from part_words where rowid = ${partId}`.execute(db);
      await sql`insert or replace into text_parts (part_id, content) values (${partId}, ${content})`.execute(db);
      await sql`insert into part_words (rowid, words) values (${partId}, ${folded})`.execute(db);
    },
    async dropPart(partId) {
      await sql`delete from part_words where rowid = ${partId}`.execute(db);
      await sql`delete from text_parts where part_id = ${partId}`.execute(db);
    },
    async putHead(transcriptId, { title, firstMessage, isNew }) {
      if (!isNew) await sql`delete from head_words where rowid = ${transcriptId}`.execute(db);
      await sql`insert into head_words (rowid, title, first_message)
        values (${transcriptId}, ${foldText(title)}, ${foldText(firstMessage)})`.execute(db);
    },
    async drop(transcriptId) {
      const [first, next] = [transcriptId * maxParts, (transcriptId + 1) * maxParts];
      await sql`delete from part_words where rowid in
        (select part_id from text_parts where part_id >= ${first} and part_id < ${next})`.execute(db);
      await sql`delete from text_parts where part_id >= ${first} and part_id < ${next}`.execute(db);
      await sql`delete from head_words where rowid = ${transcriptId}`.execute(db);
    },
    async mergeAll() {
      await sql`insert into part_words (part_words) values ('optimize')`.execute(db);
      await sql`insert into head_words (head_words) values ('optimize')`.execute(db);
    },
    async having(field, terms) {
      const table = wordTableOf(field);
      const { rows } = await sql<{ ids: string }>`select json_group_array(rowid) as ids from ${table}
        where ${table} match ${fts5MatchOf(field, terms)}`.execute(db);
      return numbersIn(rows[0]?.ids);
    },
    async ranks(field, terms) {
      const table = wordTableOf(field);
      const rank = field === "parts" ? sql`bm25(part_words)` : sql`bm25(head_words, ${sql.lit(titleWeight)}, 1.0)`;
      const { rows } = await sql<{ ids: string; ranks: string }>`
        with ranked as materialized
        (select rowid as id, ${rank} as rank from ${table} where ${table} match ${fts5MatchOf(field, terms)})
        select json_group_array(id) as ids, json_group_array(rank) as ranks from ranked`.execute(db);
      const ranks = numbersIn(rows[0]?.ranks);
      return new Map(numbersIn(rows[0]?.ids).map((id, at) => [id, -(ranks[at] ?? 0)]));
    },
    async contents(partIds) {
      const { rows } = await sql<{ part_id: number; content: string }>`select part_id, content from text_parts
        where part_id in (select value from json_each(${JSON.stringify(partIds)}))`.execute(db);
      return new Map(rows.map(({ part_id, content }) => [part_id, content]));
    },
  };
}

function wordTableOf(field: SearchField) {
  return field === "parts" ? sql.ref("part_words") : sql.ref("head_words");
}

/** Words contain no quotation mark, so no query is parsed as FTS5 syntax. */
function fts5MatchOf(field: SearchField, terms: readonly QueryTerm[]): string {
  const all = terms.map(({ words, prefix }) => `"${words.join(" ")}"${prefix ? "*" : ""}`).join(" AND ");
  return field === "title" ? `title : (${all})` : all;
}

function numbersIn(json: string | undefined): readonly number[] {
  const list: unknown = JSON.parse(json ?? "[]");
  return Array.isArray(list) ? list.filter((value) => typeof value === "number") : [];
}

/** Limits of PostgreSQL's `tsvector`. */
const maxPositions = 255;
const maxPosition = 16_383;

/** Words in `tsvector` columns, built here because PostgreSQL's parsers split words differently. */
export function createPostgresTextStore(db: Kysely<CatalogTables>): TextStore {
  return {
    async createTables() {
      await sql`create table text_parts (part_id bigint primary key, content text not null, words tsvector not null)`.execute(
        db,
      );
      await sql`create table text_heads
        (transcript_id bigint primary key, title tsvector not null, head tsvector not null)`.execute(db);
      await sql`create index text_parts_words on text_parts using gin (words)`.execute(db);
      await sql`create index text_heads_title on text_heads using gin (title)`.execute(db);
      await sql`create index text_heads_head on text_heads using gin (head)`.execute(db);
    },
    lastPart: (transcriptId) => lastPart(db, transcriptId),
    async putPart(partId, { content, folded }) {
      await sql`insert into text_parts (part_id, content, words)
        values (${partId}, ${content}, ${vectorOf(folded)}::tsvector)
        on conflict (part_id) do update set content = excluded.content, words = excluded.words`.execute(db);
    },
    async dropPart(partId) {
      await sql`delete from text_parts where part_id = ${partId}`.execute(db);
    },
    async putHead(transcriptId, { title, firstMessage }) {
      const first = vectorOf(foldText(title));
      const both = vectorOf(`${foldText(title)} ${wordBoundary} ${foldText(firstMessage)}`);
      await sql`insert into text_heads (transcript_id, title, head)
        values (${transcriptId}, ${first}::tsvector, ${both}::tsvector)
        on conflict (transcript_id) do update set title = excluded.title, head = excluded.head`.execute(db);
    },
    async drop(transcriptId) {
      await sql`delete from text_parts where part_id >= ${transcriptId * maxParts}
        and part_id < ${(transcriptId + 1) * maxParts}`.execute(db);
      await sql`delete from text_heads where transcript_id = ${transcriptId}`.execute(db);
    },
    async mergeAll() {}, // words are in the rows of their parts
    async having(field, terms) {
      const { table, id, words } = vectorColumnsOf(field);
      const { rows } = await sql<{ ids: readonly number[] | null }>`select json_agg(${id}) as ids from ${table}
        where ${words} @@ ${tsqueryOf(terms)}::tsquery`.execute(db);
      return rows[0]?.ids ?? [];
    },
    async ranks(field, terms) {
      const { table, id, words } = vectorColumnsOf(field);
      // 2 divides the rank by the length; title words count again.
      const title = field === "head" ? sql`+ 4 * ts_rank(title, query, 2)` : sql``;
      const { rows } = await sql<{ pairs: readonly (readonly [number, number])[] | null }>`
        select json_agg(json_build_array(${id}, ts_rank(${words}, query, 2) ${title})) as pairs
        from ${table}, (select ${tsqueryOf(terms)}::tsquery as query) as asked where ${words} @@ query`.execute(db);
      return new Map(rows[0]?.pairs ?? []);
    },
    async contents(partIds) {
      const { rows } = await sql<{ part_id: number; content: string }>`select part_id, content from text_parts
        where part_id = any(${`{${partIds.join(",")}}`}::bigint[])`.execute(db);
      return new Map(rows.map(({ part_id, content }) => [part_id, content]));
    },
  };
}

function vectorColumnsOf(field: SearchField) {
  if (field === "parts") return { table: sql.ref("text_parts"), id: sql.ref("part_id"), words: sql.ref("words") };
  return { table: sql.ref("text_heads"), id: sql.ref("transcript_id"), words: sql.ref(field) };
}

/** Words contain neither quotation marks nor backslashes; escaping guards against a change of that. */
function quoted(word: string): string {
  return `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** A text's words with positions; a boundary separates phrases. */
function vectorOf(folded: string): string {
  const places = new Map<string, number[]>();
  let at = 0;
  for (const word of wordsOf(folded)) {
    at++;
    if (word === wordBoundary) continue;
    const known = places.get(word) ?? [];
    places.set(word, known);
    if (known.length < maxPositions && at <= maxPosition) known.push(at);
  }
  return [...places]
    .map(([word, positions]) => `${quoted(word)}${positions.length > 0 ? ":" : ""}${positions.join(",")}`)
    .join(" ");
}

function tsqueryOf(terms: readonly QueryTerm[]): string {
  const phrases = terms.map(({ words, prefix }) => {
    const last = words.length - 1;
    return words.map((word, at) => `${quoted(word)}${prefix && at === last ? ":*" : ""}`).join(" <-> ");
  });
  return phrases.map((phrase) => `(${phrase})`).join(" & ");
}
