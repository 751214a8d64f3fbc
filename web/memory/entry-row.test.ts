import { expect, test } from "vitest";
import { markedPieces } from "./entry-row.tsx";

function marked(text: string, query: string): readonly string[] {
  return markedPieces(text, query).flatMap((piece) => (piece.marked ? [piece.text] : []));
}

test("query words are highlighted, ignoring case and accents; the last one also as a prefix", () => {
  expect(marked("The Timeout of the Café is 30 s", "cafe timeo")).toEqual(["Timeo", "Café"]);
  expect(marked("time and timeout", "time zone")).toEqual(["time"]);
});

test("the pieces add up to the text, whatever the text and query contain", () => {
  for (const query of ["", "<b>", "a.*", '"time out"', "漢字", "\u202e"]) {
    const text = "<b>time</b> out(.*) \u202e 漢字表 👩‍👩‍👧";
    expect(
      markedPieces(text, query)
        .map((piece) => piece.text)
        .join(""),
    ).toBe(text);
  }
  expect(marked("see 漢字表 there", "漢字")).toEqual(["漢字"]);
});
