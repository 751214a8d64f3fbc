import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { runCommand } from "../../test/support/run-cli.ts";
import type { MadeBackup, RestoredBackup } from "../backup/index.ts";
import type { BackupOptions, RestoreOptions } from "./ports.ts";

const about = {
  createdAt: "2026-01-31T12:00:00.000Z",
  store: "sqlite",
  schema: ["0001-first"],
  withRecordings: false,
} as const;

function backupPort(asked: BackupOptions[]) {
  return async (options: BackupOptions): Promise<MadeBackup> => {
    asked.push(options);
    options.progress("copying the store");
    return { ...about, file: options.file, sizeBytes: 2_500_000, withKey: options.withKey, parts: ["store.db"] };
  };
}

function restorePort(asked: RestoreOptions[], restored: Partial<RestoredBackup> = {}) {
  return async (options: RestoreOptions): Promise<RestoredBackup> => {
    asked.push(options);
    return { ...about, home: "/srv/home", withKey: true, before: null, replayed: null, ...restored };
  };
}

describe("postern backup", () => {
  test("prints only the file on standard output, and warns that it contains secrets", async () => {
    const asked: BackupOptions[] = [];
    const run = await runCommand(["backup", "b.tar.gz"], { ports: { backUp: backupPort(asked) } });
    expect(run).toMatchObject({ code: 0, stdout: "/srv/code/b.tar.gz\n" });
    expect(run.stderr).toContain("copying the store");
    expect(run.stderr).toContain("2.5 MB. It contains the key");
    expect(asked).toMatchObject([{ withKey: true, withRecordings: false }]);
  });

  test("names the file after the time, and passes its options on", async () => {
    const asked: BackupOptions[] = [];
    const argv = ["backup", "--without-key", "--with-recordings", "--json"];
    const run = await runCommand(argv, { ports: { backUp: backupPort(asked) } });
    expect(JSON.parse(run.stdout)).toMatchObject({
      file: expect.stringMatching(/^\/srv\/code\/postern-[\dT-]+\.tar\.gz$/),
    });
    expect(run.stderr).toBe("");
    expect(asked).toMatchObject([{ withKey: false, withRecordings: true }]);
  });
});

describe("postern restore", () => {
  test("reports what cannot be known on a new machine", async () => {
    const asked: RestoreOptions[] = [];
    const run = await runCommand(["restore", "b.tar.gz"], {
      ports: { restore: restorePort(asked, { withKey: false }) },
    });
    expect(run.stdout).toBe("Restored /srv/home from the backup of 2026-01-31T12:00:00.000Z.\n");
    expect(run.stderr).toContain("are also restored");
    expect(run.stderr).toContain("has no key");
    expect(asked).toMatchObject([{ file: "/srv/code/b.tar.gz", replace: false, replay: true }]);
  });

  test("reports what was not restored, and where the previous state is", async () => {
    const asked: RestoreOptions[] = [];
    const before = { folder: "/srv/home.before-restore-x", schema: null };
    const replayed = { logs: 2, sessions: 1, accounts: 0, credentials: 3 };
    const argv = ["restore", "b.tar.gz", "--replace", "--without-replay"];
    const run = await runCommand(argv, { ports: { restore: restorePort(asked, { before, replayed }) } });
    expect(run.stderr).toContain("is in /srv/home.before-restore-x.");
    expect(run.stderr).toContain("2 memory entries, data of 1 session, 0 accounts, 3 sign-ins");
    expect(asked).toMatchObject([{ replace: true, replay: false }]);
  });
});

test("every command in the operations documentation exists, with its options", async () => {
  const text = await readFile(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const commands = [...text.matchAll(/^postern ((?:backup|restore)[^#\n]*)/gm)].map(([, line = ""]) => line.trim());
  expect(commands).toHaveLength(4);
  for (const command of commands) {
    const ports = { backUp: backupPort([]), restore: restorePort([]) };
    expect(await runCommand(command.split(" "), { ports }), command).toMatchObject({ code: 0 });
  }
});
