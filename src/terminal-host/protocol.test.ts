import fc from "fast-check";
import { expect, test } from "vitest";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import {
  createFrameReader,
  FRAME,
  type Frame,
  type Input,
  inputFrame,
  jsonFrame,
  outputFrame,
  readInputFrame,
} from "./protocol.ts";

/** Feeds `bytes` in pieces that end at `cuts`. */
function readInPieces(bytes: Buffer, cuts: readonly number[]): Frame[] {
  const frames: Frame[] = [];
  const reader = createFrameReader(1_000_000, ({ kind, body }) => frames.push({ kind, body: Buffer.from(body) }));
  let from = 0;
  for (const cut of [...cuts.map((at) => at % (bytes.byteLength + 1)), bytes.byteLength].toSorted((a, b) => a - b)) {
    expect(reader.push(bytes.subarray(from, cut))).toBe(true);
    from = cut;
  }
  return frames;
}

function inputOf({ data, ifOutputEndsAt }: Pick<Input, "data" | "ifOutputEndsAt">): Input {
  return { terminalId: "tërminal", data: Buffer.from(data), ifOutputEndsAt };
}

test("frames arrive whole and in order however the stream is cut", () => {
  const message = fc.record({ kind: fc.constant("json" as const), value: fc.string({ unit: "grapheme" }) });
  const input = fc.record({
    kind: fc.constant("input" as const),
    id: fc.nat(),
    ifOutputEndsAt: fc.option(fc.maxSafeNat(), { nil: undefined }),
    data: fc.uint8Array({ maxLength: 300, size: "max" }),
  });
  fc.assert(
    fc.property(fc.array(fc.oneof(message, input)), fc.array(fc.nat(), { maxLength: 30 }), (sent, cuts) => {
      const bytes = Buffer.concat(
        sent.map((one) => (one.kind === "json" ? jsonFrame({ text: one.value }) : inputFrame(one.id, inputOf(one)))),
      );
      const frames = readInPieces(bytes, cuts);
      expect(frames).toHaveLength(sent.length);
      for (const [index, one] of sent.entries()) {
        const frame = frames[index] ?? { kind: 0, body: Buffer.alloc(0) };
        if (one.kind === "json") expect(JSON.parse(frame.body.toString())).toEqual({ text: one.value });
        else expect(readInputFrame(frame)).toEqual({ requestId: one.id, ...inputOf(one) });
      }
    }),
    { seed: suiteSeed },
  );
});

test("output comes through byte for byte between other frames", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 500, size: "max" })),
      fc.array(fc.nat(), { maxLength: 30 }),
      (chunks, cuts) => {
        const bytes = Buffer.concat([...chunks.flatMap((chunk) => [outputFrame(chunk), jsonFrame({})])]);
        const frames = readInPieces(bytes, cuts);
        const output = frames.filter((frame) => frame.kind === FRAME.output).map((frame) => frame.body);
        expect(Buffer.concat(output)).toEqual(Buffer.concat(chunks));
        expect(frames.filter((frame) => frame.kind === FRAME.json)).toHaveLength(chunks.length);
      },
    ),
    { seed: suiteSeed },
  );
});

test("a stream of another protocol is refused at its first frame", () => {
  const refuses = (bytes: Buffer, maxBytes = 1000): boolean =>
    !createFrameReader(maxBytes, () => undefined).push(bytes);
  expect(refuses(Buffer.from("GET / HTTP/1.1\r\n\r\n"))).toBe(true);
  expect(refuses(Buffer.from([0, 0, 0, 1, 9, 0]))).toBe(true);
  expect(refuses(jsonFrame("x".repeat(2000)))).toBe(true);
  expect(refuses(jsonFrame("x"))).toBe(false);
});

test("an input frame that is shorter than its declared length is malformed", () => {
  const read = (kind: number, ...bytes: readonly number[]) => readInputFrame({ kind, body: Buffer.from(bytes) });
  expect(read(FRAME.input, 0, 0, 0)).toBeUndefined();
  expect(read(FRAME.input, 0, 0, 0, 1, 9, 65)).toBeUndefined();
  expect(read(FRAME.inputIfUnchanged, 0, 0, 0, 1, 1, 65, 0, 0, 0, 0, 0, 0, 0)).toBeUndefined();
});
