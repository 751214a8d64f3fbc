import { type Kysely, type RawBuilder, sql } from "kysely";
import { sha256 } from "../core/ids.ts";
import type { Tables } from "../storage/schema.ts";

/** A transaction on the store restored from a backup, with today's tables. */
export interface RestoredStore {
  readonly db: Kysely<Tables>;
  readonly dialect: "sqlite" | "postgres";
}

/** The store before the restore, perhaps of another version. */
export interface PresentStore {
  readonly db: Kysely<Tables>;
  readonly tables: ReadonlySet<string>;
  /** The schema of its tables on PostgreSQL; null for the default. */
  readonly schema: string | null;
}

/** Deletions from the memory, within the given transaction. */
export interface ReplayPorts {
  removeLogs(
    on: RestoredStore,
    removal: { accountId: string; logIds: readonly string[]; at: number },
  ): Promise<unknown>;
  removeAllLogs(on: RestoredStore, removal: { accountId: string; at: number }): Promise<void>;
}

/** What was not restored. */
export interface Replayed {
  readonly logs: number;
  readonly sessions: number;
  readonly accounts: number;
  /** Tokens, browsers, passkeys and grants. */
  readonly credentials: number;
}

const pageRows = 500;

type Row = Readonly<Record<string, string | number | null>>;

/**
 * Takes the deletions and revocations that the current store has recorded since the backup, and repeats them in the restored store.
 * Also copies these records and the audit log.
 */
export async function replayDeletions(
  present: PresentStore,
  restored: RestoredStore,
  ports: ReplayPorts,
): Promise<Replayed> {
  await copyMarks(present, restored);
  const logs = await removeBuried(restored, ports);
  const sessions = await forgetSessions(present, restored);
  const isSame = await haveSameOwner(present, restored);
  const accounts = isSame ? await removeAccounts(present, restored, ports) : 0;
  const credentials = isSame ? await revokeCredentials(present, restored) : 0;
  return { logs, sessions, accounts, credentials };
}

function tableOf({ schema }: PresentStore, table: string): RawBuilder<unknown> {
  return schema === null ? sql.table(table) : sql.table(`${schema}.${table}`);
}

/** All rows of a table, page by page, in the order of a unique column. */
async function* pagesOf(
  db: Kysely<Tables>,
  table: RawBuilder<unknown>,
  { key, columns = sql`*` }: { readonly key: string; readonly columns?: RawBuilder<unknown> },
): AsyncGenerator<readonly Row[]> {
  let last: string | number | null = null;
  for (;;) {
    const after = last === null ? sql`` : sql`where ${sql.ref(key)} > ${last}`;
    const page: RawBuilder<Row> = sql`select ${columns} from ${table} ${after} order by ${sql.ref(key)} limit ${sql.lit(pageRows)}`;
    const { rows } = await page.execute(db);
    if (rows.length === 0) return;
    yield rows;
    last = rows.at(-1)?.[key] ?? null;
  }
}

async function* presentPages(present: PresentStore, table: string, key: string): AsyncGenerator<readonly Row[]> {
  if (present.tables.has(table)) yield* pagesOf(present.db, tableOf(present, table), { key });
}

/** All rows of a small table. */
async function presentRows(present: PresentStore, table: string): Promise<readonly Row[]> {
  if (!present.tables.has(table)) return [];
  return (await sql<Row>`select * from ${tableOf(present, table)}`.execute(present.db)).rows;
}

/** Inserts these columns; keeps rows that exist. */
async function addRows(
  { db }: RestoredStore,
  into: { readonly table: string; readonly columns: readonly string[] },
  rows: readonly Row[],
): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.map((row) => sql`(${sql.join(into.columns.map((column) => row[column] ?? null))})`);
  await sql`insert into ${sql.table(into.table)} (${sql.join(into.columns.map((column) => sql.ref(column)))})
    values ${sql.join(values)} on conflict do nothing`.execute(db);
}

const auditColumns = [
  ...["audit_id", "at", "account_id", "account_name", "action", "subject", "details", "address", "user_agent"],
] as const;

async function copyMarks(present: PresentStore, restored: RestoredStore): Promise<void> {
  const tombstones = { table: "log_tombstones", columns: ["log_hash", "deleted_at"] };
  for await (const rows of presentPages(present, "audit_entries", "audit_id")) {
    await addRows(restored, { table: "audit_entries", columns: auditColumns }, rows);
    const deleted = rows.filter(({ action, subject }) => action === "log_deleted" && subject !== null);
    await addRows(
      restored,
      tombstones,
      deleted.map(({ subject, at }) => ({ log_hash: subject ?? null, deleted_at: at ?? null })),
    );
  }
  for await (const rows of presentPages(present, "log_tombstones", "log_hash")) {
    await addRows(restored, tombstones, rows);
  }
  if (present.tables.has("log_deletions")) {
    // Committed deletions whose entries are not removed yet.
    const marked = sql`(select mark.log_id, deletion.begun_at from ${tableOf(present, "log_deletion_entries")} as mark
      join ${tableOf(present, "log_deletions")} as deletion on deletion.deletion_id = mark.deletion_id
      where deletion.is_decided = 1) as marked`;
    for await (const rows of pagesOf(present.db, marked, { key: "log_id" })) {
      const buried = rows.map((row) => ({
        log_hash: sha256(String(row["log_id"])),
        deleted_at: row["begun_at"] ?? null,
      }));
      await addRows(restored, tombstones, buried);
    }
  }
  const accounts = await restored.db.selectFrom("accounts").select("account_id").execute();
  const known = new Set(accounts.map(({ account_id }) => account_id));
  const suppressions = (await presentRows(present, "log_suppressions")).filter((row) =>
    known.has(String(row["account_id"])),
  );
  const columns = ["account_id", "session_id", "first_turn", "last_turn", "created_at"];
  for (let from = 0; from < suppressions.length; from += pageRows) {
    await addRows(restored, { table: "log_suppressions", columns }, suppressions.slice(from, from + pageRows));
  }
}

/** Removes entries that have a tombstone. */
async function removeBuried(restored: RestoredStore, ports: ReplayPorts): Promise<number> {
  const { db } = restored;
  const at = Date.now();
  let removed = 0;
  const ids = { key: "log_id", columns: sql`log_id, account_id` }; // contents are large
  for await (const rows of pagesOf(db, sql.table("log_entries"), ids)) {
    const byHash = new Map(rows.map((row) => [sha256(String(row["log_id"])), row]));
    const buried = await db
      .selectFrom("log_tombstones")
      .select("log_hash")
      .where("log_hash", "in", [...byHash.keys()])
      .execute();
    const hashes = new Set(buried.map(({ log_hash }) => log_hash));
    const gone = [...byHash].filter(([hash]) => hashes.has(hash)).map(([, row]) => row);
    for (const [accountId, logs] of Map.groupBy(gone, (row) => String(row["account_id"]))) {
      const logIds = logs.map((row) => String(row["log_id"]));
      await ports.removeLogs(restored, { accountId, logIds, at });
      removed += logIds.length;
    }
  }
  return removed;
}

/** Forgets sessions that were forgotten since the backup. */
async function forgetSessions(present: PresentStore, { db }: RestoredStore): Promise<number> {
  let forgotten = 0;
  for (const row of await presentRows(present, "forgotten_sessions")) {
    const [agent, id, at] = [String(row["agent"]), String(row["session_id"]), Number(row["forgotten_at"])];
    const known = await db
      .selectFrom("forgotten_sessions")
      .select("forgotten_at")
      .where("agent", "=", agent)
      .where("session_id", "=", id)
      .executeTakeFirst();
    if (known !== undefined && known.forgotten_at >= at) continue;
    const change = { forgotten_at: at, erased_at: null };
    await db
      .insertInto("forgotten_sessions")
      .values({ agent, session_id: id, ...change })
      .onConflict((conflict) => conflict.columns(["agent", "session_id"]).doUpdateSet(change))
      .execute();
    const aliases = await db.selectFrom("session_aliases").select("session_id").where("alias", "=", id).execute();
    const ids = [id, ...aliases.map(({ session_id }) => session_id)];
    const traces = { title: null, last_screen: null, launch_id: null };
    await db.updateTable("sessions").set(traces).where("session_id", "in", ids).execute();
    await db.updateTable("queued_prompts").set({ prompt: "" }).where("session_id", "in", ids).execute();
    await db.deleteFrom("session_event_memos").where("session_id", "in", ids).execute();
    for (const table of notedTables) {
      await db.deleteFrom(table).where("session_id", "in", ids).execute();
    }
    await db.deleteFrom("recordings").where("session_id", "in", ids).execute();
    forgotten += 1;
  }
  return forgotten;
}

/** What people noted about sessions. */
const notedTables = [
  "session_notes",
  "session_labels",
  "session_seen",
  "session_drafts",
  "review_comments",
  "review_viewed",
] as const;

/** Whether both stores have the same owner. If not, the current store was recreated and does not know the backup's accounts. */
async function haveSameOwner(present: PresentStore, { db }: RestoredStore): Promise<boolean> {
  const owner = await db.selectFrom("accounts").select("account_id").where("is_owner", "=", 1).executeTakeFirst();
  const accounts = await presentRows(present, "accounts");
  return accounts.some((row) => row["is_owner"] === 1 && row["account_id"] === owner?.account_id);
}

async function removeAccounts(present: PresentStore, restored: RestoredStore, ports: ReplayPorts): Promise<number> {
  const gone = await absentIn(present, restored, { table: "accounts", key: "account_id" });
  for (const accountId of gone) {
    await ports.removeAllLogs(restored, { accountId, at: Date.now() });
    await restored.db.deleteFrom("accounts").where("account_id", "=", accountId).execute();
  }
  return gone.length;
}

/** A backup must not restore revoked access. */
async function revokeCredentials(present: PresentStore, restored: RestoredStore): Promise<number> {
  const { db } = restored;
  let revoked = 0;
  for await (const rows of presentPages(present, "personal_tokens", "token_id")) {
    for (const row of rows) {
      if (row["revoked_at"] === null) continue;
      const { numUpdatedRows } = await db
        .updateTable("personal_tokens")
        .set({ revoked_at: Number(row["revoked_at"]) })
        .where("token_id", "=", String(row["token_id"]))
        .where("revoked_at", "is", null)
        .executeTakeFirst();
      revoked += Number(numUpdatedRows);
    }
  }
  for await (const rows of presentPages(present, "oauth_records", "id_hash")) {
    for (const row of rows) {
      if (row["consumed_at"] === null) continue;
      await db
        .updateTable("oauth_records")
        .set({ consumed_at: Number(row["consumed_at"]) })
        .where("id_hash", "=", String(row["id_hash"]))
        .execute();
    }
  }
  for (const one of credentialTables) {
    const gone = await absentIn(present, restored, one);
    for (const id of gone) {
      await sql`delete from ${sql.table(one.table)} where ${sql.ref(one.key)} = ${id}`.execute(db);
    }
    revoked += gone.length;
  }
  return revoked;
}

const credentialTables = [
  { table: "browser_sessions", key: "browser_session_id" },
  { table: "passkeys", key: "passkey_id" },
  { table: "oauth_records", key: "id_hash" },
] as const;

/** Rows of the restored store that are missing from the current one. */
async function absentIn(
  present: PresentStore,
  { db }: RestoredStore,
  { table, key }: { readonly table: string; readonly key: string },
): Promise<readonly string[]> {
  if (!present.tables.has(table)) return [];
  const absent: string[] = [];
  for await (const rows of pagesOf(db, sql.table(table), { key, columns: sql.ref(key) })) {
    const ids = rows.map((row) => String(row[key]));
    const { rows: there } = await sql<{ id: string }>`select ${sql.ref(key)} as id from ${tableOf(present, table)}
      where ${sql.ref(key)} in (${sql.join(ids)})`.execute(present.db);
    const kept = new Set(there.map(({ id }) => id));
    absent.push(...ids.filter((id) => !kept.has(id)));
  }
  return absent;
}
