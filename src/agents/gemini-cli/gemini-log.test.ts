import { mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { movedTo, typedLog } from "./gemini-log.ts";

const first = "11112222-3333-4444-8555-666677778888";
const second = "be596b4b-3333-4444-8555-666677778888";
const third = "cccccccc-3333-4444-8555-666677778888";
const start = Date.parse("2026-11-22T07:00:00.000Z");

function at(seconds: number): string {
  return new Date(start + seconds * 1_000).toISOString();
}

async function makeProject(
  typed: readonly (readonly [message: string, seconds: number, sessionId?: string])[],
  sessions: Readonly<Record<string, { readonly from: number; readonly said: readonly (readonly [string, number])[] }>>,
): Promise<string> {
  const project = await makeTempFolder();
  const entries = typed.map(([message, seconds, sessionId = first], messageId) => {
    return { sessionId, messageId, type: "user", message, timestamp: at(seconds) };
  });
  await writeFile(join(project, typedLog), JSON.stringify(entries, null, 2));
  await mkdir(join(project, "chats"));
  for (const [sessionId, { from, said }] of Object.entries(sessions)) {
    const lines = [
      { sessionId, projectHash: "0", startTime: at(from), kind: "main" },
      ...said.map(([text, seconds]) => ({ id: "0", timestamp: at(seconds), type: "user", content: [{ text }] })),
    ];
    const path = join(project, "chats", `session-2026-11-22T07-00-${sessionId.slice(0, 8)}.jsonl`);
    await writeFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    const modified = (start + (said.at(-1)?.[1] ?? from) * 1_000) / 1_000;
    await utimes(path, modified, modified);
  }
  return project;
}

const now = start + 61_000;
const one = { firstId: first, startedAt: start };
const stays = { from: 0, said: [["hello", 1]] } as const;

test("a process stays in the session that received its input, whatever commands followed", async () => {
  const project = await makeProject(
    [
      ["hello", 1],
      ["/model", 2],
      ["!ls", 3],
    ],
    { [first]: stays },
  );
  expect(movedTo(project, one, now)).toEqual({ sessionId: first });
});

test("after /clear it is in the session that started then, unless two did", async () => {
  const begun = { from: 20.4, said: [] };
  const typed = [
    ["hello", 1],
    ["/clear", 20],
    ["/help", 21],
  ] as const;
  const project = await makeProject(typed, { [first]: stays, [second]: begun });
  expect(movedTo(project, one, now)).toEqual({ sessionId: second });
  const crowded = await makeProject(typed, { [first]: stays, [second]: begun, [third]: begun });
  expect(movedTo(crowded, one, now)).toBeNull();
});

test("a prompt identifies its session, if its process has its own first id, and `soon` until it is written", async () => {
  const older = {
    from: -3_600,
    said: [
      ["long ago", -3_600],
      ["go on", 60.2],
    ],
  } as const;
  const typed = [
    ["hello", 1],
    ["/resume", 50],
    ["go on", 60],
    ["go on", 60, second],
  ] as const;
  const project = await makeProject(typed, { [first]: stays, [third]: older });
  expect(movedTo(project, one, now)).toEqual({ sessionId: third });
  const unwritten = await makeProject(typed, { [first]: stays });
  expect(movedTo(unwritten, one, now)).toBe("soon");
  expect(movedTo(unwritten, one, now + 60_000)).toBeNull();
});

test("two sessions with the same prompt at the same time cannot be distinguished", async () => {
  const continued = (from: number) => ({ from, said: [["continue", 60.2]] }) as const;
  const typed = [
    ["continue", 60],
    ["continue", 60, second],
  ] as const;
  const project = await makeProject(typed, { [second]: continued(1), [third]: continued(-3_600) });
  expect(movedTo(project, one, now)).toBe("soon");
  expect(movedTo(project, one, now + 60_000)).toBeNull();
});

test("a prompt to an earlier process of the same session is ignored", async () => {
  const project = await makeProject([["/clear", 20]], { [first]: stays, [second]: { from: 20.4, said: [] } });
  expect(movedTo(project, one, now)).toEqual({ sessionId: second });
  expect(movedTo(project, { ...one, startedAt: start + 30_000 }, now)).toBeNull();
});

test("the end of a long log is read; without a log there is no result", async () => {
  const long = Array.from({ length: 500 }, (_, index) => [`${index} ${"x".repeat(500)}`, 0] as const);
  const project = await makeProject([...long, ["hello", 1]], { [first]: stays });
  expect(movedTo(project, one, now)).toEqual({ sessionId: first });
  expect(movedTo(join(project, "none"), one, now)).toBeNull();
});
