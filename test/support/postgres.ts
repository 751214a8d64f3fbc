import { inject } from "vitest";

/**
 * The URL of a new empty PostgreSQL database. The server behind it is one for the whole run, started at the first call
 * (about a second) and ended after the last test, with all its databases.
 */
export function createTestDatabaseUrl(): Promise<string> {
  return askDesk(inject("postgresDesk"));
}

/** The URL of a new PostgreSQL database with all tables of this version and nothing in them. Otherwise as {@link createTestDatabaseUrl}. */
export function createTestStoreUrl(): Promise<string> {
  return askDesk(`${inject("postgresDesk")}store`);
}

async function askDesk(address: string): Promise<string> {
  const response = await fetch(address, { method: "POST" });
  const text = await response.text();
  if (!response.ok) throw new Error(`No test database: ${text}`);
  return text;
}
