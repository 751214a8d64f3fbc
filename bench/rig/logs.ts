import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { entityIdOf, statementIdOf } from "../../src/logs/assertion.ts";
import { type Logs, type LogsCaller, openLogs } from "../../src/logs/index.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createErasure } from "../../src/storage/erasure.ts";
import { anyFolder, auditDeletions, searchText } from "../../test/support/logs.ts";
import { makeTestFolder } from "../../test/support/test-folder.ts";

/** A memory in a file in its own folder. */
export interface BenchLogs {
  readonly logs: Logs;
  readonly database: Database;
  readonly path: string;
  readonly caller: LogsCaller;
}

/**
 * Runs `task` with an empty memory, and removes the folder afterwards.
 * @param url an empty database of PostgreSQL; left out for a SQLite file
 */
export async function withLogs(task: (bench: BenchLogs) => Promise<void>, url: string | null = null): Promise<void> {
  const folder = makeTestFolder("bench");
  const path = join(folder, "postern.db");
  const database = await openDatabase({ url, path, log: silentLog });
  const erasure = createErasure({ ...database, clock: systemClock, log: silentLog });
  const logs = await openLogs({
    ...database,
    clock: systemClock,
    searchText,
    ...anyFolder,
    namesOf: async (sessionId) => [sessionId],
    noteDeletion: auditDeletions(database),
    erasure,
  });
  try {
    const account = { account_id: "bench", name: "bench", is_owner: 0, created_at: 1 };
    await database.db.insertInto("accounts").values(account).execute();
    await task({ logs, database, path, caller: { accountId: "bench", folders: null } });
  } finally {
    await logs.close();
    await erasure.close();
    await database.close();
    rmSync(folder, { recursive: true });
  }
}

const syllables = ["ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va"];

/** The n-th word of a language: small numbers are common words. */
export function word(n: number): string {
  let rest = n;
  let text = "";
  do {
    text += syllables[rest % 16] ?? "";
    rest = Math.floor(rest / 16);
  } while (rest > 0);
  return text;
}

/** Of a language with 50,000 words the n-th is about n times as rare as the first. */
function randomWord(): string {
  return word(Math.floor(50_000 ** Math.random()) - 1);
}

/** Some words. */
export function sentence(words: number): string {
  return Array.from({ length: words }, randomWord).join(" ");
}

/**
 * Fills the tables as that many entries would, bypassing the usual way, which is for one entry at a time: each entry says one thing of its own,
 * in 12 words. Entries' ids begin with a letter that no real one has; those of things and statements are as they are made, all over their
 * indexes.
 */
export function seedEntries(path: string, { from, to }: { readonly from: number; readonly to: number }): void {
  const file = new DatabaseSync(path, { timeout: 10_000 });
  file.exec("pragma synchronous = off; pragma cache_size = -400000; pragma foreign_keys = off; begin");
  const known = new Map<string, number>();
  for (const row of file.prepare("select word_id, word from log_words").all())
    known.set(String(row["word"]), Number(row["word_id"]));
  const entry = file.prepare(
    "insert into log_entries values (?, 'bench', 'api', null, null, ?, 'text', ?, '{\"agent\":null,\"repository\":null,\"branch\":null}', ?, ?, 'ready', null, null, null)",
  );
  const episode = file.prepare("insert into episodes values (?, 'bench', ?, 1)");
  const chunk = file.prepare(
    "insert into log_chunks (log_id, account_id, position, content) values (?, 'bench', 0, ?)",
  );
  const newWord = file.prepare("insert into log_words (account_id, word) values ('bench', ?)");
  const entity = file.prepare("insert or ignore into entities values (?, 'bench', ?, ?)");
  const statement = file.prepare("insert into statements values (?, 'bench', ?, 'mentioned', null, 'seeded')");
  const fact = file.prepare("insert into facts values (?, 0, 'bench', ?, ?, 'mentioned', ?, 1, 'rules@1')");
  const postings: (readonly [number, number, number])[] = [];
  for (let n = from; n < to; n++) {
    const id = `s${String(n).padStart(12, "0")}`;
    const content = sentence(12);
    entry.run(id, null, content, n, n);
    episode.run(id, content.length);
    const chunkId = Number(chunk.run(id, content).lastInsertRowid);
    for (const one of new Set(content.split(" "))) {
      let wordId = known.get(one);
      if (wordId === undefined) known.set(one, (wordId = Number(newWord.run(one).lastInsertRowid)));
      postings.push([wordId, chunkId, 1]);
    }
    const subject = { type: "Url", key: `https://${word(n % 5_000)}.example/${n}` } as const;
    const subjectId = entityIdOf("bench", subject);
    const statementId = statementIdOf(subjectId, { predicate: "mentioned", object: "seeded" });
    entity.run(subjectId, subject.type, subject.key);
    statement.run(statementId, subjectId);
    fact.run(id, statementId, subjectId, n);
  }
  const posting = file.prepare("insert into log_postings values (?, ?, ?)");
  // In the order of the key: a million seeks are what takes the time.
  for (const row of postings.toSorted((one, other) => one[0] - other[0] || one[1] - other[1])) posting.run(...row);
  file.exec("commit; pragma wal_checkpoint(truncate)");
  file.close();
}

/** The thing of {@link seedBusySubject}. */
export const busySubject = "b".repeat(32);

/** As if one command had run that often: one thing with as many values, one after the other. */
export function seedBusySubject(path: string, runs: number): void {
  const file = new DatabaseSync(path, { timeout: 10_000 });
  file.exec("pragma synchronous = off; pragma foreign_keys = off; begin");
  file.exec(`insert into entities values ('${busySubject}', 'bench', 'Command', 'npm test')`);
  file.exec(`insert into statements values ('passed', 'bench', '${busySubject}', 'last_exit', null, '0')`);
  const fact = file.prepare(
    `insert into facts values (?, 1, 'bench', 'passed', '${busySubject}', 'last_exit', ?, 1, 'rules@1')`,
  );
  for (let n = 0; n < runs; n++) fact.run(`s${String(n).padStart(12, "0")}`, n);
  file.exec("commit; pragma wal_checkpoint(truncate)");
  file.close();
}
