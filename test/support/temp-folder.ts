import { rm } from "node:fs/promises";
import { onTestFinished } from "vitest";
import { makeTestFolder } from "./test-folder.ts";

/** A new empty folder, by its real path, removed when the running test ends. */
export async function makeTempFolder(): Promise<string> {
  const folder = makeTestFolder("test");
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
