import { spawn } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { backUp, filledHome, newHome, restore, titles } from "../../test/support/backup-scene.ts";
import { describeOnBothStores } from "../../test/support/database.ts";
import { addAccount, openTestLogs, tester, whole } from "../../test/support/logs.ts";
import { removeAllLogs } from "../logs/index.ts";
import type { Database } from "../storage/database.ts";
import { migrationNames } from "../storage/migrate.ts";
import { acquireProcessLock } from "../storage/process-lock.ts";
import { readArchive } from "./archive.ts";

describeOnBothStores("a backup", (openStore) => {
  const kind = async () => (await openStore()).dialect;

  test("is restored elsewhere with all rows, files and sequence numbers", async () => {
    const from = await filledHome(await kind());
    await from.logs.submit(whole(from.me), { title: "naïve 🦉", content: "Decision: timeout = 30 s\nlong\u2028text" });
    const file = join(from.home, "..", "b.tar.gz");
    const made = await backUp(from, file);
    expect(made).toMatchObject({ file, schema: migrationNames, withKey: true });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const to = await newHome(from.store.dialect);
    const restored = await restore(to, file);
    expect(restored).toMatchObject({ before: null, replayed: null });
    for (const name of ["config.json", "key", "gateway-id"]) {
      expect(await readFile(join(to.home, name), "utf8")).toBe(await readFile(join(from.home, name), "utf8"));
    }
    const again = await to.open();
    for (const table of ["log_entries", "facts", "statements", "log_words", "log_postings", "accounts"] as const) {
      const rows = (one: Database) => one.db.selectFrom(table).selectAll().execute();
      const [was, is] = await Promise.all([rows(from.store), rows(again)]);
      expect(is.length).toBeGreaterThan(0);
      expect(is.map((row) => JSON.stringify(row)).toSorted()).toEqual(was.map((row) => JSON.stringify(row)).toSorted());
    }
    const logs = await openTestLogs({ ...from.store, ...again });
    await logs.submit(whole(from.me), { content: "entirely other words" });
    expect((await logs.search(whole(from.me), { q: "timeout" })).hits).toHaveLength(1);
    expect((await readdir(to.home)).filter((name) => name.startsWith("restor"))).toEqual([]);
  });

  test("that is restored over a store brings back lost data, but nothing deleted, forgotten, removed or revoked since", async () => {
    const at = await filledHome(await kind());
    const { db } = at.store;
    const owner = await db
      .insertInto("accounts")
      .values({ account_id: "owner", name: "owner", is_owner: 1, created_at: 1 })
      .execute();
    expect(owner).toHaveLength(1);
    const guest = await addAccount(at.store);
    const [kept, gone, ofSession] = await Promise.all([
      at.logs.submit(whole(at.me), { title: "kept", content: "Decision: colour = blue" }),
      at.logs.submit(whole(at.me), { title: "gone", content: "Decision: xylophone = loud" }),
      at.logs.submit(whole(at.me), { title: "of a session", content: "zither", sessionId: "s1" }),
    ]);
    expect(ofSession.log.sessionId).toBe("s1");
    await at.logs.submit(whole(guest), { title: "a guest's", content: "glockenspiel" });
    const token = { account_id: at.me, name: "t", scopes: "[]", created_at: 1 };
    for (const token_id of ["t1", "t2"]) {
      await db
        .insertInto("personal_tokens")
        .values({
          ...token,
          token_id,
          token_hash: token_id,
          folders: null,
          expires_at: null,
          last_used_at: null,
          revoked_at: null,
        })
        .execute();
    }
    const file = join(at.home, "..", "b.tar.gz");
    await backUp(at, file);
    await at.logs.delete(whole(at.me), gone.log.logId, tester);
    await at.logs.deleteSession(whole(at.me), "s1", tester);
    await db.transaction().execute(async (trx) => {
      await removeAllLogs({ db: trx, dialect: at.store.dialect }, { accountId: guest, at: 1 });
      await trx.deleteFrom("accounts").where("account_id", "=", guest).execute();
    });
    await db.updateTable("personal_tokens").set({ revoked_at: 5 }).where("token_id", "=", "t2").execute();
    await db
      .insertInto("forgotten_sessions")
      .values({ agent: "a", session_id: "s9", forgotten_at: 7, erased_at: 7 })
      .execute();
    // Lost by mistake, not through a deletion:
    await db.transaction().execute(async (trx) => {
      const tombstones = await trx.selectFrom("log_tombstones").selectAll().execute();
      await removeAllLogs({ db: trx, dialect: at.store.dialect }, { accountId: at.me, at: 1 });
      await trx.deleteFrom("log_tombstones").execute();
      await trx.insertInto("log_tombstones").values(tombstones).execute();
    });
    expect(await titles(at.store)).toEqual([]);
    await at.logs.close();
    await at.store.close();
    await expect(restore(at, file)).rejects.toMatchObject({ code: "home_not_empty" });
    const restored = await restore(at, file, { replace: true });
    expect(restored.replayed).toEqual({ logs: 3, sessions: 1, accounts: 1, credentials: 1 });
    const again = await at.open();
    expect(await titles(again)).toEqual(["kept"]);
    expect(await again.db.selectFrom("log_entries").select("log_id").execute()).toEqual([{ log_id: kept.log.logId }]);
    const words = await again.db.selectFrom("log_words").select("word").execute();
    expect(words.map(({ word }) => word)).not.toContain("xylophone");
    expect(words.map(({ word }) => word)).toContain("colour");
    const tokens = await again.db
      .selectFrom("personal_tokens")
      .select(["token_id", "revoked_at"])
      .orderBy("token_id")
      .execute();
    expect(tokens).toEqual([
      { token_id: "t1", revoked_at: null },
      { token_id: "t2", revoked_at: 5 },
    ]);
    expect(await again.db.selectFrom("forgotten_sessions").selectAll().execute()).toMatchObject([
      { forgotten_at: 7, erased_at: null },
    ]);
    expect(await again.db.selectFrom("audit_entries").select("action").orderBy("action").execute()).toEqual([
      { action: "log_deleted" },
      { action: "session_logs_deleted" },
    ]);
    const { before } = restored;
    if (at.url === null) {
      expect(await readdir(before?.folder ?? "")).toEqual(expect.arrayContaining(["postern.db", "config.json", "key"]));
      const all = Buffer.concat(await Promise.all(["postern.db"].map((name) => readFile(join(at.home, name)))));
      expect(all.includes("xylophone")).toBe(false);
    } else {
      expect(before?.schema).toMatch(/^before_restore_\d+$/);
    }
    await again.close();
    // The restored store has the deletions too.
    const twice = await restore(at, file, { replace: true });
    expect(twice.replayed).toMatchObject({ logs: 3 });
  });

  test("that was changed, cut short, or made by a newer version is refused before anything is touched", async () => {
    const from = await filledHome(await kind());
    const file = join(from.home, "..", "b.tar.gz");
    const made = await backUp(from, file);
    const to = await newHome(from.store.dialect);
    const tar = gunzipSync(await readFile(file));
    const name = Buffer.from(from.url === null ? "store.db" : "store.jsonl");
    expect(tar.subarray(0, name.length)).toEqual(name);
    const variants: Readonly<Record<string, [Buffer, string]>> = {
      changed: [
        gzipSync(Buffer.concat([tar.subarray(0, 600), Buffer.from([(tar[600] ?? 0) ^ 1]), tar.subarray(601)])),
        "backup_unreadable",
      ],
      short: [gzipSync(tar.subarray(0, tar.length - 3_000)), "backup_unreadable"],
      cut: [(await readFile(file)).subarray(0, made.sizeBytes / 2), "backup_unreadable"],
      text: [Buffer.from("Dear reader"), "backup_unreadable"],
      renamed: [gzipSync(Buffer.from(tar.toString("latin1").replace('"key"', '"kez"'), "latin1")), "backup_unreadable"],
      newer: [
        gzipSync(Buffer.from(tar.toString("latin1").replace('"0009-tombstones"', '"9999-tombstones"'), "latin1")),
        "store_newer",
      ],
    };
    for (const [variant, [bytes, code]] of Object.entries(variants)) {
      const path = `${file}.${variant}`;
      await writeFile(path, bytes);
      await expect(restore(to, path), variant).rejects.toMatchObject({ code });
      expect(await readdir(to.home), variant).toEqual(["gateway.lock"]);
    }
  });
});

describe("a backup of the embedded store", () => {
  test("never overwrites a file or stays incomplete, and contains the key only when allowed", async () => {
    const from = await filledHome("sqlite");
    const file = join(from.home, "..", "b.tar.gz");
    await backUp(from, file, { withKey: false });
    const names: string[] = [];
    for await (const { name } of readArchive(file)) names.push(name);
    expect(names).toEqual(["store.db", "config.json", "gateway-id", "manifest.json"]);
    await expect(backUp(from, file)).rejects.toMatchObject({ code: "backup_exists" });
    const nowhere = join(from.home, "nowhere");
    await expect(backUp(from, join(nowhere, "b"))).rejects.toMatchObject({
      code: "backup_folder_missing",
      message: `${nowhere} does not exist. Create it with \`mkdir -p ${nowhere}\`.`,
    });
    expect(await readdir(join(from.home, "backups"))).toEqual([]);
    expect(await readdir(join(from.home, ".."))).toEqual(["b.tar.gz", "home"]);
  });

  test("is readable by tar, and has the recordings of terminals that the store refers to", async () => {
    const from = await filledHome("sqlite");
    const session = {
      session_id: "s",
      node_id: "n",
      agent: "a",
      dir: "/code/a",
      permission_mode: "ask",
      created_at: 1,
      updated_at: 1,
    };
    const nothing = {
      title: null,
      model: null,
      transcript_path: null,
      launch_id: null,
      terminal_id: null,
      closed_at: 1,
      exit_code: null,
      signal: null,
      last_screen: null,
      continued_by: null,
    };
    await from.store.db
      .insertInto("sessions")
      .values({ ...session, ...nothing })
      .execute();
    await from.store.db
      .insertInto("recordings")
      .values({ recording_id: "r", terminal_id: "t-1", session_id: "s", started_at: 1, ended_at: 2 })
      .execute();
    for (const terminal of ["t-1", "t-2"]) {
      const dir = join(from.home, "terminal-host", "terminals", terminal);
      await mkdir(dir, { recursive: true });
      await writeFile(join(dir, "0000000000000000.log"), "x".repeat(1_000));
    }
    const file = join(from.home, "..", "b.tar.gz");
    await backUp(from, file, { withRecordings: true });
    const tar = spawn("tar", ["tzf", file], { stdio: ["ignore", "pipe", "inherit"] });
    const listed = (await tar.stdout.setEncoding("utf8").toArray()).join("");
    expect(listed.trim().split("\n")).toEqual([
      "store.db",
      "config.json",
      "key",
      "gateway-id",
      "recordings/t-1/0000000000000000.log",
      "recordings/t-2/0000000000000000.log",
      "manifest.json",
    ]);
    const to = await newHome("sqlite");
    await restore(to, file);
    expect(await readdir(join(to.home, "terminal-host", "terminals"))).toEqual(["t-1"]);
  });

  test("is not restored while a gateway runs", async () => {
    const from = await filledHome("sqlite");
    const file = join(from.home, "..", "b.tar.gz");
    await backUp(from, file);
    const lock = acquireProcessLock(join(from.home, "gateway.lock"));
    onTestFinished(() => lock.close());
    await expect(restore(from, file, { replace: true })).rejects.toMatchObject({ code: "gateway_running" });
  });

  test("is not restored over an unreadable store, unless data deleted since may come back", async () => {
    const from = await filledHome("sqlite");
    await from.logs.submit(whole(from.me), { title: "kept", content: "x" });
    const file = join(from.home, "..", "b.tar.gz");
    await backUp(from, file);
    await from.logs.close();
    await from.store.close();
    await writeFile(join(from.home, "postern.db"), "Dear reader, this is no store. ".repeat(100));
    await expect(restore(from, file, { replace: true })).rejects.toMatchObject({ code: "replay_failed" });
    expect(await readFile(join(from.home, "postern.db"), "utf8")).toContain("Dear reader");
    await restore(from, file, { replace: true, replay: false });
    expect(await titles(await from.open())).toEqual(["kept"]);
  });
});
