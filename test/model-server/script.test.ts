import fc from "fast-check";
import { expect, test } from "vitest";
import { closingText, echoOf, parseScript } from "./script.ts";

test("a prompt without directives is echoed with a unique digest", () => {
  expect(echoOf("hello  there\nyou")).toBe(`ECHO hello there you #${echoOf("hello  there\nyou").slice(-8)}`);
  expect(echoOf("a")).not.toBe(echoOf("a "));
  expect(echoOf("😀".repeat(70))).toMatch(/^ECHO (😀){60} #[0-9a-f]{8}$/u);
});

test("each directive has its own line, with or without a colon", () => {
  const script = parseScript(
    [
      "Please do this:",
      "think: about it",
      "write notes/a.txt with hello with you",
      "run ls -la | head",
      "escalate touch /x",
      'call mcp__notes__add {"a": 1}',
      "ask Which way?",
      "slow 1500",
      "fail 529 2",
      "header retry-after 60",
      'error {"type":"slow_down"}',
      "say done",
      'answer {"a": []}',
      "lines 3",
    ].join("\n"),
  );
  expect(script).toEqual({
    thinking: "about it",
    steps: [
      { kind: "write", path: "notes/a.txt", text: "hello with you" },
      { kind: "run", command: "ls -la | head", escalate: false },
      { kind: "run", command: "touch /x", escalate: true },
      { kind: "call", tool: "mcp__notes__add", input: { a: 1 } },
      { kind: "ask", question: "Which way?" },
    ],
    slowMs: 1500,
    fail: { status: 529, times: 2, headers: { "retry-after": "60" }, error: { type: "slow_down" } },
    say: "done",
    answer: '{"a": []}',
    lines: 3,
  });
});

test("prose that merely contains the words is not a script", () => {
  const script = parseScript("Do not run away\nI write with joy\nwriting x with y\nfail often\nrunning late");
  expect(script.steps).toEqual([]);
  expect(script.fail).toBeNull();
});

test("the last answer quotes every tool result", () => {
  const script = parseScript("say all done\nlines 2");
  const outcomes = [
    { ok: true, text: "one" },
    { ok: false, text: "two" },
  ];
  expect(closingText("x", script, outcomes).split("\n")).toEqual([
    "all done",
    "RESULT 1 ok: one",
    "RESULT 2 error: two",
    expect.stringMatching(/^Line 1 of 2/),
    expect.stringMatching(/^Line 2 of 2/),
  ]);
});

test("no prompt makes the parser throw", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom("run ", "write ", "call x {", "fail "),
      (text, word) => {
        const prompt = `${word}${text}\n${text}`;
        closingText(prompt, parseScript(prompt), []);
      },
    ),
  );
});
