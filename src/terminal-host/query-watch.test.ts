import { describe, expect, test } from "vitest";
import { watchQueries } from "./query-watch.ts";
import { createScreenModel } from "./screen-model.ts";

/** What programs ask; the last three are no questions that this terminal answers, but it is asked. */
const queries = [
  "\x1b[c",
  "\x1b[0c",
  "\x1b[>c",
  "\x1b[>0c",
  "\x1b[5n",
  "\x1b[6n",
  "\x1b[?6n",
  "\x1b[?996n",
  "\x1b[>q",
  "\x1b[>0q",
  "\x1b[18t",
  "\x1b[4$p",
  "\x1b[?2026$p",
  "\x1b]10;?\x07",
  "\x1b]11;?\x1b\\",
  "\x1b]4;7;?\x1b\\",
  "\x1bP$qm\x1b\\",
  "\x1b[=c",
  "\x1b[?u",
  "\x1b]52;c;?\x07",
];

describe("a query is noticed", () => {
  test.each(queries)("%j, whole and split at every place, behind other output", (query) => {
    expect(watchQueries().push(Buffer.from(query))).toBe(true);
    for (let at = 1; at < query.length; at++) {
      const watch = watchQueries();
      expect(watch.push(Buffer.from(`\x1b[31mred\x1b[m ${query.slice(0, at)}`))).toBe(false);
      expect(watch.push(Buffer.from(query.slice(at)))).toBe(true);
      expect(watch.push(Buffer.from("more"))).toBe(false);
    }
    const byteByByte = watchQueries();
    const noticed = query.split("").map((byte) => byteByByte.push(Buffer.from(byte)));
    expect(noticed.indexOf(true)).toBe(query.length - 1);
  });

  test("at the end of a flood", () => {
    expect(watchQueries().push(Buffer.from(`${"flood\r\n".repeat(9_000)}\x1b[6n`))).toBe(true);
  });

  test("whenever the screen model answers a sequence of one to three parameters", () => {
    let answers = 0;
    const model = createScreenModel({ cols: 80, rows: 24 }, () => {
      answers += 1;
    });
    const missed: string[] = [];
    const finals = Array.from({ length: 63 }, (_, n) => String.fromCharCode(0x40 + n));
    const middles = ["", "0", "1", "5", "6", "14", "18", "996", "4;1", "18;2;2", "2026"];
    for (const prefix of ["", "?", ">", "=", "<"]) {
      for (const intermediate of ["", "$", "!", " ", '"']) {
        for (const middle of middles) {
          for (const final of finals) {
            const sequence = `\x1b[${prefix}${middle}${intermediate}${final}`;
            const before = answers;
            model.write(Buffer.from(sequence));
            if (answers > before && !watchQueries().push(Buffer.from(sequence))) missed.push(sequence);
          }
        }
      }
    }
    model.close();
    expect(missed).toEqual([]);
    expect(answers).toBeGreaterThan(30);
  });
});

test.each([
  "text",
  "\x1b[31m",
  "\x1b[2J\x1b[H",
  "\x1b[?25l",
  "\x1b[2 q",
  "\x1b[!p",
  "\x1b[>1u",
  "\x1b]0;title\x07",
  "What? \x1b]8;;x\x07",
])("%j asks nothing", (output) => {
  expect(watchQueries().push(Buffer.from(output))).toBe(false);
});
