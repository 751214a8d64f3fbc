import pg from "pg";
import { expect, test } from "vitest";
import { createTestDatabaseUrl, createTestStoreUrl } from "./postgres.ts";

async function tablesOf(url: string, sql?: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    if (sql !== undefined) await client.query(sql);
    const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    return rows;
  } finally {
    await client.end();
  }
}

test("each database is empty and its own", async () => {
  const [first, second] = await Promise.all([createTestDatabaseUrl(), createTestDatabaseUrl()]);
  expect(await tablesOf(first, "CREATE TABLE letters (id int)")).toEqual([{ tablename: "letters" }]);
  expect(await tablesOf(second)).toEqual([]);
});

test("each store has the tables, and its own rows", async () => {
  const [first, second] = await Promise.all([createTestStoreUrl(), createTestStoreUrl()]);
  const tables = await tablesOf(first, "INSERT INTO kysely_migration VALUES ('9999-mine', '')");
  expect(tables).toContainEqual({ tablename: "accounts" });
  expect(await tablesOf(second)).toEqual(tables);
  expect([await migrationsOf(first), await migrationsOf(second)]).toEqual([
    expect.arrayContaining(["9999-mine"]),
    expect.not.arrayContaining(["9999-mine"]),
  ]);
});

async function migrationsOf(url: string): Promise<readonly unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query("SELECT name FROM kysely_migration");
    return rows.map(({ name }) => name);
  } finally {
    await client.end();
  }
}
