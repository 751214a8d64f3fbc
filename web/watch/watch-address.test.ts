import { expect, test } from "vitest";
import { formatWatched, neighbourOf, parseWatched, withoutCell, withSession } from "./watch-address.ts";

const parse = (query: string) => parseWatched(new URLSearchParams(query));
const round = (query: string) => new URLSearchParams(formatWatched(parse(query))).toString();

test("the address holds up to six sessions, each once, and the cell that fills the page", () => {
  expect(parse("")).toEqual({ cells: [], full: null });
  expect(parse("s=a,b,,c&full=2")).toEqual({ cells: ["a", "b", null, "c"], full: 1 });
  expect(parse("s=a,a,b").cells).toEqual(["a", null, "b"]);
  expect(parse("s=a,b,c,d,e,f,g").cells).toHaveLength(6);
  expect(parse("s=a,,,").cells).toEqual(["a"]);
  for (const full of ["0", "3", "9", "x", "-1", "1.5"])
    expect(parse(`s=a,,c,&full=${full}`).full).toBe(full === "3" ? 2 : null);
  expect(decodeURIComponent(round("s=a,b,,c&full=2"))).toBe("s=a,b,,c&full=2");
  expect(round("s=,,")).toBe("");
});

test("closing a cell moves no other cell, and the next session fills the gap", () => {
  const watched = parse("s=a,b,c&full=2");
  const closed = withoutCell(watched, 1);
  expect(closed).toEqual({ cells: ["a", null, "c"], full: null });
  expect(withSession(closed, "d").cells).toEqual(["a", "d", "c"]);
  expect(withSession(closed, "c")).toBe(closed);
  expect(withoutCell(closed, 2).cells).toEqual(["a"]);
});

test("a session replaces that of a cell, and a seventh has no place", () => {
  expect(withSession(parse("s=a,b"), "c", 0).cells).toEqual(["c", "b"]);
  expect(withSession(parse("s=a,b"), "c").cells).toEqual(["a", "b", "c"]);
  const six = parse("s=a,b,c,d,e,f");
  expect(withSession(six, "g")).toBe(six);
});

test("arrows lead to the neighbour, and stay at the edges", () => {
  const grid = { columns: 3, count: 5 };
  const from = (at: number) =>
    ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => neighbourOf(at, key, grid));
  expect(from(0)).toEqual([0, 1, 0, 3]);
  expect(from(2)).toEqual([1, 2, 2, 2]);
  expect(from(4)).toEqual([3, 4, 1, 4]);
});
