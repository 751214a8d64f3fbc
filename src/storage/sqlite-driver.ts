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

/** Prepared statements kept by their text. The code has a few hundred different ones; the oldest goes first. */
const maxStatements = 500;

/**
 * Kysely over `node:sqlite`. Transactions, and what writes outside of them, take turns on `writer`. What only reads, outside of a
 * transaction, waits for none of them when there is a `reader`. Closing the Kysely instance closes both.
 */
export function createSqliteDialect(writer: DatabaseSync, reader: DatabaseSync | null = null): Dialect {
  return {
    createDriver: () => new PatientDriver(writer, reader),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createAdapter: () => new TransactionalAdapter(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Waits for other processes, and keeps transactions of this one apart. */
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

  /** Takes the write lock: a transaction that read first and wrote later would fail at once when another process wrote in between. */
  override async beginTransaction(connection: SharedConnection): Promise<void> {
    await connection.hold();
    await connection.executeQuery(CompiledQuery.raw("begin immediate"));
  }

  /** A full disk ends the transaction by itself; what is told is why, and not that there is none to roll back. */
  override async rollbackTransaction(connection: SharedConnection): Promise<void> {
    if (this.#writer.isTransaction) await super.rollbackTransaction(connection);
  }

  override async releaseConnection(connection?: DatabaseConnection): Promise<void> {
    if (connection instanceof SharedConnection) await connection.release();
  }

  /** The writer is the last to close the file, and leaves no journal behind. */
  override async destroy(): Promise<void> {
    await this.#reader?.destroy();
    await super.destroy();
  }
}

/** As `openSqliteFile` sets it. */
const durableAtOnce = "pragma synchronous = full";

/** SQL that can only read. The writer runs the rest, which may be a query too. */
const readForm = /^\s*(?:select|with)\b(?![^]*\b(?:insert|update|delete|replace)\b)/i;

interface SharedFiles {
  readonly writer: DatabaseConnection;
  readonly reader: DatabaseConnection | null;
  readonly turns: KeyedLock;
}

/** The two open files, as one caller of Kysely uses them. */
class SharedConnection implements DatabaseConnection {
  readonly #on: SharedFiles;
  /** Ends its turn on the writer, while it has that for more than a statement. */
  #endTurn: (() => void) | null = null;
  #isDurableLater = false;

  constructor(on: SharedFiles) {
    this.#on = on;
  }

  /** Waits for the writer, and keeps it until {@link release}. */
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
    throw new Error("A store gives the rows of a query together.");
  }
}

/** What Kysely cannot know of one connection: a transaction may hold statements that make tables, and callers need not take turns. */
class TransactionalAdapter extends SqliteAdapter {
  /** Lets migrations run in one transaction, whose write lock makes processes that start together take turns. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }

  /** {@link PatientDriver} has callers wait for each other where they must. */
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

/** Only what PostgreSQL would store alike: no booleans (the schema has 0 and 1), no dates, no objects. */
function toValue(value: unknown): SQLInputValue {
  if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "bigint") {
    return value;
  }
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`A ${typeof value} cannot be stored; the schema knows text, numbers, bytes and null.`);
}
