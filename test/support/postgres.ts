import { inject } from "vitest";

/**
 * The URL of a new empty PostgreSQL database. The server behind it is one for the whole run, started at the first call
 * (about a second) and ended after the last test, with all its databases.
 */
export async function createTestDatabaseUrl(): Promise<string> {
  const response = await fetch(inject("postgresDesk"), { method: "POST" });
  const text = await response.text();
  if (!response.ok) throw new Error(`No test database: ${text}`);
  return text;
}
