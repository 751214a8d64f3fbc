import pg from "pg";
import { expect, test } from "vitest";
import { createTestDatabaseUrl } from "./postgres.ts";

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
