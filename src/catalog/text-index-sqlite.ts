import { type Kysely, sql } from "kysely";
import type { CatalogTables } from "./catalog-tables.ts";
import type { QueryTerm } from "./query.ts";
import { maxParts, type SearchField, type TextStore } from "./text-index-store.ts";
import { foldText } from "./text-index-words.ts";

/** Words are gathered in memory up to this size before they are written: at SQLite's 1 MB, writing takes twice as long. */
const hashBytes = 16 * 1024 * 1024;

/** A word in the title says more than one in the first message. */
const titleWeight = 4;

/**
 * Words in FTS5. Its `ascii` tokenizer takes folded text as it is: words are runs of ASCII letters and digits and of everything that is
 * not ASCII. The tables hold words only; the text is in `text_parts`, and titles are the catalog's.
 */
export function createSqliteTextStore(db: Kysely<CatalogTables>): TextStore {
  return {
    async createTables() {
      await sql`create table text_parts (part_id integer primary key, content text not null)`.execute(db);
      await sql`create virtual table part_words using fts5
        (words, content = '', contentless_delete = 1, tokenize = 'ascii')`.execute(db);
      await sql`create virtual table head_words using fts5
        (title, first_message, content = '', contentless_delete = 1, tokenize = 'ascii')`.execute(db);
      // What is asked of each transcript that was found, without its row.
      await sql`create index transcripts_found on transcripts (transcript_id, updated_at, agent, session_id, dir)
        where listed = 1`.execute(db);
      await sql`insert into part_words (part_words, rank) values ('hashsize', ${sql.lit(hashBytes)})`.execute(db);
    },
    async lastPart(transcriptId) {
      const { rows } = await sql<{ part_id: number; content: string }>`select part_id, content from text_parts
        where part_id >= ${transcriptId * maxParts} and part_id < ${(transcriptId + 1) * maxParts}
        order by part_id desc limit 1`.execute(db);
      const [row] = rows;
      return row === undefined ? null : { partId: row.part_id, content: row.content };
    },
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
      const table = tableOf(field);
      const { rows } = await sql<{ ids: string }>`select json_group_array(rowid) as ids from ${table}
        where ${table} match ${matchOf(field, terms)}`.execute(db);
      return numbers(rows[0]?.ids);
    },
    async ranks(field, terms) {
      const table = tableOf(field);
      const rank = field === "parts" ? sql`bm25(part_words)` : sql`bm25(head_words, ${sql.lit(titleWeight)}, 1.0)`;
      const { rows } = await sql<{ ids: string; ranks: string }>`
        with ranked as materialized
        (select rowid as id, ${rank} as rank from ${table} where ${table} match ${matchOf(field, terms)})
        select json_group_array(id) as ids, json_group_array(rank) as ranks from ranked`.execute(db);
      const ranks = numbers(rows[0]?.ranks);
      return new Map(numbers(rows[0]?.ids).map((id, at) => [id, -(ranks[at] ?? 0)]));
    },
    async contents(partIds) {
      const { rows } = await sql<{ part_id: number; content: string }>`select part_id, content from text_parts
        where part_id in (select value from json_each(${JSON.stringify(partIds)}))`.execute(db);
      return new Map(rows.map(({ part_id, content }) => [part_id, content]));
    },
  };
}

function tableOf(field: SearchField) {
  return field === "parts" ? sql.ref("part_words") : sql.ref("head_words");
}

/** Words hold no quotation mark, so nothing of a query is ever read as FTS5's own language. */
function matchOf(field: SearchField, terms: readonly QueryTerm[]): string {
  const all = terms.map(({ words, prefix }) => `"${words.join(" ")}"${prefix ? "*" : ""}`).join(" AND ");
  return field === "title" ? `title : (${all})` : all;
}

function numbers(json: string | undefined): readonly number[] {
  const list: unknown = JSON.parse(json ?? "[]");
  return Array.isArray(list) ? list.filter((value) => typeof value === "number") : [];
}
