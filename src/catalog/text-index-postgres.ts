import { type Kysely, sql } from "kysely";
import type { CatalogTables } from "./catalog-tables.ts";
import type { QueryTerm } from "./query.ts";
import { maxParts, type SearchField, type TextStore } from "./text-index-store.ts";
import { foldText, wordBoundary, wordsOf } from "./text-index-words.ts";

/** PostgreSQL keeps no more positions of a word, and none larger. */
const maxPositions = 255;
const maxPosition = 16_383;

/** Words in `tsvector` columns, written by ourselves: PostgreSQL's parsers see words in another way, and each language in its own. */
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
    async lastPart(transcriptId) {
      const { rows } = await sql<{ part_id: number; content: string }>`select part_id, content from text_parts
        where part_id >= ${transcriptId * maxParts} and part_id < ${(transcriptId + 1) * maxParts}
        order by part_id desc limit 1`.execute(db);
      const [row] = rows;
      return row === undefined ? null : { partId: row.part_id, content: row.content };
    },
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
    async mergeAll() {}, // a word is in the row of its part
    async having(field, terms) {
      const { table, id, words } = columnsOf(field);
      const { rows } = await sql<{ ids: readonly number[] | null }>`select json_agg(${id}) as ids from ${table}
        where ${words} @@ ${matchOf(terms)}::tsquery`.execute(db);
      return rows[0]?.ids ?? [];
    },
    async ranks(field, terms) {
      const { table, id, words } = columnsOf(field);
      // With 2 the rank is divided by the length; a title's words count once more.
      const title = field === "head" ? sql`+ 4 * ts_rank(title, query, 2)` : sql``;
      const { rows } = await sql<{ pairs: readonly (readonly [number, number])[] | null }>`
        select json_agg(json_build_array(${id}, ts_rank(${words}, query, 2) ${title})) as pairs
        from ${table}, (select ${matchOf(terms)}::tsquery as query) as asked where ${words} @@ query`.execute(db);
      return new Map(rows[0]?.pairs ?? []);
    },
    async contents(partIds) {
      const { rows } = await sql<{ part_id: number; content: string }>`select part_id, content from text_parts
        where part_id = any(${`{${partIds.join(",")}}`}::bigint[])`.execute(db);
      return new Map(rows.map(({ part_id, content }) => [part_id, content]));
    },
  };
}

function columnsOf(field: SearchField) {
  if (field === "parts") return { table: sql.ref("text_parts"), id: sql.ref("part_id"), words: sql.ref("words") };
  return { table: sql.ref("text_heads"), id: sql.ref("transcript_id"), words: sql.ref(field) };
}

/** Words hold neither quotation marks nor backslashes; the doubling is for whoever changes what a word is. */
function quoted(word: string): string {
  return `'${word.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}

/** A text's words with their places; none is next to another over a boundary. */
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

function matchOf(terms: readonly QueryTerm[]): string {
  const phrases = terms.map(({ words, prefix }) => {
    const last = words.length - 1;
    return words.map((word, at) => `${quoted(word)}${prefix && at === last ? ":*" : ""}`).join(" <-> ");
  });
  return phrases.map((phrase) => `(${phrase})`).join(" & ");
}
