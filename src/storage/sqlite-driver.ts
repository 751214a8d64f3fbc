import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import { createKeyedLock, type KeyedLock } from "../core/single-flight.ts";
import { durableLater } from "./journal.ts";
import { whenFree } from "./sqlite.ts";

/** Cached prepared statements. The code has a few hundred; the oldest is dropped first. */
const maxStatements = 500;

/**
 * Kysely over `node:sqlite`. Transactions and other writes take turns on `writer`. Reads outside transactions use `reader`, if given, and
 * do not wait. Closing the Kysely instance closes both.
 */
export function createSqliteDialect(writer: DatabaseSync, reader: DatabaseSync | null = null): Dialect {
  return {
    createDriver: () => new PatientDriver(writer, reader),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new TransactionalAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Waits for other processes, and serializes this process's transactions. */
class PatientDriver extends SqliteDriver {
  readonly #writer: DatabaseSync;
  readonly #reader: SqliteDriver | null;
  readonly #turns = createKeyedLock();

  constructor(writer: DatabaseSync, reader: DatabaseSync | null) {
    super({ database: asKyselyDatabase(writer) });
    this.#writer = writer;
    this.#reader = reader && new SqliteDriver({ database: asKyselyDatabase(reader) });
  }

  override async init(): Promise<void> {
    await super.init();
    await this.#reader?.init();
  }

  override async acquireConnection(): Promise<SharedConnection> {
    const writer = await super.acquireConnection();
    const reader = (await this.#reader?.acquireConnection()) ?? null;
    return new SharedConnection({ writer, reader, turns: this.#turns });
  }

  /** Takes the write lock at the start, because a read transaction cannot write once another process has written. */
  override async beginTransaction(connection: SharedConnection): Promise<void> {
    await connection.hold();
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }

  /** A full disk already ended the transaction; a failing rollback would hide the cause. */
  override async rollbackTransaction(connection: SharedConnection): Promise<void> {
    if (this.#writer.isTransaction) await super.rollbackTransaction(connection);
  }

  override async releaseConnection(connection?: DatabaseConnection): Promise<void> {
    if (connection instanceof SharedConnection) await connection.release();
  }

  /** The writer closes last, which removes the journal. */
  override async destroy(): Promise<void> {
    await this.#reader?.destroy();
    await super.destroy();
  }
}

/** The setting of `openSqliteFile`. */
const durableAtOnce = "pragma synchronous = full";

/** SQL that only reads. The writer runs everything else. */
const readForm = /^\s*(?:select|with)\b(?![^]*\b(?:insert|update|delete|replace)\b)/i;

interface SharedFiles {
  readonly writer: DatabaseConnection;
  readonly reader: DatabaseConnection | null;
  readonly turns: KeyedLock;
}

/** Both open files, for one caller of Kysely. */
class SharedConnection implements DatabaseConnection {
  readonly #on: SharedFiles;
  /** Releases the writer while it is held. */
  #endTurn: (() => void) | null = null;
  #isDurableLater = false;

  constructor(on: SharedFiles) {
    this.#on = on;
  }

  /** Holds the writer until {@link release}. */
  async hold(): Promise<void> {
    if (this.#endTurn !== null) return;
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    void this.#on.turns.run("writer", () => {
      begun.resolve();
      return ended.promise;
    });
    await begun.promise;
    this.#endTurn = ended.resolve;
  }

  async release(): Promise<void> {
    try {
      if (this.#isDurableLater) await this.executeQuery(CompiledQuery.raw(durableAtOnce));
    } finally {
      this.#endTurn?.();
      this.#endTurn = null;
    }
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const { writer, reader, turns } = this.#on;
    const write = () => whenFree(() => writer.executeQuery<Row>(query));
    if (query.sql === durableLater) {
      await this.hold();
      this.#isDurableLater = true;
    }
    if (this.#endTurn !== null) return write();
    if (reader !== null && readForm.test(query.sql)) return whenFree(() => reader.executeQuery<Row>(query));
    return turns.run("writer", write);
  }

  streamQuery(): never {
    throw new Error("The store does not stream rows.");
  }
}

class TransactionalAdapter extends SqliteAdapter {
  /** Runs migrations in one transaction, whose write lock serializes processes that start together. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }

  /** {@link PatientDriver} serializes callers where necessary. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

function asKyselyDatabase(database: DatabaseSync): SqliteDatabase {
  const statements = new Map<string, { readonly statement: StatementSync; readonly reader: boolean }>();

  function prepared(sql: string): { readonly statement: StatementSync; readonly reader: boolean } {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const statement = database.prepare(sql);
    const entry = { statement, reader: statement.columns().length > 0 };
    for (const oldest of statements.keys()) {
      if (statements.size < maxStatements) break;
      statements.delete(oldest);
    }
    statements.set(sql, entry);
    return entry;
  }

  return {
    prepare(sql) {
      const { statement, reader } = prepared(sql);
      return {
        reader,
        all: (parameters) => statement.all(...parameters.map(toValue)),
        run: (parameters) => statement.run(...parameters.map(toValue)),
        iterate: (parameters) => statement.iterate(...parameters.map(toValue)),
      };
    },
    close: () => {
      statements.clear();
      database.close();
    },
  };
}

/** Only types that PostgreSQL stores in the same way: no booleans (the schema has 0 and 1), dates or objects. */
function toValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
    return value;
  }
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`A ${typeof value} cannot be stored. The schema has text, numbers, bytes and null.`);
}
