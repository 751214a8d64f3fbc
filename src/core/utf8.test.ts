import { expect, test } from "vitest";
import { incompleteCharacterBytes } from "./utf8.ts";

test("counts the bytes of a character that is not complete", () => {
  for (const text of ["é", "€", "😀"]) {
    const whole = Buffer.from(`a${text}`);
    for (let end = 1; end < whole.byteLength; end += 1) {
      expect(incompleteCharacterBytes(whole.subarray(0, end))).toBe(end - 1);
    }
    expect(incompleteCharacterBytes(whole)).toBe(0);
  }
});

test("bytes that are no UTF-8 are never held back for long", () => {
  for (const bytes of [[], [0x80], [0x80, 0x80, 0x80, 0x80], [0xff], [0xff, 0x80], [0xf8, 0x80, 0x80], [0xc3, 0x41]]) {
    expect(incompleteCharacterBytes(Uint8Array.from(bytes))).toBe(0);
  }
  expect(incompleteCharacterBytes(Uint8Array.from([0xc0]))).toBe(1);
  expect(incompleteCharacterBytes(Uint8Array.from([0xc0, 0x80]))).toBe(0);
});
