import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { FormatName } from "../../src/agents/transcript-formats.ts";

/** A real transcript. */
export interface Fixture {
  readonly name: string;
  readonly format: FormatName;
  readonly bytes: Buffer;
}

const folder = join(import.meta.dirname, "../../src/transcripts/fixtures");

/** All real transcripts that the tests have. */
export const fixtures: readonly Fixture[] = readdirSync(folder).map((name) => ({
  name,
  format: formatOf(name),
  bytes: readFileSync(join(folder, name)),
}));

function formatOf(name: string): FormatName {
  if (name.startsWith("gemini")) return "gemini";
  return name.startsWith("claude") ? "claude" : "codex";
}

/** A place in something, as a part of its length. Not `fc.double`: most of its values lie next to zero. */
const place = fc.nat(999_999).map((millionths) => millionths / 1_000_000);
const newline = Buffer.from("\n");

/** The lines with their newlines. */
export function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0x0a, at);
    const next = end < 0 ? bytes.length : end + 1;
    lines.push(bytes.subarray(at, next));
    at = next;
  }
  return lines;
}

function fixturesOf(format: FormatName): fc.Arbitrary<Fixture> {
  return fc.constantFrom(...fixtures.filter((fixture) => fixture.format === format));
}

/** Lines of a fixture in their order, with garbage and lines of other fixtures of the agent between them. */
export function muddled(format: FormatName): fc.Arbitrary<Buffer> {
  const lines = fixtures.filter((fixture) => fixture.format === format).map(({ bytes }) => splitLines(bytes));
  const any = fc.constantFrom(...lines.flat());
  const garbage = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.concat([bytes, newline])),
    fc.json({ maxDepth: 3 }).map((text) => Buffer.from(`${text.replaceAll("\n", " ")}\n`)),
    any,
    fc.tuple(any, place).map(([line, at]) => Buffer.concat([line.subarray(0, Math.floor(at * line.length)), newline])),
    madeUpLine(format),
  );
  return fc
    .tuple(fc.constantFrom(...lines), fc.array(fc.tuple(place, garbage), { maxLength: 12 }))
    .map(([base, extras]) => {
      const mixed = [...base];
      for (const [at, extra] of extras) mixed.splice(Math.floor(at * mixed.length), 0, extra);
      return Buffer.concat(mixed);
    });
}

/** A change of a file. */
type Mutation = (bytes: Buffer) => Buffer;

const cutOf = (bytes: Buffer, at: number, length: number): Buffer => {
  const start = Math.floor(at * bytes.length);
  return bytes.subarray(start, start + length);
};

const put = (bytes: Buffer, at: number, what: Uint8Array): Buffer => {
  const start = Math.floor(at * bytes.length);
  return Buffer.concat([bytes.subarray(0, start), what, bytes.subarray(start)]);
};

/** Bytes that are hard to read. */
const nasty: readonly Buffer[] = [
  ...["\u0000".repeat(40), "\ufeff", "\r", "\r\n", "\u2028", "{", "}", '"', "\\", '"}', ",,", "\\ud800", "\\u0000"],
  ...[
    '"type":"user",',
    '"__proto__":{"type":"user"},',
    '"constructor":{"prototype":1},',
    "1e999",
    "-1e999",
    "0".repeat(400),
  ],
  ...["9".repeat(400), "[".repeat(3_000), `${'{"a":'.repeat(3_000)}1${"}".repeat(3_000)}`, "\n\n\n", "null", "NaN"],
]
  .map((text) => Buffer.from(text))
  .concat([
    Buffer.from([0xff, 0xfe]),
    Buffer.from([0xc0, 0xaf]),
    Buffer.from([0xed, 0xa0, 0x80]),
    Buffer.from([0xf0, 0x9f]),
  ]);

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.tuple(place, fc.nat(7)).map(
    ([at, bit]): Mutation =>
      (bytes) => {
        const flipped = Buffer.from(bytes);
        const index = Math.floor(at * bytes.length);
        flipped.writeUInt8((flipped[index] ?? 0) ^ (1 << bit), index);
        return flipped;
      },
  ),
  fc.tuple(place, fc.nat(300)).map(
    ([at, length]): Mutation =>
      (bytes) => {
        const start = Math.floor(at * bytes.length);
        return Buffer.concat([bytes.subarray(0, start), bytes.subarray(start + length)]);
      },
  ),
  fc.tuple(place, place, fc.nat(2_000)).map(
    ([from, to, length]): Mutation =>
      (bytes) =>
        put(bytes, to, cutOf(bytes, from, length)),
  ),
  fc.tuple(place, fc.uint8Array({ maxLength: 8 })).map(
    ([at, what]): Mutation =>
      (bytes) =>
        put(bytes, at, what),
  ),
  fc.tuple(place, fc.constantFrom(...nasty)).map(
    ([at, what]): Mutation =>
      (bytes) =>
        put(bytes, at, what),
  ),
  fc.tuple(place, place).map(
    ([one, other]): Mutation =>
      (bytes) => {
        const lines = splitLines(bytes);
        const [i, j] = [Math.floor(one * lines.length), Math.floor(other * lines.length)];
        const [a, b] = [lines[i], lines[j]];
        return a === undefined || b === undefined ? bytes : Buffer.concat(lines.with(i, b).with(j, a));
      },
  ),
  fc.constant<Mutation>((bytes) => Buffer.from(bytes.toString("latin1").replaceAll("\n", "\r\n"), "latin1")),
  fc.constant<Mutation>((bytes) => Buffer.concat([Buffer.from("\ufeff"), bytes])),
);

/** A real file of the agent with some of its bytes flipped, cut out, doubled, swapped and put in. */
export function mutated(format: FormatName): fc.Arbitrary<Buffer> {
  return fc
    .tuple(fixturesOf(format), fc.array(mutation, { minLength: 1, maxLength: 12 }))
    .map(([{ bytes }, changes]) =>
      Buffer.concat([
        changes.reduce((changed, change) => (changed.length === 0 ? changed : change(changed)), bytes),
        newline,
      ]),
    );
}

/** All keys and short strings of an agent's real lines. */
function vocabulary(format: FormatName): { readonly keys: string[]; readonly strings: string[] } {
  const keys = new Set<string>();
  const strings = new Set<string>();
  function learn(value: unknown): void {
    if (typeof value === "string" && value.length < 40) strings.add(value);
    if (typeof value !== "object" || value === null) return;
    if (!Array.isArray(value)) for (const key of Object.keys(value)) keys.add(key);
    for (const member of Object.values(value)) learn(member);
  }
  for (const fixture of fixtures.filter((candidate) => candidate.format === format)) {
    for (const line of splitLines(fixture.bytes)) learn(JSON.parse(line.toString()));
  }
  return { keys: [...keys], strings: [...strings] };
}

/** A value as no agent writes it, as JSON text. */
const oddNumber = fc.constantFrom(
  "1e999",
  "-1e999",
  "-0",
  "1e300",
  "9007199254740993",
  "9007199254740991",
  "0.5",
  "-7",
);
const oddValue = fc.oneof(
  oddNumber,
  fc.constantFrom("null", "true", '"\\ud800"', '"\\u0000"', "[]", "{}", '""', '{"a":1,"a":2}', '" "'),
  fc.constantFrom('{"__proto__":{"type":"text"}}', `${"[".repeat(500)}${"]".repeat(500)}`),
  fc.json({ maxDepth: 2 }),
  fc.string({ unit: "binary", maxLength: 20 }).map((text) => JSON.stringify(text)),
);

/** One line of a real file with one of its values replaced, doubled or taken out. */
function madeUpLine(format: FormatName): fc.Arbitrary<Buffer> {
  const { keys, strings } = vocabulary(format);
  const real = fixtures
    .filter((fixture) => fixture.format === format)
    .flatMap(({ bytes }) => splitLines(bytes).filter((line) => line.length < 4_000));
  const changed = fc
    .tuple(fc.constantFrom(...real), place, fc.nat(2), oddValue, oddNumber)
    .map(([line, where, how, value, number]) => {
      const text = line.toString().trimEnd();
      const members = [...text.matchAll(/"(?:[^"\\]|\\.)*":(?:"(?:[^"\\]|\\.)*"|[\w.+-]+)/g)];
      const member = members[Math.floor(where * members.length)];
      if (member === undefined) return line;
      const odd = /:[\d.e+-]+$/.test(member[0]) ? number : value;
      const key = member[0].slice(0, member[0].indexOf('":') + 1);
      const instead = [`${key}:${odd}`, `${member[0]},${key}:${odd}`, `"gone":${odd}`][how] ?? odd;
      return Buffer.from(`${text.slice(0, member.index)}${instead}${text.slice(member.index + member[0].length)}\n`);
    });
  const { value } = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthIdentifier: "value" },
      fc.constantFrom(...strings),
      fc.jsonValue({ maxDepth: 1 }),
      tie("object"),
      fc.array(tie("object"), { maxLength: 3 }),
    ),
    object: fc.dictionary(fc.constantFrom(...keys), tie("value"), { maxKeys: 6, noNullPrototype: true }),
  }));
  const invented = fc
    .tuple(fc.constantFrom(...real), fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 4 }))
    .map(([line, more]) => {
      const parsed: unknown = JSON.parse(line.toString());
      return Buffer.from(`${JSON.stringify(typeof parsed === "object" ? { ...parsed, ...more } : more)}\n`);
    });
  return fc.oneof({ weight: 3, arbitrary: changed }, { weight: 1, arbitrary: invented });
}

/** A file of lines that look like the agent's own and are not. */
export function madeUp(format: FormatName): fc.Arbitrary<Buffer> {
  return fc
    .array(madeUpLine(format), { minLength: 5, maxLength: 40, size: "max" })
    .map((lines) => Buffer.concat(lines));
}

/** Where a growing file is looked at: places in it, each with what is asked for there (0 nothing, 1 a summary, else turns). */
export const looks: fc.Arbitrary<readonly { readonly at: number; readonly how: number }[]> = fc
  .array(fc.record({ at: place, how: fc.nat(4) }), { maxLength: 12 })
  .map((all) => all.toSorted((one, other) => one.at - other.at));
