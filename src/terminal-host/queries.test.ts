import { describe, expect, test } from "vitest";
import { makeHostFixture, scriptSpec, waitUntil } from "../../test/support/terminal-host.ts";
import { watchQueries } from "./queries.ts";
import { createScreenModel } from "./screen-model.ts";

test("with three viewers attached, the program gets one answer to its query", async () => {
  const client = await (await makeHostFixture()).connect();
  const spec = scriptSpec(`
    process.stdin.setRawMode(true);
    let got = "";
    process.stdin.on("data", (data) => {
      got += data;
      if (got === "q") process.stdout.write("\\x1b[c\\x1b[6n");
      // Answers arrive in the order of the queries, so the first one has been answered by now.
      else if (got.endsWith("R")) console.log("got " + JSON.stringify(got.slice(1)) + " end");
    });
    console.log("ready");`);
  await client.spawn(spec);
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines[0] === "ready", 10_000);
  const streams = await Promise.all([1, 2, 3].map(async () => client.attach(spec.terminalId)));
  await client.write(spec.terminalId, "q");
  await waitUntil(async () => (await client.snapshot(spec.terminalId)).lines.join("").includes("end"), 10_000);
  const { lines } = await client.snapshot(spec.terminalId);
  expect(lines.find((line) => line.startsWith("got"))).toBe('got "\\u001b[?1;2c\\u001b[2;1R" end');
  for (const stream of streams) stream.close();
});

test("a picture contains nothing that acts on a viewer's clipboard, title or files, in any form", () => {
  const osc = ["\x1b]", "\u009d"];
  const ends = ["\x07", "\x1b\\", "\u009c"];
  const payloads = [
    "52;c;aGVsbG8=",
    "1337;File=inline=1:AAAA",
    "0;evil",
    "2;evil",
    "9;evil",
    "777;notify;evil",
    "4;1;#ff0000",
  ];
  const strings = ["\x1bP", "\u0090", "\x1b_", "\u009f", "\x1b^", "\u009e", "\x1bX", "\u0098"];
  const attacks = [
    ...osc.flatMap((begin) => payloads.flatMap((payload) => ends.map((end) => `${begin}${payload}${end}`))),
    ...strings.map((begin) => `${begin}G;evil\x1b\\`),
    ...["\x1b[21t", "\u009b21t", "\x1b[20t", "\x1b[c", "\u009bc", "\x1b[6n", "\x1b[>c", "\x1b[5i", "\x1b[22;0t"],
  ];
  for (const attack of attacks) {
    const model = createScreenModel({ cols: 40, rows: 5 }, () => undefined);
    model.write(Buffer.from(`one ${attack}`));
    model.write(Buffer.from(`two${attack.slice(0, -1)}`));
    const { ansi } = model.paint();
    expect(ansi, JSON.stringify(attack)).toMatch(/^(?:[ -~]|\x1b\[[0-9;]*[HmKX])*$/);
    expect(ansi).not.toMatch(/evil|aGV|AAAA/);
    model.close();
  }
});

test("a link's address cannot contain other sequences", () => {
  const model = createScreenModel({ cols: 40, rows: 5 }, () => undefined);
  model.write(Buffer.from("\x1b]8;id=a\u009d52;c;b;http://x/\u0085\u009b31m\x1b\\text\x1b]8;;\x1b\\"));
  expect(model.paint().ansi.replaceAll(/\x1b(?:\[[0-9;]*[mH]|\]8;[^\x1b]*\x1b\\)/g, "")).not.toMatch(
    /[\x00-\x09\x0e-\x1f\x7f-\x9f]/,
  );
  model.close();
});

/** Queries of programs; this terminal does not answer the last three. */
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

describe("a query is detected", () => {
  test.each(queries)("%j, whole and split at every place, after other output", (query) => {
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
])("%j is not a query", (output) => {
  expect(watchQueries().push(Buffer.from(output))).toBe(false);
});
