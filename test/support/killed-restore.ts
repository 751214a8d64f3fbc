// A process that restores a backup and is killed at its `killAt`-th rename: argv is `{ file, home, killAt }` as JSON.

import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";

const { file, home, killAt }: { file: string; home: string; killAt: number } = JSON.parse(process.argv[2] ?? "{}");
const { rename, rm } = promises;
let calls = 0;
function step(): void {
  calls += 1;
  if (calls === killAt) process.kill(process.pid, "SIGKILL");
}
promises.rename = async (...args) => {
  step();
  return rename(...args);
};
promises.rm = async (...args) => {
  step();
  return rm(...args);
};
syncBuiltinESMExports();
const { restoreBackup } = await import("../../src/backup/index.ts");
const { removeLogs, removeAllLogs } = await import("../../src/logs/index.ts");
await restoreBackup({
  ...{ file, home, databaseUrl: null, replace: true, replay: true, progress: () => undefined },
  ports: { removeLogs, removeAllLogs },
});
