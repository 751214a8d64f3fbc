import { crc32, deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { animatedPng, decodePng } from "./animated-png.ts";

const [width, height] = [5, 4];

/** A small PNG, unfiltered; one pixel of it is `changed`. */
function png(changed?: { readonly x: number; readonly y: number }): Buffer {
  const rows = Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (__, x) => (changed?.x === x && changed.y === y ? [255, 0, 9] : [x * 40, y * 60, 7])),
  );
  const data = Buffer.concat(rows.map((row) => Buffer.from([0, ...row.flat()])));
  const header = Buffer.from([0, 0, 0, width, 0, 0, 0, height, 8, 2, 0, 0, 0]);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(data)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const out = Buffer.alloc(named.length + 8);
  out.writeUInt32BE(body.length, 0);
  named.copy(out, 4);
  out.writeUInt32BE(crc32(named), named.length + 4);
  return out;
}

function chunksOf(bytes: Buffer): readonly { readonly type: string; readonly body: Buffer }[] {
  const found = [];
  for (let at = 8; at < bytes.length; at += 12 + bytes.readUInt32BE(at)) {
    const body = bytes.subarray(at + 8, at + 8 + bytes.readUInt32BE(at));
    expect(bytes.readUInt32BE(at + 8 + body.length)).toBe(crc32(bytes.subarray(at + 4, at + 8 + body.length)));
    found.push({ type: bytes.toString("latin1", at + 4, at + 8), body });
  }
  return found;
}

test("a viewer without animation shows the first frame, pixel for pixel", () => {
  const animation = animatedPng([
    { png: png(), forMs: 1_000 },
    { png: png({ x: 3, y: 2 }), forMs: 500 },
  ]);
  expect(decodePng(animation)).toEqual(decodePng(png()));
});

test("a later frame contains the changed rectangle and its duration", () => {
  const chunks = chunksOf(
    animatedPng([
      { png: png(), forMs: 1_000 },
      { png: png({ x: 3, y: 2 }), forMs: 500 },
    ]),
  );
  expect(chunks.map(({ type }) => type)).toEqual(["IHDR", "acTL", "fcTL", "IDAT", "fcTL", "fdAT", "IEND"]);
  const control = chunks[4]?.body ?? Buffer.alloc(26);
  expect([4, 8, 12, 16].map((at) => control.readUInt32BE(at))).toEqual([1, 1, 3, 2]); // width, height, x, y
  expect([control.readUInt16BE(20), control.readUInt16BE(22)]).toEqual([500, 1_000]);
});

test("a poster frame is shown without animation, and is not part of the animation", () => {
  const frames = [
    { png: png(), forMs: 1_000 },
    { png: png({ x: 3, y: 2 }), forMs: 500 },
  ];
  const animation = animatedPng(frames, 1);
  expect(decodePng(animation)).toEqual(decodePng(png({ x: 3, y: 2 })));
  const types = chunksOf(animation).map(({ type }) => type);
  expect(types).toEqual(["IHDR", "acTL", "IDAT", "fcTL", "fdAT", "fcTL", "fdAT", "IEND"]);
});

test("frames of different sizes are refused", () => {
  const other = Buffer.from(png());
  other.writeUInt32BE(height - 1, 20);
  expect(() =>
    animatedPng([
      { png: png(), forMs: 1 },
      { png: other, forMs: 1 },
    ]),
  ).toThrow("same size");
});
