import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type Clock, isoTime } from "../core/clock.ts";
import type { Tables } from "../storage/schema.ts";
import { type Folder, type FolderScope, folderScopeSchema } from "../wire/access.ts";

/** SQL of registered folders. */
export interface FolderStore {
  /** In the order of their paths. */
  list(): Promise<readonly Folder[]>;
  /** A folder that is there gets these scopes. */
  put(path: string, scopes: readonly FolderScope[]): Promise<Folder>;
  /** @returns null when there was none */
  remove(path: string): Promise<Folder | null>;
}

const storedScopesSchema = z.array(folderScopeSchema);

/** @see FolderStore */
export function createFolderStore(deps: { readonly db: Kysely<Tables>; readonly clock: Clock }): FolderStore {
  const { db, clock } = deps;
  return {
    async list() {
      const rows = await db.selectFrom("folders").selectAll().execute();
      return rows.map(toFolder).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    },
    async put(path, scopes) {
      const row = { path, scopes: JSON.stringify(scopes), created_at: clock.now() };
      const stored = await db
        .insertInto("folders")
        .values(row)
        .onConflict((conflict) => conflict.column("path").doUpdateSet({ scopes: row.scopes }))
        .returningAll()
        .executeTakeFirstOrThrow();
      return toFolder(stored);
    },
    async remove(path) {
      const row = await db.deleteFrom("folders").where("path", "=", path).returningAll().executeTakeFirst();
      return row === undefined ? null : toFolder(row);
    },
  };
}

function toFolder(row: Selectable<Tables["folders"]>): Folder {
  return {
    path: row.path,
    scopes: storedScopesSchema.parse(JSON.parse(row.scopes)),
    createdAt: isoTime(row.created_at),
  };
}
