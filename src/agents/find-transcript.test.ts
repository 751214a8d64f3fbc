import { mkdir, symlink, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { newUuid } from "../core/ids.ts";
import { findInDayFolders, findInProjectFolders } from "./find-transcript.ts";

async function put(...segments: readonly string[]): Promise<string> {
  const path = join(...segments);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, "");
  return path;
}

test("a transcript of Claude Code is found by its name in any project", async () => {
  const root = await makeTempFolder();
  const id = newUuid();
  for (let project = 0; project < 150; project += 1) await put(root, `project-${project}`, `${newUuid()}.jsonl`);
  const path = await put(root, "project-77", `${id}.jsonl`);
  await writeFile(join(root, "a-file"), "");
  expect(await findInProjectFolders(root, id)).toBe(path);
  expect(await findInProjectFolders(root, newUuid())).toBeNull();
  expect(await findInProjectFolders(join(root, "nowhere"), id)).toBeNull();
});

test("the newest part of a rollout is found", async () => {
  const root = await makeTempFolder();
  const [id, part, later] = [newUuid(), newUuid(), newUuid()];
  const day = [root, "2026", "11", "21"] as const;
  await put(...day, `rollout-2026-11-21T10-00-00-${id}.jsonl`);
  await put(...day, `rollout-2026-11-21T10-00-01-${id}_${part}.jsonl.zst`);
  const newest = await put(...day, `rollout-2026-11-21T10-00-01-${id}_${part}.jsonl`);
  expect(await findInDayFolders(root, id)).toBe(newest);
  expect(await findInDayFolders(root, part)).toBeNull();
  const nextDay = await put(root, "2026", "11", "22", `rollout-2026-11-22T00-00-00-${id}_${later}.jsonl`);
  expect(await findInDayFolders(root, id)).toBe(nextDay);
});

test("of two files of one session the one written last is used", async () => {
  const root = await makeTempFolder();
  const id = newUuid();
  const [older, newer] = [await put(root, "z-copy", `${id}.jsonl`), await put(root, "a-original", `${id}.jsonl`)];
  await utimes(older, new Date(1_000), new Date(1_000));
  expect(await findInProjectFolders(root, id)).toBe(newer);
});

test("a transcript of Codex is found by the id in its name, packed or not, however old", async () => {
  const root = await makeTempFolder();
  const [old, packed] = [newUuid(), newUuid()];
  const first = await put(root, "2024", "01", "31", `rollout-2024-01-31T10-00-00-${old}.jsonl`);
  const second = await put(root, "2026", "11", "21", `rollout-2026-11-21T10-00-00-${packed}.jsonl.zst`);
  await put(root, "2026", "11", "21", `rollout-2026-11-21T10-00-01-${newUuid()}.jsonl`);
  await put(root, "2026", "11", "notes.txt");
  expect(await findInDayFolders(root, old)).toBe(first);
  expect(await findInDayFolders(root, packed)).toBe(second);
  expect(await findInDayFolders(root, newUuid())).toBeNull();
});

test("an id that is not a UUID, or only the end of one, finds nothing", async () => {
  const root = await makeTempFolder();
  const id = newUuid();
  await put(root, "secret.jsonl");
  await put(root, "project", `${id}.jsonl`);
  await put(root, "2026", "01", "01", `rollout-x-${id}.jsonl`);
  for (const trick of ["../secret", "", "*", id.slice(1), `${id}/../${id}`, `${id}\0`]) {
    expect(await findInProjectFolders(root, trick)).toBeNull();
    expect(await findInDayFolders(root, trick)).toBeNull();
  }
});

test("a folder or a broken link with the name of a transcript is not found", async () => {
  const root = await makeTempFolder();
  const id = newUuid();
  await mkdir(join(root, "one", `${id}.jsonl`), { recursive: true });
  await mkdir(join(root, "two"));
  await symlink(join(root, "nowhere"), join(root, "two", `${id}.jsonl`));
  expect(await findInProjectFolders(root, id)).toBeNull();
});
