import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clientFrameSchema } from "../wire/terminal.ts";
import { readClientFrame } from "./client-frame.ts";

const text = (value: string) => readClientFrame(Buffer.from(value), false);
const typed = (value: string) => ({ kind: "input", data: Buffer.from(value) });

describe("a frame from a client", () => {
  test("is parsed like JSON, whatever few characters were typed", () => {
    const character = fc.oneof(
      { weight: 4, arbitrary: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) },
      fc.constantFrom('"', "\\", "\r", "\x1b", "é", "\u{1f600}", "}", '"}'),
    );
    fc.assert(
      fc.property(fc.array(character, { maxLength: 50 }), (typedText) => {
        const data = typedText.join("");
        const frame = JSON.stringify({ kind: "input", data });
        expect(text(frame)).toEqual(typed(data));
        const broken = `${frame.slice(0, -2)}"${frame.slice(-2)}`; // no longer JSON: it was pasted
        expect(text(broken)).toEqual(data.endsWith("\\") ? text(broken) : typed(broken));
      }),
      { numRuns: 300 },
    );
  });

  test("is input or a size when it is a valid control frame", () => {
    expect(text('{"kind":"input","data":"grün\\r"}')).toEqual(typed("grün\r"));
    expect(text(' { "kind":"resize", "cols":80, "rows":24 } ')).toEqual({
      kind: "resize",
      size: { cols: 80, rows: 24 },
    });
    expect(text('{"kind":"resize","cols":0,"rows":-7}')).toEqual({ kind: "resize", size: { cols: 2, rows: 1 } });
    expect(text('{"kind":"resize","cols":9007199254740991,"rows":501}')).toEqual({
      kind: "resize",
      size: { cols: 1_000, rows: 500 },
    });
  });

  test.for([
    "",
    "ls\r",
    "{",
    "{}",
    "null",
    "[]",
    '"kind"',
    '[{"kind":"input","data":"x"}]',
    '{"kind":"exit","exitCode":0,"signal":null}',
    '{"kind":"input"}',
    '{"kind":"input","data":7}',
    '{"kind":"input","data":null}',
    '{"kind":"resize","cols":"80","rows":24}',
    '{"kind":"resize","cols":80.5,"rows":24}',
    '{"kind":"resize","cols":80}',
    '{"kind":["input"],"data":"x"}',
    '{"kind":"input","data":"x"} ',
    '{"kind":"input","data":"x"}\r{"kind":"input","data":"y"}',
    '{"Kind":"input","data":"x"}',
    `${'{"kind":'.repeat(5_000)}1${"}".repeat(5_000)}`,
  ])("is input byte for byte otherwise: %s", (value) => {
    if (value.trim() === '{"kind":"input","data":"x"}') return expect(text(value)).toEqual(typed("x"));
    expect(text(value)).toEqual(typed(value));
  });

  test("is input when it is binary, whatever it contains", () => {
    const frame = Buffer.from('{"kind":"resize","cols":1,"rows":1}');
    expect(readClientFrame(frame, true)).toEqual({ kind: "input", data: frame });
  });

  test("of any bytes is read without an error, and other frames pass unchanged", () => {
    const odd = fc.constantFrom<unknown>("input", "resize", "exit", "", null, [], {}, true, 1.5, -1, { kind: "input" });
    const frames = fc.oneof(
      fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
      fc.record({ kind: odd, data: odd, cols: odd, rows: odd }).map((value) => Buffer.from(JSON.stringify(value))),
      fc.string().map((json) => Buffer.from(`{"kind":${json}`)),
    );
    fc.assert(
      fc.property(frames, (frame) => {
        const word = readClientFrame(frame, false);
        const asked: unknown = clientFrameSchema.safeParse(parsed(frame)).data?.kind;
        expect(word.kind).toBe(asked ?? "input");
        if (word.kind === "input" && asked === undefined) expect(word.data.equals(frame)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

function parsed(frame: Buffer): unknown {
  try {
    return JSON.parse(frame.toString());
  } catch {
    return undefined;
  }
}
