import { execFileSync } from "node:child_process";
import { appendFile, mkdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeTestFolder } from "../../test/support/test-folder.ts";
import { systemClock } from "../core/clock.ts";
import { createHookInbox, type HookInbox } from "./hook-inbox.ts";
import { parseInboxLine } from "./hook-reports.ts";

let folder: string;
let inbox: HookInbox | undefined;
beforeEach(async () => {
  folder = makeTestFolder("inbox");
});
afterEach(async () => {
  await inbox?.close();
  await rm(folder, { recursive: true });
});

function follow(): { readonly path: string; readonly lines: string[]; readonly inbox: HookInbox } {
  const path = join(folder, "inbox.jsonl");
  const lines: string[] = [];
  inbox = createHookInbox({
    path,
    clock: systemClock,
    onLine: async (line) => void lines.push(line),
    onError: (error) => {
      throw error;
    },
  });
  return { path, lines, inbox };
}

test("lines arrive soon after they are appended, also to a file that was not there", async () => {
  const { path, lines } = follow();
  await appendFile(path, '{"a":1}\n{"b":');
  await expect.poll(() => lines, { timeout: 1_000, interval: 5 }).toEqual(['{"a":1}']);
  await appendFile(path, '"ü"}\n');
  await expect.poll(() => lines, { timeout: 1_000, interval: 5 }).toEqual(['{"a":1}', '{"b":"ü"}']);
});

test("drain hands over everything that was there when it was called", async () => {
  await appendFile(
    join(folder, "inbox.jsonl"),
    Array.from({ length: 20_000 }, (_, index) => `{"line":${index}}\n`).join(""),
  );
  const { lines, inbox: opened } = follow();
  await opened.drain();
  expect(lines).toHaveLength(20_000);
  expect(lines.at(-1)).toBe('{"line":19999}');
});

test("a line that cannot be taken is reported, and those behind it arrive", async () => {
  const path = join(folder, "inbox.jsonl");
  await appendFile(path, "one\nbad\ntwo\n");
  const lines: string[] = [];
  const errors: unknown[] = [];
  inbox = createHookInbox({
    path,
    clock: systemClock,
    onLine: async (line) => {
      if (line === "bad") throw new Error("no store");
      lines.push(line);
    },
    onError: (error) => void errors.push(error),
  });
  await inbox.drain();
  await appendFile(path, "three\n");
  await inbox.drain();
  expect(lines).toEqual(["one", "two", "three"]);
  expect(errors).toEqual([new Error("no store")]);
});

test("a line beyond all bounds is passed over, and the next one is read", async () => {
  const { path, lines, inbox: opened } = follow();
  await appendFile(path, `${"x".repeat(9_000_000)}\n{"next":true}\n`);
  await opened.drain();
  expect(lines).toEqual(['{"next":true}']);
});

test("only a line of the hook script's form has a payload", () => {
  expect(parseInboxLine('{"at":1,"payload":{"hook_event_name":"Stop"}}')).toEqual({
    at: 1,
    payload: '{"hook_event_name":"Stop"}',
  });
  expect(parseInboxLine('{"at":1e300,"payload":"{}"}'), "a time that no date can be").toEqual({
    at: null,
    payload: "{}",
  });
  for (const line of ["", "{", "[]", "null", '{"at":1}', '"payload"']) expect(parseInboxLine(line), line).toBeNull();
});

test.for(["a link to a device", "a link to a file", "a pipe", "a folder"])(
  "%s in the inbox's place is not read",
  async (kind) => {
    const path = join(folder, "inbox.jsonl");
    const other = join(folder, "other.jsonl");
    await writeFile(other, '{"of":"another"}\n');
    if (kind === "a link to a device") await symlink("/dev/zero", path);
    else if (kind === "a link to a file") await symlink(other, path);
    else if (kind === "a pipe") execFileSync("mkfifo", [path]);
    else await mkdir(path);
    const { lines, inbox: followed } = follow();
    await followed.drain();
    expect(lines).toEqual([]);
    await followed.close();
  },
);

test("an inbox is read to its bound and no further", async () => {
  const path = join(folder, "inbox.jsonl");
  await writeFile(path, '{"a":1}\n');
  await truncate(path, 1024 ** 4);
  const errors: unknown[] = [];
  const lines: string[] = [];
  const deps = {
    path,
    clock: systemClock,
    maxBytes: 8 * 1024 * 1024,
    onLine: async (line: string) => void lines.push(line),
  };
  inbox = createHookInbox({ ...deps, onError: (error) => void errors.push(error) });
  await inbox.drain();
  await inbox.drain();
  expect(lines).toEqual(['{"a":1}']);
  expect(errors).toHaveLength(1);
});
