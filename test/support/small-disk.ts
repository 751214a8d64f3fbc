import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { makeTestFolder } from "./test-folder.ts";

/** Whether this user may mount a small disk of memory. */
export function mayMount(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const folder = makeTestFolder("probe");
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Mounts a disk of this size at `folder` for the running test. */
export function mountSmallDisk(folder: string, size: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size},mode=700`, "tmpfs", folder]);
  onTestFinished(() => void execFileSync("umount", ["--lazy", folder]));
}

/** Fills the disk to its last byte. @returns makes room again */
export async function fillDisk(disk: string): Promise<() => Promise<void>> {
  const filler = join(disk, "filler");
  await writeFile(filler, Buffer.alloc(64 * 1024 * 1024)).catch(() => undefined); // ends where the disk does
  return () => rm(filler);
}
