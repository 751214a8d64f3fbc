import { type Kysely, sql, type Transaction } from "kysely";
import type { Migration } from "kysely/migration";
import { isoTime } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import { firstMigration } from "./migrations/0001-first.ts";
import { worktreesMigration } from "./migrations/0002-worktrees.ts";
import { eventsMigration } from "./migrations/0003-events.ts";
import { browserSessionsMigration } from "./migrations/0004-browser-sessions.ts";
import { recordingsMigration } from "./migrations/0005-recordings.ts";
import { oauthMigration } from "./migrations/0006-oauth.ts";
import { logsMigration } from "./migrations/0007-logs.ts";
import { forgottenMigration } from "./migrations/0008-forgotten.ts";
import { tombstonesMigration } from "./migrations/0009-tombstones.ts";
import { chatMigration } from "./migrations/0010-chat.ts";
import { deletionsMigration } from "./migrations/0011-deletions.ts";
import { worktreeNamesMigration } from "./migrations/0012-worktree-names.ts";
import { idleAgentsMigration } from "./migrations/0013-idle-agents.ts";
import { attachmentsMigration } from "./migrations/0014-attachments.ts";
import { pushMigration } from "./migrations/0015-push.ts";
import { permissionRulesMigration } from "./migrations/0016-permission-rules.ts";
import { sessionNotesMigration } from "./migrations/0017-session-notes.ts";
import { draftsMigration } from "./migrations/0018-drafts.ts";
import { sharesMigration } from "./migrations/0020-shares.ts";
import { reviewsMigration } from "./migrations/0022-reviews.ts";
import { folderProfilesMigration } from "./migrations/0023-folder-profiles.ts";
import { promptOwnersMigration } from "./migrations/0024-prompt-owners.ts";
import { comparisonsMigration } from "./migrations/0025-comparisons.ts";
import type { Tables } from "./schema.ts";

/** All migrations in order. Released ones never change. */
const migrations: Readonly<Record<string, Migration>> = {
  "0001-first": firstMigration,
  "0002-worktrees": worktreesMigration,
  "0003-events": eventsMigration,
  "0004-browser-sessions": browserSessionsMigration,
  "0005-recordings": recordingsMigration,
  "0006-oauth": oauthMigration,
  "0007-logs": logsMigration,
  "0008-forgotten": forgottenMigration,
  "0009-tombstones": tombstonesMigration,
  "0010-chat": chatMigration,
  "0011-deletions": deletionsMigration,
  "0012-worktree-names": worktreeNamesMigration,
  "0013-idle-agents": idleAgentsMigration,
  "0014-attachments": attachmentsMigration,
  "0015-push": pushMigration,
  "0016-permission-rules": permissionRulesMigration,
  "0017-session-notes": sessionNotesMigration,
  "0018-drafts": draftsMigration,
  "0020-shares": sharesMigration,
  "0022-reviews": reviewsMigration,
  "0023-folder-profiles": folderProfilesMigration,
  "0024-prompt-owners": promptOwnersMigration,
  "0025-comparisons": comparisonsMigration,
};

/** The name of every migration of this version. */
export const migrationNames: readonly string[] = Object.keys(migrations);

/** The log of Kysely's migrator. */
type MigrationLog = { kysely_migration: { name: string; timestamp: string } };

/**
 * Upgrades the store to this version's tables; a current store takes one query. Each migration runs once even if processes start together.
 *
 * @param place for messages
 * @param beforeChange called with the applied migrations before an existing store is upgraded
 * @throws PosternError `store_newer` | `store_unavailable`
 */
export async function migrate(
  db: Kysely<Tables>,
  place: string,
  beforeChange: (applied: readonly string[]) => Promise<void> = async () => {},
): Promise<void> {
  const applied = await appliedMigrations(db);
  refuseNewer(applied, place);
  if (applied.length === migrationNames.length) return;
  if (applied.length > 0) await beforeChange(applied);
  const { Migrator } = await import("kysely/migration");
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  refuseNewer(await appliedMigrations(db), place); // a newer Postern may have upgraded it first
  throw new PosternError(
    "store_unavailable",
    `Cannot upgrade the store at ${place}: ${messageOf(error)}. Nothing was changed.`,
    { cause: error },
  );
}

/**
 * Runs the migrations `names` in a transaction on PostgreSQL. Kysely's own migrator looks at the tables of all schemas, and would find
 * those that were moved aside.
 */
export async function applyMigrations(trx: Transaction<Tables>, names: readonly string[]): Promise<void> {
  await sql`create table if not exists kysely_migration (name varchar(255) primary key, timestamp varchar(255) not null)`.execute(
    trx,
  );
  await sql`create table if not exists kysely_migration_lock (id varchar(255) primary key, is_locked integer default 0 not null)`.execute(
    trx,
  );
  await sql`insert into kysely_migration_lock (id) values ('migration_lock') on conflict do nothing`.execute(trx);
  for (const name of names) {
    await migrations[name]?.up(trx);
    await sql`insert into kysely_migration (name, timestamp) values (${name}, ${isoTime(Date.now())})`.execute(trx);
  }
}

/** A store's migrations in order; empty without a store. */
export async function appliedMigrations(db: Kysely<Tables>): Promise<readonly string[]> {
  try {
    const rows = await db
      .$extendTables<MigrationLog>()
      .selectFrom("kysely_migration")
      .select("name")
      .orderBy("name")
      .execute();
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

/** @throws PosternError `store_newer` for unknown migrations */
export function refuseNewer(applied: readonly string[], place: string): void {
  const unknown = applied.filter((name) => !(name in migrations));
  if (unknown.length === 0) return;
  throw new PosternError(
    "store_newer",
    `The store at ${place} was written by a newer Postern (it has ${unknown.join(", ")}). Run that version, or restore a backup.`,
  );
}

/** Host and database of a PostgreSQL address, without user and password. */
export function describeUrl(url: string): string {
  if (!URL.canParse(url)) return "POSTERN_DATABASE_URL (not a valid address)";
  const { host, pathname } = new URL(url);
  return `postgresql://${host}${pathname}`;
}
