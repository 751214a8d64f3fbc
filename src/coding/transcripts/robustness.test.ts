import { readdirSync, readFileSync } from "node:fs";
import { appendFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { makeTempFolder } from "../../../test/support/temp-folder.ts";
import { systemClock } from "../../core/clock.ts";
import { silentLog } from "../../core/log.ts";
import { createTranscripts, type TranscriptFormat } from "./index.ts";

const folder = join(import.meta.dirname, "fixtures");
const fixtures = readdirSync(folder).map((name) => ({
  name,
  format: formatOf(name),
  bytes: readFileSync(join(folder, name)),
}));
const all = { limit: 10_000 };

function formatOf(name: string): TranscriptFormat {
  return name.startsWith("claude") ? "claude" : "codex";
}

async function readWhole(path: string, format: TranscriptFormat) {
  const transcripts = createTranscripts({ clock: systemClock, log: silentLog });
  try {
    return await transcripts.read(path, format, all);
  } finally {
    await transcripts.close();
  }
}

/** Lines of a fixture in their order, with garbage and lines of other fixtures of the agent between them. */
function muddled(format: TranscriptFormat): fc.Arbitrary<Buffer> {
  const lines = fixtures.filter((fixture) => fixture.format === format).map(({ bytes }) => splitLines(bytes));
  const garbage = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.concat([bytes, Buffer.from("\n")])),
    fc.json({ maxDepth: 3 }).map((text) => Buffer.from(`${text.replaceAll("\n", " ")}\n`)),
    fc.constantFrom(...lines.flat()),
    fc
      .constantFrom(...lines.flat())
      .chain((line) => fc.nat(line.length - 1).map((at) => Buffer.concat([line.subarray(0, at), Buffer.from("\n")]))),
  );
  return fc
    .tuple(
      fc.constantFrom(...lines),
      fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), garbage), { maxLength: 12 }),
    )
    .map(([base, extras]) => {
      const mixed = [...base];
      for (const [at, extra] of extras) mixed.splice(Math.floor(at * mixed.length), 0, extra);
      return Buffer.concat(mixed);
    });
}

function splitLines(bytes: Buffer): Buffer[] {
  return bytes
    .toString("utf8")
    .split(/(?<=\n)/)
    .map((line) => Buffer.from(line));
}

describe.each(["claude", "codex"] as const)("a transcript of %s", (format) => {
  test("read in random pieces while it grows gives the same as read at once", async () => {
    const path = join(await makeTempFolder(), "t.jsonl");
    await fc.assert(
      fc.asyncProperty(
        muddled(format),
        fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(3)), { maxLength: 12 }),
        async (bytes, cuts) => {
          const transcripts = createTranscripts({ clock: systemClock, log: silentLog });
          await writeFile(path, "");
          let at = 0;
          for (const [where, reads] of cuts
            .map(([cut, n]) => [Math.floor(cut * bytes.length), n] as const)
            .toSorted(([a], [b]) => a - b)) {
            await appendFile(path, bytes.subarray(at, where));
            at = where;
            if (reads === 0) continue;
            if (reads === 1) await transcripts.summary(path, format);
            else await transcripts.read(path, format, { limit: reads === 2 ? 2 : 1_000 });
          }
          await appendFile(path, bytes.subarray(at));
          const grown = await transcripts.read(path, format, all);
          await transcripts.close();
          expect(grown).toEqual(await readWhole(path, format));
        },
      ),
      { numRuns: 150 },
    );
  });

  test("with bytes changed at random is read to the end, whatever they say now", async () => {
    const path = join(await makeTempFolder(), "t.jsonl");
    const change = fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.uint8Array({ maxLength: 4 }), fc.nat(4));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...fixtures.filter((fixture) => fixture.format === format)),
        fc.array(change, { minLength: 1, maxLength: 30 }),
        async ({ bytes }, changes) => {
          let mutated = bytes;
          for (const [where, put, drop] of changes) {
            const at = Math.floor(where * mutated.length);
            mutated = Buffer.concat([mutated.subarray(0, at), put, mutated.subarray(at + drop)]);
          }
          await writeFile(path, Buffer.concat([mutated, Buffer.from("\n")]));
          const read = await readWhole(path, format);
          expect(read?.turns.map((turn) => turn.index)).toEqual(
            Array.from({ length: read?.summary.turnCount ?? -1 }, (_, n) => n),
          );
          expect(read?.summary.skippedLines).toBeLessThanOrEqual(splitLines(mutated).length + 120);
        },
      ),
      { numRuns: 300 },
    );
  });
});

test("a file of the other agent is read without a throw", async () => {
  for (const { name, format } of fixtures) {
    const read = await readWhole(join(folder, name), format === "claude" ? "codex" : "claude");
    expect(read?.summary.skippedLines).toBe(0);
  }
});
