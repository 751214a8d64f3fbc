import { pino } from "pino";
import { expect, test } from "vitest";
import { readableLogLine } from "./log.ts";

function lineOf(write: (log: ReturnType<typeof pino>) => void): string {
  let text = "";
  const options = { base: null, serializers: { error: pino.stdSerializers.err } };
  write(pino(options, { write: (line: string) => void (text += readableLogLine(line)) }));
  return text;
}

test("a line says when, how grave, what, and its fields", () => {
  const line = lineOf((log) => log.info({ addresses: ["http://[::1]:1"], route: "/a b", status: 200 }, "request"));
  expect(line).toMatch(
    /^\d\d:\d\d:\d\d {2}info {3}request {2}addresses=\["http:\/\/\[::1\]:1"\] {2}route="\/a b" {2}status=200\n$/,
  );
});

test("an error shows its message and where it was thrown", () => {
  const line = lineOf((log) => log.error({ error: new Error("It broke.") }, "failed"));
  expect(line).toMatch(/^\S+ {2}error {2}failed {2}"It broke\."\n {6}at .*log\.test/);
});

test("nothing that came from outside moves the cursor", () => {
  const line = lineOf((log) => log.warn({ title: "a\u001b[2J\u009b2J\nb" }, "odd"));
  expect(line.trimEnd()).toMatch(/^[\x20-\x7e]*$/);
});

test("nor does it within an error, whose message stands in the stack too", () => {
  const line = lineOf((log) => log.error({ error: new Error("first\n\u001b[2J\u009b2J second") }, "failed"));
  expect(line).toMatch(/^[\n\x20-\x7e]*$/);
});

test("what is no line of the log stays as it is", () => {
  expect(readableLogLine("plain\n")).toBe("plain\n");
});
