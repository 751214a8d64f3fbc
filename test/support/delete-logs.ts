// A process that deletes log entries until it is killed: argv is the store's place as JSON, then the account. It says `go` after the first.
import { systemClock } from "../../src/core/clock.ts";
import { silentLog } from "../../src/core/log.ts";
import { openLogs } from "../../src/logs/index.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { createErasure } from "../../src/storage/erasure.ts";
import { anyFolder, auditDeletions, searchText, tester, whole } from "./logs.ts";

const [place = "", accountId = ""] = process.argv.slice(2);
const { url, path }: { url: string | null; path: string } = JSON.parse(place);
const database = await openDatabase({ url, path, log: silentLog });
const erasure = createErasure({ ...database, clock: systemClock, log: silentLog });
const logs = await openLogs({
  ...database,
  clock: systemClock,
  searchText,
  ...anyFolder,
  namesOf: async (sessionId) => [sessionId],
  noteDeletion: auditDeletions(database),
  erasure,
});
const { logs: entries } = await logs.list(whole(accountId), { limit: 200 });
for (const { logId } of entries) {
  await logs.delete(whole(accountId), logId, tester);
  process.stdout.write("go\n");
}
await logs.close();
await erasure.close();
await database.close();
