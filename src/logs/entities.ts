import { type RawBuilder, type SqlBool, sql } from "kysely";
import { z } from "zod";
import { type EntitiesInput, type EntityPage, entityTypeSchema, type LogEntity } from "../wire/logs.ts";
import { cursorText, pageOf, readCursor } from "./cursor.ts";
import type { LogsDatabase } from "./logs-database.ts";
import { isOfVisible, seesAll, type VisibilityFilter } from "./visibility-filter.ts";

const defaultLimit = 50;
/** Key and id of the last entity. */
const placeSchema = z.tuple([cursorText, cursorText]);

export function toEntity(row: { readonly entity_id: string; readonly type: string; readonly key: string }): LogEntity {
  return { entityId: row.entity_id, type: entityTypeSchema.parse(row.type), key: row.key };
}

/** Entities mentioned in visible entries, sorted by name. @throws PosternError `invalid_request` for a bad cursor */
export async function findEntities(
  on: LogsDatabase,
  visibility: VisibilityFilter,
  input: EntitiesInput,
): Promise<EntityPage> {
  const { type, q, limit = defaultLimit, cursor } = input;
  const after = cursor === undefined ? undefined : readCursor(cursor, placeSchema);
  const rows = await on.db
    .selectFrom("entities")
    .select(["entity_id", "type", "key"])
    .where("account_id", "=", visibility.accountId)
    .where(isNamedInVisible(on, visibility))
    .$if(type !== undefined, (query) => query.where("type", "=", type ?? ""))
    .$if(q !== undefined, (query) => query.where(containsText(on, q ?? "")))
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(key, entity_id) > (${after?.[0]}, ${after?.[1]})`))
    .orderBy("key")
    .orderBy("entity_id")
    .limit(limit + 1)
    .execute();
  const { page, nextCursor } = pageOf(rows, limit, (last) => [last.key, last.entity_id]);
  return { entities: page.map(toEntity), nextCursor };
}

/** Matches keys that contain a text, ignoring case in any script: SQLite lowercases only ASCII, PostgreSQL by its locale. */
function containsText({ dialect }: LogsDatabase, text: string): RawBuilder<boolean> {
  const pattern = Array.from(text, (character) => {
    const cases = casesOf(character);
    if (cases.length > 1) return `[${cases.join("")}]`;
    if (dialect === "sqlite") return /[*?[]/.test(character) ? `[${character}]` : character;
    return /[\\^$.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
  }).join("");
  return dialect === "sqlite" ? sql`key glob ${`*${pattern}*`}` : sql`key ~ ${pattern}`;
}

/** A letter in every case. */
function casesOf(character: string): readonly string[] {
  const upper = character.toUpperCase();
  const all = [character, upper, character.toLowerCase(), upper.toLowerCase()];
  return [...new Set(all)].filter((one) => Array.from(one).length === 1);
}

/** Whether a visible entry mentions the entity. */
function isNamedInVisible(on: LogsDatabase, visibility: VisibilityFilter): RawBuilder<SqlBool> {
  if (seesAll(visibility)) return sql`true`;
  const isSaid = isOfVisible(on, visibility, "f.log_id");
  return sql`(exists (select 1 from facts as f where f.subject_id = entities.entity_id and ${isSaid})
    or exists (select 1 from statements as s join facts as f on f.statement_id = s.statement_id
      where s.object_id = entities.entity_id and ${isSaid}))`;
}
