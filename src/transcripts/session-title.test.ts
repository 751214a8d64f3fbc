import { expect, test } from "vitest";
import { promptTitle, sessionTitle, titleFrom } from "./session-title.ts";

test.each([
  ["Fix the login", "Fix the login"],
  ["Fix the login\n\nIt fails since Monday.", "Fix the login"],
  ["\n \t\n  Fix the   login \u0007 now\r\nplease", "Fix the login now"],
  ["# Fix the **login** of `src/app.ts`\n- one", "Fix the login of src/app.ts"],
  ["> - [ ] 1. Fix it", "Fix it"],
  ["```ts\nconst a = 1;\n```\nWhat is this?", "const a = 1;"],
  ['<context>\n<file path="a">\nExplain this', "Explain this"],
  ["---\n***\nRelease notes", "Release notes"],
  ["Read [the page](https://example.com/a) and ![this](b.png)", "Read the page and this"],
  ["Is Map<string, __init__> * 2 ** 3 fine?", "Is Map<string, __init__> * 2 ** 3 fine?"],
  ["?!", "?!"],
  ["Hi! Fix it.", "Hi! Fix it."],
])("the title of the prompt %j is %j", (prompt, title) => {
  expect(promptTitle(prompt)).toBe(title);
});

test("a prompt without a visible character has no title", () => {
  expect(promptTitle("")).toBeNull();
  expect(promptTitle(" \n\u0000\n")).toBeNull();
  expect(promptTitle("\n".repeat(5_000))).toBeNull();
});

test("a long line ends with its first sentence that says something", () => {
  const rest = "and then one more thing, ".repeat(20);
  expect(promptTitle(`Hi. The parser fails on e.g.x and v1.2 files. Fix it ${rest}`)).toBe(
    "Hi. The parser fails on e.g.x and v1.2 files.",
  );
  expect(promptTitle(`登录失败了，星期一以来所有人都进不去。${"请修复它".repeat(50)}`)).toBe(
    "登录失败了，星期一以来所有人都进不去。",
  );
});

test("a long line without an early sentence ends between words", () => {
  const title = promptTitle("wordy, ".repeat(100)) ?? "";
  expect(title).toBe(`${"wordy, ".repeat(13)}wordy…`);
  expect(promptTitle("x".repeat(1_000))).toBe(`${"x".repeat(99)}…`);
  // Half of a surrogate pair is no character.
  expect(promptTitle("😀".repeat(500))).toBe(`${"😀".repeat(49)}…`);
});

test("a line of ten thousand signs takes no longer than its start", () => {
  for (const text of ["[", "*", "`", "<a ", "# ", "> ", "(".repeat(3), "[a]("]) {
    expect(promptTitle(text.repeat(10_000))).not.toBeNull();
  }
});

test("a session's own title counts, in full", () => {
  const ownTitle =
    "The agent's own title. It has two sentences, and is quite long, because the model wrote it that way.";
  expect(sessionTitle({ ownTitle, firstPrompt: "Fix it" })).toBe(ownTitle);
  expect(sessionTitle({ ownTitle: " ", firstPrompt: "# Fix it\nnow" })).toBe("Fix it");
  expect(sessionTitle({ ownTitle: null, firstPrompt: null })).toBeNull();
  expect(titleFrom("x".repeat(300))).toHaveLength(200);
});
