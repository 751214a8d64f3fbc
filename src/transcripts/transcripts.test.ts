import { execFileSync } from "node:child_process";
import { appendFile, copyFile, mkdir, readFile, rename, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { outline } from "../../test/support/turn-outline.ts";
import { transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import type { Transcripts } from "./transcripts.ts";
import { createTranscripts } from "./transcripts.ts";

let path: string;
let transcripts: Transcripts;

beforeEach(async () => {
  path = join(await makeTempFolder(), "transcript.jsonl");
  transcripts = open();
});

function open(maxOpen = 64): Transcripts {
  const opened = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog, maxOpen });
  onTestFinished(() => opened.close());
  return opened;
}

const fixture = (name: string): string => join(import.meta.dirname, "fixtures", `${name}.jsonl`);
const line = (value: object): string => `${JSON.stringify(value)}\n`;

function prompt(text: string): string {
  return line({
    parentUuid: null,
    isSidechain: false,
    type: "user",
    message: { role: "user", content: text },
    uuid: text,
  });
}

function answer(block: object, more: { readonly stop?: string | null; readonly id?: string } = {}): string {
  const message = {
    id: more.id ?? "m",
    role: "assistant",
    model: "claude",
    content: [block],
    stop_reason: more.stop ?? null,
  };
  return line({ parentUuid: null, isSidechain: false, message, type: "assistant" });
}

function result(id: string, text: string): string {
  const content = [{ tool_use_id: id, type: "tool_result", content: text }];
  return line({ parentUuid: null, isSidechain: false, type: "user", message: { role: "user", content } });
}

const say = (text: string): string => answer({ type: "text", text }, { stop: "end_turn", id: text });
const call = (id: string, input: unknown = {}): string =>
  answer({ type: "tool_use", id, name: "Bash", input }, { stop: "tool_use", id });

async function told(
  range: { readonly after?: number; readonly before?: number; readonly limit: number } = { limit: 100 },
): Promise<string[]> {
  return outline((await transcripts.read(path, "claude", range))?.turns ?? []);
}

async function skipped(): Promise<number | undefined> {
  return (await transcripts.read(path, "claude", { limit: 100 }))?.summary.skippedLines;
}

describe("which turns are returned", () => {
  beforeEach(() => writeFile(path, [1, 2, 3].map((n) => prompt(`p${n}`) + say(`a${n}`)).join("")));

  test("the newest of the rest, in ascending order", async () => {
    expect(await told({ limit: 3 })).toEqual(["assistant: a2", "user: p3", "assistant: a3"]);
    expect(await told({ after: 3, limit: 10 })).toEqual(["user: p3", "assistant: a3"]);
    expect(await told({ after: 0, limit: 1 })).toEqual(["assistant: a3"]);
    expect(await told({ after: 5, limit: 10 })).toEqual([]);
    expect(await told({ after: 99, limit: 10 })).toEqual([]);
    expect(await told({ limit: 0 })).toEqual([]);
    expect(await told({ before: 3, limit: 2 })).toEqual(["assistant: a1", "user: p2"]);
    expect(await told({ before: 3, after: 0, limit: 10 })).toEqual(["assistant: a1", "user: p2"]);
    expect(await told({ before: 0, limit: 10 })).toEqual([]);
    expect(await told({ before: 99, limit: 1 })).toEqual(["assistant: a3"]);
  });

  test("keep their index", async () => {
    const before = await transcripts.read(path, "claude", { limit: 2 });
    await appendFile(path, prompt("p4"));
    const after = await transcripts.read(path, "claude", { limit: 3 });
    expect(after?.turns.map((turn) => turn.index)).toEqual([4, 5, 6]);
    expect(after?.turns.slice(0, 2)).toEqual(before?.turns);
  });
});

describe("a transcript that grows", () => {
  test("returns the last turn again when it has grown", async () => {
    await writeFile(path, prompt("go") + call("c1"));
    expect(await told()).toEqual(["user: go", "assistant: Bash open"]);
    await appendFile(path, result("c1", "done"));
    expect(await told({ after: 0, limit: 10 })).toEqual(['assistant: Bash ok "done"']);
    await appendFile(path, say("ready"));
    expect(await told({ after: 0, limit: 10 })).toEqual(['assistant: Bash ok "done" | ready']);
    expect((await transcripts.summary(path, "claude"))?.lastTurn).toEqual({ kind: "ended" });
  });

  test("holds a line back until its newline is written", async () => {
    await writeFile(path, prompt("one"));
    const next = prompt("two 😀");
    for (const byte of Buffer.from(next.slice(0, -1))) await appendFile(path, Buffer.of(byte));
    expect(await told()).toEqual(["user: one"]);
    await appendFile(path, "\n");
    expect(await told()).toEqual(["user: one", "user: two 😀"]);
    expect(await skipped()).toBe(0);
  });

  test("is read again when it shrank, was replaced, or was rewritten in place", async () => {
    await writeFile(path, prompt("first") + say("long answer"));
    expect(await told()).toHaveLength(2);
    await truncate(path, prompt("first").length);
    expect(await told()).toEqual(["user: first"]);
    await writeFile(`${path}.new`, prompt("other") + prompt("more"));
    await rename(`${path}.new`, path);
    expect(await told()).toEqual(["user: other", "user: more"]);
    await writeFile(path, prompt("third") + prompt("again") + say("and longer than before"));
    expect(await told()).toEqual(["user: third", "user: again", "assistant: and longer than before"]);
  });

  test("shows everything written before the call, with many concurrent readers", async () => {
    await writeFile(path, "");
    for (let n = 0; n < 20; n++) {
      const early = transcripts.summary(path, "claude");
      await appendFile(path, prompt(`p${n}`));
      const counts = await Promise.all([1, 2, 3].map(() => transcripts.summary(path, "claude")));
      expect(counts.map((summary) => summary?.turnCount)).toEqual([n + 1, n + 1, n + 1]);
      await early;
    }
  });

  test("keeps its turn numbers when its index was dropped to free memory", async () => {
    transcripts = open(1);
    await writeFile(path, prompt("one") + say("1"));
    const before = await transcripts.read(path, "claude", { limit: 10 });
    await copyFile(fixture("claude-2.1.329-tools"), `${path}.other`);
    await transcripts.read(`${path}.other`, "claude", { limit: 10 });
    expect(await transcripts.read(path, "claude", { limit: 10 })).toEqual(before);
  });
});

describe("a damaged transcript", () => {
  test("that is missing, a folder or a pipe gives null", async () => {
    expect(await transcripts.read(path, "claude", { limit: 1 })).toBeNull();
    expect(await transcripts.summary(`${path}/below`, "codex")).toBeNull();
    await mkdir(path);
    expect(await transcripts.summary(path, "claude")).toBeNull();
    execFileSync("mkfifo", [`${path}.pipe`]);
    expect(await transcripts.summary(`${path}.pipe`, "claude")).toBeNull();
  });

  test("that is empty has no turns", async () => {
    await writeFile(path, "");
    expect(await transcripts.read(path, "claude", { limit: 1 })).toMatchObject({
      summary: { turnCount: 0, lastTurn: { kind: "none" }, title: null, sizeBytes: 0, skippedLines: 0 },
      turns: [],
    });
  });

  test("with garbage, NULs, invalid UTF-8 and cut lines skips and counts them", async () => {
    const torn = say("never").slice(0, 40);
    const badText = Buffer.from(say("xx"));
    badText[badText.indexOf("xx")] = 0xff;
    const inside = say("good").replace('"content"', '"content" oops');
    await writeFile(
      path,
      Buffer.concat([
        Buffer.from("garbage\n"),
        Buffer.from(prompt("one")),
        Buffer.alloc(5_000),
        Buffer.from(`\n${torn}\n[1]\n"text"\n{}\n\n`),
        Buffer.from(say("fine")),
        badText,
        Buffer.from(inside),
        Buffer.from("{\u0000}\n"),
      ]),
    );
    expect(await told()).toEqual(["user: one", "assistant: fine"]);
    expect(await skipped()).toBe(8);
    expect(await skipped()).toBe(8);
  });

  test("with a line over 32 MB skips it and continues, also when the line arrives in parts", async () => {
    await writeFile(path, prompt("one"));
    const part = "x".repeat(8 * 1024 * 1024);
    await appendFile(path, `{"type":"user","message":{"role":"user","content":"`);
    for (let n = 0; n < 5; n++) {
      await appendFile(path, part);
      expect(await told()).toEqual(["user: one"]);
    }
    await appendFile(path, `"}}\n${prompt("two")}`);
    expect(await told()).toEqual(["user: one", "user: two"]);
    expect(await skipped()).toBe(1);
    await transcripts.close();
    transcripts = open();
    expect(await told()).toEqual(["user: one", "user: two"]);
    expect(await skipped()).toBe(1);
  });

  test("with a line of 20 MB is still read", async () => {
    await writeFile(path, prompt("one") + call("c") + result("c", "y".repeat(20 * 1024 * 1024)) + say("ok"));
    const read = await transcripts.read(path, "claude", { limit: 10 });
    expect(read?.turns[1]?.blocks).toMatchObject([
      { result: { ok: true, text: "y".repeat(30_000), truncated: true } },
      { text: "ok" },
    ]);
  });

  test("with input nested a hundred thousand deep stays readable", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    await writeFile(path, prompt("one") + call("c", "DEEP").replace('"DEEP"', deep));
    const read = await transcripts.read(path, "claude", { limit: 10 });
    expect(JSON.stringify(read?.turns[1]).length).toBeLessThan(2_000);
  });
});

describe("long content", () => {
  test("cuts a tool result at 30,000 characters, never through a surrogate pair", async () => {
    await writeFile(
      path,
      prompt("one") + call("c") + result("c", `${"a".repeat(29_999)}😀`) + call("d") + result("d", "a".repeat(30_000)),
    );
    const blocks = (await transcripts.read(path, "claude", { limit: 10 }))?.turns[1]?.blocks;
    expect(blocks).toMatchObject([
      { result: { text: "a".repeat(29_999), truncated: true } },
      { result: { text: "a".repeat(30_000), truncated: false } },
    ]);
  });

  test("keeps a prompt of a megabyte byte for byte", async () => {
    const text = 'tab\t "quote" \\ 😀 \u001b[31m\n'.repeat(40_000);
    await writeFile(path, prompt(text) + say("ok"));
    expect((await transcripts.read(path, "claude", { limit: 10 }))?.turns[0]?.text).toBe(text);
  });

  test("makes a title of the first line of the first message", async () => {
    await writeFile(path, prompt(`\n# first\tline \u001b[0m ${"ä".repeat(300)}\nsecond`));
    const title = (await transcripts.summary(path, "claude"))?.title;
    expect(title).toMatch(/^first line \[0m ä+…$/);
    expect(title).toHaveLength(100);
  });

  test("returns a turn of thousands of long results within bounds", async () => {
    const pairs = Array.from({ length: 1_000 }, (_, n) => call(`c${n}`) + result(`c${n}`, "z".repeat(25_000)));
    await writeFile(path, prompt("one") + pairs.join("") + say("end"));
    const turn = (await transcripts.read(path, "claude", { limit: 10 }))?.turns[1];
    expect(turn?.blocks).toHaveLength(1_001);
    expect(turn?.text).toBe("end");
    expect(JSON.stringify(turn).length).toBeLessThan(10_000_000);
  });
});

describe("a compressed rollout", () => {
  test("reads the same as the plain one", async () => {
    const plain = await transcripts.read(fixture("codex-0.169.0-code-mode"), "codex", { limit: 100 });
    await writeFile(`${path}.zst`, zstdCompressSync(await readFile(fixture("codex-0.169.0-code-mode"))));
    const packed = await transcripts.read(`${path}.zst`, "codex", { limit: 100 });
    expect(packed?.turns).toEqual(plain?.turns);
    expect(packed?.summary.turnCount).toBe(10);
    expect(await transcripts.read(`${path}.zst`, "codex", { limit: 3 })).toMatchObject({
      turns: plain?.turns.slice(-3),
    });
  });

  test("that is cut or damaged gives the turns before the damage and counts it", async () => {
    const lines = Array.from({ length: 20_000 }, (_, n) => prompt(`p${n} ${Math.sin(n)}`)).join("");
    const packed = zstdCompressSync(Buffer.from(lines));
    await writeFile(`${path}.zst`, packed.subarray(0, packed.length / 2));
    const read = await transcripts.read(`${path}.zst`, "claude", { limit: 1 });
    expect(read?.summary.turnCount).toBeGreaterThan(100);
    expect(read?.summary.turnCount).toBeLessThan(20_000);
    expect(read?.summary.skippedLines).toBe(1);
    await writeFile(`${path}.zst`, "no archive at all");
    expect((await transcripts.read(`${path}.zst`, "claude", { limit: 1 }))?.turns).toEqual([]);
  });
});
