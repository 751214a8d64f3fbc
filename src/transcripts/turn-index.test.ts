import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { claudeFormat } from "../agents/claude-code/claude-format.ts";
import { codexFormat } from "../agents/codex/codex-format.ts";
import { geminiFormat } from "../agents/gemini-cli/gemini-format.ts";
import { savedIndexerSchema, type TurnIndexer } from "./turn-index.ts";

const readers = [
  ["claude", claudeFormat],
  ["gemini", geminiFormat],
] as const;
const folder = join(import.meta.dirname, "fixtures");

interface Line {
  readonly bytes: Buffer;
  readonly offset: number;
}

function linesOf(file: string): readonly Line[] {
  let offset = 0;
  return readFileSync(join(folder, file))
    .toString("latin1")
    .split("\n")
    .slice(0, -1)
    .map((text) => {
      const line = { bytes: Buffer.from(text, "latin1"), offset };
      offset += text.length + 1;
      return line;
    });
}

function read(indexer: TurnIndexer, lines: readonly Line[]): TurnIndexer {
  for (const { bytes, offset } of lines) indexer.line(bytes, offset);
  indexer.pause();
  return indexer;
}

function outcome({ turnsBefore, marks, facts }: TurnIndexer): unknown {
  return { turns: turnsBefore + marks.length, last: marks.at(-1), facts };
}

test.each(readdirSync(folder))("an indexer resumes from another one's state, at any line of %s", (file) => {
  const reader = readers.find(([format]) => file.startsWith(format))?.[1] ?? codexFormat;
  const lines = linesOf(file);
  const whole = outcome(read(reader.createIndexer(), lines));
  for (let at = 0; at <= lines.length; at += 1) {
    const saved = read(reader.createIndexer(), lines.slice(0, at)).save();
    const again = savedIndexerSchema.parse(JSON.parse(JSON.stringify(saved)));
    expect(outcome(read(reader.createIndexer(again), lines.slice(at)))).toEqual(whole);
  }
});
