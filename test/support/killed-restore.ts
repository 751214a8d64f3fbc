// A process that restores a backup and is killed at its `killAt`-th step, which is a rename, a removal or a query to PostgreSQL: argv is
// `{ file, home, killAt, databaseUrl }` as JSON, with null for a number that is never reached. One that is not killed prints its steps as JSON.

import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import pg from "pg";

interface Order {
  readonly file: string;
  readonly home: string;
  readonly killAt: number | null;
  readonly databaseUrl?: string | null;
}
const { file, home, killAt, databaseUrl = null }: Order = JSON.parse(process.argv[2] ?? "{}");
const { rename, rm } = promises;
const steps: string[] = [];
function step(name: string): void {
  steps.push(name);
  if (steps.length === killAt) process.kill(process.pid, "SIGKILL");
}
promises.rename = async (...args) => {
  step("rename");
  return rename(...args);
};
promises.rm = async (...args) => {
  step("rm");
  return rm(...args);
};
syncBuiltinESMExports();
const { query } = pg.Client.prototype;
Object.defineProperty(pg.Client.prototype, "query", {
  value(this: pg.Client, ...args: unknown[]): unknown {
    step(String(args[0]).slice(0, 20));
    return Reflect.apply(query, this, args);
  },
});
const { restoreBackup } = await import("../../src/backup/index.ts");
const { removeLogs, removeAllLogs } = await import("../../src/logs/index.ts");
await restoreBackup({
  ...{ file, home, databaseUrl, replace: true, replay: true, progress: () => undefined },
  ports: { removeLogs, removeAllLogs },
});
process.stdout.write(JSON.stringify(steps));
