// A process that opens a store, adds a row and ends: argv is the store's place as JSON, then the row's name.
import { silentLog } from "../../src/core/log.ts";
import { openDatabase } from "../../src/storage/database.ts";

const [place = "", name = ""] = process.argv.slice(2);
const { url, path }: { url: string | null; path: string } = JSON.parse(place);
const database = await openDatabase({ url, path, log: silentLog });
await database.db.insertInto("folders").values({ path: name, scopes: "[]", created_at: Date.now() }).execute();
await database.close();
