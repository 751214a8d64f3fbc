import { once } from "node:events";
import { createServer } from "node:http";
import type { TestProject } from "vitest/node";
import { silentLog } from "../../src/core/log.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** `POST` to it answers with the URL of a new empty database, and to `store` below it with that of an empty store. */
    postgresDesk: string;
  }
}

/** Runs in vitest's main process: starts PostgreSQL when the first test asks for a database, and ends it after the last. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let postgres: Promise<PostgresServer> | undefined;
  let emptyStore: Promise<string> | undefined;
  const desk = createServer((request, response) => {
    request.resume();
    const started = (postgres ??= startPostgres());
    const wantsStore = request.url === "/store";
    if (wantsStore) emptyStore ??= started.then(createEmptyStore);
    started
      .then(async (server) => server.createDatabase(wantsStore ? await emptyStore : undefined))
      .then(
        (url) => response.end(url),
        (error: unknown) => response.writeHead(500).end(error instanceof Error ? error.message : String(error)),
      );
  });
  desk.listen(0, "127.0.0.1");
  await once(desk, "listening");
  const address = desk.address();
  if (address === null || typeof address === "string") throw new Error("No free port on the loopback.");
  project.provide("postgresDesk", `http://127.0.0.1:${address.port}/`);
  return async () => {
    desk.close();
    desk.closeAllConnections();
    const started = await postgres?.catch(() => undefined); // the test that asked for it reported the failure
    await started?.close();
  };
}

/** Tables are made once: a copy of them costs a quarter of the time. */
async function createEmptyStore(server: PostgresServer): Promise<string> {
  const url = await server.createDatabase();
  const { close } = await openDatabase({ url, path: "unused", log: silentLog });
  await close();
  return url;
}
