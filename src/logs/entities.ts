import { type RawBuilder, type SqlBool, sql } from "kysely";
import { z } from "zod";
import { type EntitiesInput, type EntityPage, entityTypeSchema, type LogEntity } from "../wire/logs.ts";
import { cursorOf, cursorText, readCursor } from "./cursor.ts";
import type { LogsDatabase } from "./logs-database.ts";
import { isOfVisible, seesAll, type VisibilityFilter } from "./visibility-filter.ts";

const defaultLimit = 50;
/** Key and id of the last entity. */
const placeSchema = z.tuple([cursorText, cursorText]);

/** A row as it is shown. */
export function toEntity(row: { readonly entity_id: string; readonly type: string; readonly key: string }): LogEntity {
  return { entityId: row.entity_id, type: entityTypeSchema.parse(row.type), key: row.key };
}

/** Entities that what is seen speaks of, by their names. @throws PosternError `invalid_request` for a cursor that is none */
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
    .$if(q !== undefined, (query) => query.where(holds(on, q ?? "")))
    .$if(after !== undefined, (query) => query.where(sql<boolean>`(key, entity_id) > (${after?.[0]}, ${after?.[1]})`))
    .orderBy("key")
    .orderBy("entity_id")
    .limit(limit + 1)
    .execute();
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const more = rows.length > limit && last !== undefined;
  return { entities: page.map(toEntity), nextCursor: more ? cursorOf([last.key, last.entity_id]) : null };
}

/** That a key holds a text in any case, of any script: SQLite lowers a to z only, PostgreSQL as it is set. */
function holds({ dialect }: LogsDatabase, text: string): RawBuilder<boolean> {
  const pattern = Array.from(text, (character) => {
    const cases = casesOf(character);
    if (cases.length > 1) return `[${cases.join("")}]`;
    if (dialect === "sqlite") return /[*?[]/.test(character) ? `[${character}]` : character;
    return /[\\^$.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
  }).join("");
  return dialect === "sqlite" ? sql`key glob ${`*${pattern}*`}` : sql`key ~ ${pattern}`;
}

/** A letter as it is, large and small. */
function casesOf(character: string): readonly string[] {
  const upper = character.toUpperCase();
  const all = [character, upper, character.toLowerCase(), upper.toLowerCase()];
  return [...new Set(all)].filter((one) => Array.from(one).length === 1);
}

/** That something which is seen speaks of an entity. */
function isNamedInVisible(on: LogsDatabase, visibility: VisibilityFilter): RawBuilder<SqlBool> {
  if (seesAll(visibility)) return sql`true`;
  const isSaid = isOfVisible(on, visibility, "f.log_id");
  return sql`(exists (select 1 from facts as f where f.subject_id = entities.entity_id and ${isSaid})
    or exists (select 1 from statements as s join facts as f on f.statement_id = s.statement_id
      where s.object_id = entities.entity_id and ${isSaid}))`;
}
