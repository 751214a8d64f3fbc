import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { backUp, filledHome, newHome, restore, titles } from "../../test/support/backup-scene.ts";
import { whole } from "../../test/support/logs.ts";
import { finishRestore } from "./index.ts";

const program = fileURLToPath(new URL("../../test/support/killed-restore.ts", import.meta.url));

test("a backup of the embedded store is restored completely or not at all, whenever its process is killed", {
  timeout: 60_000,
}, async () => {
  const from = await filledHome("sqlite");
  const file = join(from.home, "..", "b.tar.gz");
  await from.logs.submit(whole(from.me), { title: "then", content: "x" });
  await backUp(from, file);
  await from.logs.submit(whole(from.me), { title: "now", content: "y" });
  await from.logs.close();
  await from.store.close();
  await writeFile(join(from.home, "key"), "n".repeat(43));
  const seen = new Set<string>();
  for (let killAt = 1; killAt < 200; killAt += 1) {
    const at = await newHome("sqlite");
    for (const name of ["postern.db", "config.json", "key", "gateway-id"])
      await copyFile(join(from.home, name), join(at.home, name));
    const child = spawn(process.execPath, [program, JSON.stringify({ file, home: at.home, killAt })], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const [code, signal]: [number | null, string | null] = await once(child, "exit").then(([a, b]) => [a, b]);
    await finishRestore(at.home);
    const state = `${(await titles(await at.open())).join(" ")} ${(await readFile(join(at.home, "key"), "utf8")).slice(0, 1)}`;
    expect(["now then n", "then k"]).toContain(state);
    expect((await readdir(at.home)).filter((name) => name.startsWith("restor"))).toEqual([]);
    seen.add(state);
    if (signal === null) {
      expect([code, state]).toEqual([0, "then k"]);
      break;
    }
  }
  expect(seen.size).toBe(2);
});

test("a backup of PostgreSQL is restored completely or not at all, whenever its process is killed, and can be restored again", {
  timeout: 180_000,
}, async () => {
  const from = await filledHome("postgres");
  const file = join(from.home, "..", "b.tar.gz");
  await from.logs.submit(whole(from.me), { title: "then", content: "x" });
  await backUp(from, file);
  await from.logs.submit(whole(from.me), { title: "now", content: "y" });
  await writeFile(join(from.home, "key"), "n".repeat(43));
  const now = join(from.home, "..", "now.tar.gz");
  await backUp(from, now);

  /** In a copy of the current home, up to this step; all steps if it was not killed. */
  async function restoredUpTo(killAt: number | null) {
    const at = await newHome("postgres");
    await restore(at, now);
    const order = { file, home: at.home, killAt, databaseUrl: at.url };
    const child = spawn(process.execPath, [program, JSON.stringify(order)], { stdio: ["ignore", "pipe", "inherit"] });
    let printed = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
    await once(child, "close");
    await finishRestore(at.home);
    const state = async (): Promise<string> =>
      `${(await titles(await at.open())).join(" ")} ${(await readFile(join(at.home, "key"), "utf8")).slice(0, 1)}`;
    return { at, killed: child.signalCode === "SIGKILL", printed, state };
  }

  const unkilled = await restoredUpTo(null);
  expect([unkilled.killed, await unkilled.state()]).toEqual([false, "then k"]);
  const steps: readonly string[] = JSON.parse(unkilled.printed);
  const commit = steps.findLastIndex((step) => step === "commit") + 1;
  expect(commit).toBeGreaterThan(20);
  // The commit changes the tables; the journal of renames, itself a rename, changes the key.
  const journal = commit + 1 + steps.slice(commit).indexOf("rename");
  for (const [point, left] of [
    [Math.floor(commit / 2), "now then n"],
    [commit, "now then n"],
    [journal, "then n"],
    [journal + 1, "then k"],
  ] as const) {
    const { at, killed, state } = await restoredUpTo(point);
    expect([killed, await state()], `killed at ${point} of ${steps.join(", ")}`).toEqual([true, left]);
    if (left !== "then n") continue;
    await restore(at, file, { replace: true });
    expect(await state(), "restored once more").toBe("then k");
  }
});
