import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createOpenCodeDatabase, recordedEvents, recordedSession } from "../../test/support/opencode-database.ts";
import { makeTempFolder } from "../../test/support/temp-folder.ts";
import { openEventSource } from "../agents/opencode/opencode-database.ts";
import { type FormatName, transcriptFormats } from "../agents/transcript-formats.ts";
import { systemClock } from "../core/clock.ts";
import { silentLog } from "../core/log.ts";
import { createTranscripts } from "../transcripts/index.ts";
import { looksLikeObject } from "../transcripts/json-peek.ts";
import type { TurnIndexer } from "../transcripts/turn-index.ts";
import { type CollectorState, createTextCollector, maxTurnTextCharacters, type TurnText } from "./turn-collector.ts";

const formats = ["claude", "codex", "gemini"] as const;
const folder = join(import.meta.dirname, "../transcripts/fixtures");
const fixtures = readdirSync(folder).map((name) => ({
  name,
  format: formats.find((format) => name.startsWith(format)) ?? ("codex" as const),
  lines: readFileSync(join(folder, name), "utf8").split(/(?<=\n)/),
}));

/** The file that Gemini CLI leaves next to a resumed session has no turns. */
const isEmpty = (name: string): boolean => name.includes("left-by-resumes");

/** The text of each turn by index, joined from its pieces. */
function textsOf(pieces: readonly TurnText[]): readonly string[] {
  const turns: string[][] = [];
  for (const { turnIndex, text, restarts } of pieces) {
    if (restarts === true) turns.splice(turnIndex);
    if (text !== "") (turns[turnIndex] ??= []).push(text);
  }
  return Array.from(turns, (texts) => (texts ?? []).join("\n\n"));
}

/** Scans the lines, taking the collected text and continuing with a new collector at `pauses`. */
function collect(
  format: FormatName,
  lines: readonly string[],
  pauses: (line: number) => "take" | "go_on_later" | "no" = () => "no",
): readonly TurnText[] {
  const indexer: TurnIndexer = transcriptFormats[format].createIndexer();
  let collector = createTextCollector(transcriptFormats[format].readText);
  const pieces: TurnText[] = [];
  let offset = 0;
  for (const [number, text] of lines.entries()) {
    if (!text.endsWith("\n")) break;
    const bytes = Buffer.from(text.slice(0, -1));
    if (bytes.length > 1 && looksLikeObject(bytes) && indexer.line(bytes, offset)) {
      const mark = indexer.marks.at(-1);
      collector.line(bytes, mark === undefined ? null : { index: indexer.marks.length - 1, mark });
    }
    offset += bytes.length + 1;
    const pause = pauses(number);
    if (pause === "no") continue;
    indexer.pause();
    pieces.push(...collector.take());
    if (pause === "take") continue;
    const state: CollectorState = JSON.parse(JSON.stringify(collector.state()));
    collector = createTextCollector(transcriptFormats[format].readText, state);
  }
  return [...pieces, ...collector.take()];
}

async function readTexts(format: FormatName, lines: readonly string[]): Promise<readonly string[]> {
  const path = join(await makeTempFolder(), "t.jsonl");
  await writeFile(path, lines.join(""));
  return textsAt(path, format);
}

async function textsAt(path: string, format: FormatName): Promise<readonly string[]> {
  const transcripts = createTranscripts({ formats: transcriptFormats, clock: systemClock, log: silentLog });
  const read = await transcripts.read(path, format, { limit: 10_000 });
  await transcripts.close();
  const texts = (read?.turns ?? []).map(({ text }) => text);
  while (texts.at(-1) === "") texts.pop();
  return texts;
}

describe("the collected text of each turn is the text of the turn as it is read", () => {
  test.each(fixtures)("$name", async ({ name, format, lines }) => {
    const expected = await readTexts(format, lines);
    if (!isEmpty(name)) expect(expected.length).toBeGreaterThan(0);
    expect(textsOf(collect(format, lines))).toEqual(expected);
    expect(textsOf(collect(format, lines, () => "take"))).toEqual(expected);
    expect(textsOf(collect(format, lines, () => "go_on_later"))).toEqual(expected);
  });

  test("of a session of OpenCode", async () => {
    const database = createOpenCodeDatabase(await makeTempFolder());
    onTestFinished(() => database.close());
    database.append(recordedSession, recordedEvents);
    const path = join(database.path, recordedSession);
    const lines: string[] = [];
    const source = await openEventSource(path);
    const none = (): void => undefined;
    const line = (bytes: Buffer): void => void lines.push(`${bytes.toString()}\n`);
    await source?.lines({ offset: 0, insideTooLong: false }, null, { line, skipped: none, pause: none });
    await source?.close();
    const expected = await textsAt(path, "opencode");
    expect(expected.length).toBeGreaterThan(10);
    expect(textsOf(collect("opencode", lines))).toEqual(expected);
    expect(textsOf(collect("opencode", lines, () => "go_on_later"))).toEqual(expected);
  });

  test.each(formats)("%s: also for files combined from lines of all versions", async (format) => {
    const all = fixtures.filter((fixture) => fixture.format === format).map(({ lines }) => lines);
    const oneLine = fc.oneof(
      fc.constantFrom(...all.flat()),
      fc.json().map((json) => `${json.replaceAll("\n", " ")}\n`),
    );
    const files = fc
      .tuple(fc.constantFrom(...all), fc.array(fc.tuple(fc.nat(200), oneLine), { maxLength: 15 }))
      .map(([base, extras]) => {
        const mixed = [...base];
        for (const [at, line] of extras) mixed.splice(at % mixed.length, 0, line);
        return mixed;
      });
    const pauses = fc.infiniteStream(fc.constantFrom("no", "no", "take", "go_on_later")).map((stream) => {
      const answers: ("take" | "go_on_later" | "no")[] = [];
      return (line: number): "take" | "go_on_later" | "no" => {
        while (answers.length <= line) answers.push(oneOf(stream.next().value));
        return answers[line] ?? "no";
      };
    });
    await fc.assert(
      fc.asyncProperty(files, pauses, async (lines, pause) => {
        const expected = await readTexts(format, lines);
        expect(textsOf(collect(format, lines))).toEqual(expected);
        const repeated = new Set(lines).size < lines.length;
        if (!repeated) expect(textsOf(collect(format, lines, pause))).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });
});

function oneOf(value: unknown): "take" | "go_on_later" | "no" {
  return value === "take" || value === "go_on_later" ? value : "no";
}

test("text from Codex's older message form is discarded once a newer form repeats it", () => {
  const item = (role: string, text: string) =>
    `${JSON.stringify({ type: "response_item", payload: { type: "message", role, content: [{ type: "text", text }] } })}\n`;
  const event = (type: string, message: string) =>
    `${JSON.stringify({ type: "event_msg", payload: { type, message } })}\n`;
  const lines = [
    item("user", "go"),
    item("assistant", "old"),
    event("agent_message", "new"),
    event("agent_message", "more"),
  ];
  expect(textsOf(collect("codex", lines))).toEqual(["go", "new\n\nmore"]);
  expect(textsOf(collect("codex", lines, () => "take"))).toEqual(["go", "new\n\nmore"]);
  expect(textsOf(collect("codex", lines, () => "go_on_later"))).toEqual(["go", "new\n\nmore"]);
});

test("another Codex thread's thinking does not remove an answer that precedes the session's own id", async () => {
  const line = (type: string, payload: object) => `${JSON.stringify({ type, payload })}\n`;
  const message = (role: string, text: string) =>
    line("response_item", { type: "message", role, content: [{ type: "text", text }] });
  const item = { type: "Reasoning", id: "rs_1", summary_text: ["elsewhere"], raw_content: [] };
  const lines = [
    message("assistant", "before all"),
    line("session_meta", { id: "own" }),
    message("user", "go"),
    line("event_msg", { type: "item_completed", thread_id: "other", item }),
    line("event_msg", { type: "user_message", message: "go" }),
  ];
  expect(await readTexts("codex", lines)).toEqual(["before all", "go"]);
  expect(textsOf(collect("codex", lines))).toEqual(["before all", "go"]);
});

test("truncates a long text and a long turn", () => {
  const prompt = (text: string) => `${JSON.stringify({ type: "user", message: { role: "user", content: text } })}\n`;
  const answer = (text: string) =>
    `${JSON.stringify({ type: "assistant", message: { role: "assistant", content: [{ type: "text", text }] } })}\n`;
  const part = "x".repeat(100_000);
  const lines = [prompt("y".repeat(400_000)), answer(part), answer(part), answer(part), answer(part), prompt("end")];
  const texts = textsOf(collect("claude", lines));
  expect(texts.map((text) => text.length)).toEqual([maxTurnTextCharacters, maxTurnTextCharacters + 4, 3]);
});

test("does not parse lines without content", () => {
  const call = { type: "tool_use", id: "c", name: "Bash", input: { command: "ls" } };
  const good = JSON.stringify({ type: "assistant", message: { role: "assistant", content: [call] } });
  const broken = `${good.slice(0, -3)}oops}}`;
  const collector = createTextCollector(transcriptFormats.claude.readText);
  const mark = { role: "assistant", start: 0, firstLineBytes: 1 } as const;
  expect(() => collector.line(Buffer.from(broken), { index: 0, mark })).not.toThrow();
  expect(collector.take()).toEqual([]);
});
