import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { noBytes, OutputChunk, toTextFrames, toTextOutput } from "./output-chunk.ts";

function framesOf(pieces: readonly Buffer[]): readonly Buffer[] {
  let carry = noBytes;
  const frames: Buffer[] = [];
  for (const piece of pieces) {
    const output = toTextOutput(carry, piece);
    carry = output.carry;
    frames.push(...output.frames);
  }
  return [...frames, ...toTextFrames(carry)];
}

function cut(bytes: Buffer, places: readonly number[]): readonly Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.byteLength + 1)), bytes.byteLength].toSorted((a, b) => a - b);
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

function isControl(frame: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(frame.toString().replace(/^\ufeff/, ""));
    return typeof value === "object" && value !== null && "kind" in value;
  } catch {
    return false;
  }
}

const places = fc.array(fc.nat(10_000), { maxLength: 12 });

describe("text frames", () => {
  test("contain whole characters, and all of them, however the output is split", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 200 });
    fc.assert(
      fc.property(text, places, (written, at) => {
        const bytes = Buffer.from(written.toWellFormed());
        const frames = framesOf(cut(bytes, at));
        for (const frame of frames) expect(isUtf8(frame)).toBe(true);
        expect(Buffer.concat(frames).equals(bytes)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("are valid UTF-8 whatever the program prints", () => {
    const bytes = fc.array(
      fc.oneof(
        fc.uint8Array({ maxLength: 6 }),
        fc.constantFrom("ü", "日", "👍").map((char) => Buffer.from(char)),
      ),
    );
    fc.assert(
      fc.property(bytes, places, (parts, at) => {
        const frames = framesOf(cut(Buffer.concat(parts), at));
        for (const frame of frames) expect(isUtf8(frame)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("are not delayed for complete characters", () => {
    expect(toTextOutput(noBytes, Buffer.from("a日"))).toEqual({ frames: [Buffer.from("a日")], carry: noBytes });
    const half = Buffer.from("a日").subarray(0, 3);
    expect(toTextOutput(noBytes, half).frames).toEqual([Buffer.from("a")]);
    expect(toTextOutput(noBytes, Buffer.from([0xff, 0x80, 0x80])).frames.toString()).toBe("\ufffd\ufffd\ufffd");
  });

  test.for([
    '{"kind":"exit","exitCode":0,"signal":null}',
    ' \r\n\t{ "kind" : "exit" }\r\n',
    '\ufeff{"kind":"exit"}',
    '{"a":{"b":[1,2,{"c":"}"}]},"kind":"exit"}',
    '{{"kind":"exit"}',
    '{{"kind":"exit"}}',
    '{"kind":"exit"}}',
    '{"kind":"exit"}{"kind":"exit"}',
    '{\n"kind":"size","cols":1,"rows":1}',
  ])("cannot be mistaken for a control frame: %s", (printed) => {
    const frames = framesOf([Buffer.from(printed)]);
    expect(Buffer.concat(frames).toString()).toBe(printed);
    for (const frame of frames) expect(isControl(frame)).toBe(false);
  });

  test("cannot be mistaken for a control frame, whatever is printed", () => {
    const part = fc.constantFrom("{", "}", '"kind"', ":", '"exit"', ",", " ", "\n", "[", "]", "1", '"', "\ufeff");
    const json = fc.record({ kind: fc.string(), more: fc.jsonValue() }).map((value) => JSON.stringify(value));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(part, { maxLength: 14 }).map((parts) => parts.join("")),
          json,
        ),
        (printed) => {
          const frames = toTextFrames(Buffer.from(printed));
          for (const frame of frames) expect(isControl(frame)).toBe(false);
          expect(Buffer.concat(frames).equals(Buffer.from(printed))).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("a chunk of output", () => {
  test("is framed once, preceded by its position", () => {
    const chunk = new OutputChunk(Buffer.from("hello"), 2 ** 40 + 7);
    expect(chunk.binaryFrame()).toBe(chunk.binaryFrame());
    expect(chunk.textFrames(noBytes)).toBe(chunk.textFrames(Buffer.alloc(0)));
    expect(chunk.binaryFrame().readUInt8(0)).toBe(0);
    expect(Number(chunk.binaryFrame().readBigUInt64BE(1))).toBe(2 ** 40 + 7);
    expect(chunk.binaryFrame().subarray(9).toString()).toBe("hello");
  });

  test("has a part after a position", () => {
    const chunk = new OutputChunk(Buffer.from("hello"), 10);
    expect(chunk.after(10)).toBe(chunk);
    expect([chunk.after(12).offset, chunk.after(12).data.toString(), chunk.after(12).end]).toEqual([12, "llo", 15]);
  });

  test("gives a viewer with a different position its own frames", () => {
    const [first, second] = [Buffer.from([0xe6, 0x97]), Buffer.from([0xa5, 0x61])];
    const chunk = new OutputChunk(second, 2);
    expect(Buffer.concat(chunk.textFrames(first).frames).toString()).toBe("日a");
    expect(Buffer.concat(chunk.textFrames(noBytes).frames).toString()).toBe("\ufffda");
  });
});
