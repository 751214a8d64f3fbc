import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect } from "vitest";
import { z } from "zod";
import { createScreenModel } from "../../src/terminal-host/screen-model.ts";
import type { TerminalSize } from "../../src/terminal-host/terminal-info.ts";
import { createViewerTerminal, type ViewerTerminal } from "./viewer-terminal.ts";

/** How many inputs, for how long at most, and from where in the random numbers. */
export interface Effort {
  readonly numRuns: number;
  readonly timeLimitMs?: number;
  readonly seed: number;
}

type Event = Uint8Array | TerminalSize;

/** Terminal sessions of test/fixtures/terminal. */
export const recordedNames = ["vim", "htop", "less", "tmux", "git", "claude", "codex", "showcase"] as const;
const FIXTURES = join(import.meta.dirname, "..", "fixtures", "terminal");

function feed(target: Pick<ViewerTerminal, "write" | "resize">, events: readonly Event[]): void {
  for (const event of events) {
    if (event instanceof Uint8Array) target.write(event);
    else target.resize(event);
  }
}

/** What happened before and after so many bytes; a size at that place is before. */
function splitAt(events: readonly Event[], offset: number): readonly [readonly Event[], readonly Event[]] {
  let left = offset;
  for (const [index, event] of events.entries()) {
    if (!(event instanceof Uint8Array)) continue;
    if (left < event.byteLength) {
      const [before, after] = [event.subarray(0, left), event.subarray(left)];
      return [
        [...events.slice(0, index), before],
        [after, ...events.slice(index + 1)],
      ];
    }
    left -= event.byteLength;
  }
  return [events, []];
}

function isSize(event: Event): event is TerminalSize {
  return !(event instanceof Uint8Array);
}

function bytesIn(events: readonly Event[]): Buffer {
  return Buffer.concat(events.filter((event) => event instanceof Uint8Array));
}

/** Checks that a viewer that attaches after this many bytes has the same terminal as one that saw everything, immediately and at the end. */
export function expectSameFrom(
  offsets: readonly number[],
  { size, events, skipsHanging = false }: { size: TerminalSize; events: readonly Event[]; skipsHanging?: boolean },
): void {
  const model = createScreenModel(size, () => undefined);
  const early = createViewerTerminal(size);
  const lates: ViewerTerminal[] = [];
  let rest = events;
  let at = 0;
  let held = Buffer.alloc(0);
  for (const offset of offsets.toSorted((one, other) => one - other)) {
    const [before, after] = splitAt(rest, offset - at);
    feed(model, before);
    for (const one of [early, ...lates]) feed(one, before);
    held = Buffer.concat([held, bytesIn(before)]).subarray(-4096);
    rest = after;
    at = offset;
    if (skipsHanging && (early.hangs() || (rest.some(isSize) && early.hasLeftOvers()))) continue;
    const late = createViewerTerminal(model.size());
    late.write(model.paint().ansi);
    const incomplete = model.incompleteBytes();
    if (incomplete === 0) expect(late.state(), `attached at ${offset}`).toEqual(early.state());
    else late.write(held.subarray(-incomplete));
    lates.push(late);
  }
  for (const one of [early, ...lates]) feed(one, rest);
  const state = early.state();
  for (const [index, late] of lates.entries()) expect(late.state(), `the viewer ${index} at the end`).toEqual(state);
  for (const one of [model, early, ...lates]) one.close();
}

async function readCast(name: string): Promise<{ readonly size: TerminalSize; readonly events: readonly Event[] }> {
  const [head, ...lines] = (await readFile(join(FIXTURES, `${name}.cast`), "utf8")).trimEnd().split("\n");
  const { width, height } = z.object({ width: z.number(), height: z.number() }).parse(JSON.parse(head ?? ""));
  const events = lines.map((line): Event => {
    const [, kind, data] = z.tuple([z.number(), z.enum(["o", "r"]), z.string()]).parse(JSON.parse(line));
    if (kind === "o") return Buffer.from(data);
    const [cols = 80, rows = 24] = data.split("x").map(Number);
    return { cols, rows };
  });
  return { size: { cols: width, rows: height }, events };
}

const size = fc.record({ cols: fc.integer({ min: 8, max: 40 }), rows: fc.integer({ min: 2, max: 14 }) });
const number = fc.nat({ max: 12 });
const csi = (final: string, prefix = ""): fc.Arbitrary<string> =>
  fc.array(number, { maxLength: 2 }).map((params) => `\x1b[${prefix}${params.join(";")}${final}`);
const style = fc.constantFrom(
  ...["0", "1", "2", "3", "4", "5", "7", "8", "9", "53", "22", "23", "24", "25", "27", "28", "29", "55", "39", "49"],
  ...["31", "42", "95", "106", "38;5;200", "48;5;17", "38;2;1;2;3", "48;2;250;128;7", "4:3", "4:2", "21"],
  ...["58;2;9;8;7", "58;5;12", "59", "1;31;44", "7;3"],
);
const modes = [1, 5, 6, 7, 9, 12, 25, 45, 66, 1000, 1002, 1003, 1004, 1006, 1015, 1016, 1007, 2004, 2026, 47, 1047];
const piece: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, maxLength: 25 }) },
  {
    weight: 4,
    arbitrary: fc.constantFrom("日本語", "é", "e\u0301", "👩‍👩‍👧", "🇩🇪", "❤️", "한글", "ก็", "\u0301", "─│┐", "🏽"),
  },
  { weight: 4, arbitrary: fc.constantFrom("\r\n", "\n", "\r", "\t", "\b", "\x1bM", "\x1bD", "\x1bE", "\x0e", "\x0f") },
  { weight: 5, arbitrary: style.map((codes) => `\x1b[${codes}m`) },
  { weight: 4, arbitrary: fc.constantFrom("H", "A", "B", "C", "D", "G", "d", "E", "F").chain((final) => csi(final)) },
  { weight: 1, arbitrary: fc.constantFrom("\x1b[J", "\x1b[2J", "\x1b[3J") }, // not 1J: xterm.js fails at it in the last cell
  { weight: 3, arbitrary: fc.constantFrom("K", "X", "L", "M", "P", "S", "T", "@").chain((final) => csi(final)) },
  { weight: 1, arbitrary: fc.constantFrom("r", "b", "I", "Z").chain((final) => csi(final)) },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...modes), fc.boolean()).map(([mode, on]) => `\x1b[?${mode}${on ? "h" : "l"}`),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1b[?1049h", "\x1b[?1049l"),
  },
  { weight: 1, arbitrary: fc.constantFrom("\x1b[4h", "\x1b[4l", "\x1b[20h", "\x1b[20l", "\x1b=", "\x1b>") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("\x1b(0", "\x1b(B", "\x1b)0", "\x1b)B", "\x1b(A", "\x1b[!p", "\x1bc", "\x1bn"),
  },
  { weight: 1, arbitrary: fc.constantFrom("\x1b[2 q", "\x1b[5 q", "\x1b[0 q", '\x1b[1"q', '\x1b[0"q') },
);
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 12, arbitrary: piece.map((text) => Buffer.from(text)) },
  { weight: 1, arbitrary: size },
);

/** Checks that a viewer that attaches late to the recorded session `name`, at this many random places per run, has the same terminal as one that saw all of it. */
export async function checkRecorded(name: string, { points, ...effort }: Effort & { points: number }): Promise<void> {
  const cast = await readCast(name);
  const places = fc.array(fc.nat({ max: bytesIn(cast.events).byteLength }), { minLength: points, maxLength: points });
  fc.assert(
    fc.property(places, (offsets) => expectSameFrom(offsets, cast)),
    { ...parameters(effort), endOnFailure: true },
  );
}

/** The same of made-up output, at one random place each. */
export function checkMadeUp(effort: Effort): void {
  const events = fc.array(event, { minLength: 1, maxLength: 80, size: "max" });
  fc.assert(
    fc.property(size, events, fc.nat(), (size, events, place) =>
      expectSameFrom([place % (bytesIn(events).byteLength + 1)], { size, events, skipsHanging: true }),
    ),
    parameters(effort),
  );
}

function parameters({ numRuns, timeLimitMs, seed }: Effort) {
  return { numRuns, seed, ...(timeLimitMs === undefined ? {} : { interruptAfterTimeLimit: timeLimitMs }) };
}
