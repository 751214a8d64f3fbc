import { once } from "node:events";
import { createServer } from "node:http";
import type { TestProject } from "vitest/node";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** `POST` to it answers with the URL of a new empty database. */
    postgresDesk: string;
  }
}

/** Runs in vitest's main process: starts PostgreSQL when the first test asks for a database, and ends it after the last. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  let postgres: Promise<PostgresServer> | undefined;
  const desk = createServer((request, response) => {
    request.resume();
    (postgres ??= startPostgres())
      .then((server) => server.createDatabase())
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
