import fc from "fast-check";
import { expect, test } from "vitest";
import { createEventStreamParser, type StreamedMessage } from "./event-stream.ts";

function parse(...chunks: readonly string[]): readonly StreamedMessage[] {
  const read = createEventStreamParser();
  return chunks.flatMap((chunk) => read(chunk));
}

test("an event has its kind, its data and its id", () => {
  expect(parse('id: 01A\nevent: session.activity\ndata: {"a":1}\n\n')).toEqual([
    { event: "session.activity", data: '{"a":1}', id: "01A" },
  ]);
});

test("an id without data is a position to resume from", () => {
  expect(parse(": still here\nid: 01B\n\n")).toEqual([{ event: "message", data: "", id: "01B" }]);
});

test("comments, retry times and unknown fields are ignored", () => {
  expect(parse("retry: 1000\n\n: hello\n\nweather: fine\n\n")).toEqual([]);
});

test("data of several lines is joined, and one space after the colon is not part of it", () => {
  expect(parse("data: a\ndata:  b\ndata:c\ndata\n\n")).toEqual([{ event: "message", data: "a\n b\nc\n", id: null }]);
});

test("an incomplete event is not reported", () => {
  expect(parse("data: a\n")).toEqual([]);
});

test("events are parsed however the stream is split, with any line ending", () => {
  const ending = fc.constantFrom("\n", "\r\n", "\r");
  const value = fc.string({ maxLength: 12 }).map((text) => text.replaceAll(/[\r\n\0]/g, ""));
  fc.assert(
    fc.property(
      fc.array(value, { maxLength: 8 }),
      ending,
      fc.array(fc.nat(400), { maxLength: 12 }),
      (values, end, cuts) => {
        const text = values.map((data, index) => [`id: ${index}`, `data: ${data}`, "", ""].join(end)).join("");
        const places = [...new Set(cuts.filter((cut) => cut < text.length))].toSorted((a, b) => a - b);
        const chunks = [0, ...places].map((from, index) => text.slice(from, places[index] ?? text.length));
        const expected = values.map((data, index) => ({ event: "message", data, id: String(index) }));
        // A lone CR at the end may be half of a CRLF: the next byte decides.
        expect(parse(...chunks, ...(end === "\r" ? [":"] : []))).toEqual(expected);
      },
    ),
  );
});

test("a line without an end is dropped before it fills the memory", () => {
  const read = createEventStreamParser();
  expect(() => {
    for (let chunk = 0; chunk < 100; chunk += 1) read("x".repeat(50_000));
  }).toThrow("too long");
});
