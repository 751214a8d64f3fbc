import { expect, test } from "vitest";
import { type Line, readLines } from "./mcp-exchange.ts";

async function split(chunks: readonly string[], maxLength = 10): Promise<readonly Line[]> {
  const input = (async function* () {
    for (const chunk of chunks) yield Buffer.from(chunk, "latin1");
  })();
  const lines: Line[] = [];
  for await (const line of readLines(input, { maxLength })) lines.push(line);
  return lines;
}

const line = (text: string): Line => ({ kind: "line", text });

test("lines arrive whole however they were split; empty ones are skipped", async () => {
  const utf8 = Buffer.from("grün").toString("latin1");
  expect(await split(["a", "b\n\nc\r\n", utf8.slice(0, 3), `${utf8.slice(3)}\nend`])).toEqual(
    ["ab", "c\r", "grün", "end"].map(line),
  );
});

test("a line that is too long is reported once, and the next one is read", async () => {
  expect(await split(["x".repeat(8), "x".repeat(8), "x".repeat(50), "\nok\n", `${"y".repeat(11)}\n`])).toEqual([
    { kind: "too_long" },
    line("ok"),
    { kind: "too_long" },
  ]);
});
