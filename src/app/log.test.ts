import { pino } from "pino";
import { expect, test } from "vitest";
import { readableLogLine } from "./log.ts";

function lineOf(write: (log: ReturnType<typeof pino>) => void): string {
  let text = "";
  const options = { base: null, serializers: { error: pino.stdSerializers.err } };
  write(pino(options, { write: (line: string) => void (text += readableLogLine(line)) }));
  return text;
}

test("a line has the time, level, message and fields", () => {
  const line = lineOf((log) => log.info({ addresses: ["http://[::1]:1"], route: "/a b", status: 200 }, "request"));
  expect(line).toMatch(
    /^\d\d:\d\d:\d\d {2}info {3}request {2}addresses=\["http:\/\/\[::1\]:1"\] {2}route="\/a b" {2}status=200\n$/,
  );
});

test("an error shows its message and where it was thrown", () => {
  const line = lineOf((log) => log.error({ error: new Error("It broke.") }, "failed"));
  expect(line).toMatch(/^\S+ {2}error {2}failed {2}"It broke\."\n {6}at .*log\.test/);
});

test("no untrusted value moves the cursor", () => {
  const line = lineOf((log) => log.warn({ title: "a\u001b[2J\u009b2J\nb" }, "odd"));
  expect(line.trimEnd()).toMatch(/^[\x20-\x7e]*$/);
});

test("nor does one within an error, whose message is also in its stack", () => {
  const line = lineOf((log) => log.error({ error: new Error("first\n\u001b[2J\u009b2J second") }, "failed"));
  expect(line).toMatch(/^[\n\x20-\x7e]*$/);
});

test("text that is not a log line is unchanged", () => {
  expect(readableLogLine("plain\n")).toBe("plain\n");
});
