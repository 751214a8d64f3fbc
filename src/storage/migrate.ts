import type { Kysely } from "kysely";
import type { Migration } from "kysely/migration";
import { messageOf, PosternError } from "../core/errors.ts";
import { firstMigration } from "./migrations/0001-first.ts";
import { worktreesMigration } from "./migrations/0002-worktrees.ts";
import { eventsMigration } from "./migrations/0003-events.ts";
import { browserSessionsMigration } from "./migrations/0004-browser-sessions.ts";
import { recordingsMigration } from "./migrations/0005-recordings.ts";
import { oauthMigration } from "./migrations/0006-oauth.ts";
import { logsMigration } from "./migrations/0007-logs.ts";
import { chatMigration } from "./migrations/0010-chat.ts";
import type { Tables } from "./schema.ts";

/** Every migration, in the order of its name. One that was released never changes. */
const migrations: Readonly<Record<string, Migration>> = {
  "0001-first": firstMigration,
  "0002-worktrees": worktreesMigration,
  "0003-events": eventsMigration,
  "0004-browser-sessions": browserSessionsMigration,
  "0005-recordings": recordingsMigration,
  "0006-oauth": oauthMigration,
  "0007-logs": logsMigration,
  "0010-chat": chatMigration,
};

/** What Kysely's migrator writes down. */
type MigrationLog = { kysely_migration: { name: string; timestamp: string } };

/**
 * Brings the store forward to this version's tables; a store that is there already costs one query. Processes that start
 * together take turns, so that each migration runs once.
 *
 * @param place where the store is, for messages
 * @throws PosternError `store_newer` | `store_unavailable`
 */
export async function migrate(db: Kysely<Tables>, place: string): Promise<void> {
  const applied = await appliedMigrations(db);
  refuseNewer(applied, place);
  if (applied.length === Object.keys(migrations).length) return;
  const { Migrator } = await import("kysely/migration");
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  refuseNewer(await appliedMigrations(db), place); // a newer Postern may have come first
  throw new PosternError(
    "store_unavailable",
    `Cannot bring the store at ${place} to this version: ${messageOf(error)}. Nothing was changed.`,
    { cause: error },
  );
}

async function appliedMigrations(db: Kysely<Tables>): Promise<readonly string[]> {
  try {
    const rows = await db.$extendTables<MigrationLog>().selectFrom("kysely_migration").select("name").execute();
    return rows.map((row) => row.name);
  } catch (error) {
    if (isMissingTable(error)) return [];
    throw error;
  }
}

function isMissingTable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ("code" in error && error.code === "42P01") || error.message.startsWith("no such table");
}

function refuseNewer(applied: readonly string[], place: string): void {
  const unknown = applied.filter((name) => !(name in migrations));
  if (unknown.length === 0) return;
  throw new PosternError(
    "store_newer",
    `The store at ${place} was written by a newer Postern (it has ${unknown.join(", ")}). Run that version, or restore a backup.`,
  );
}
