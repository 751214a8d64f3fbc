import { expect, test } from "vitest";
import { plainRequest } from "./plain-request.ts";

const asked = { permissionId: "p", kind: "permission", tool: "Bash", askedAt: "", answerable: true } as const;

test.for([
  ["one field", { command: "rm -rf build" }, "rm -rf build"],
  ["several fields, as JSON", { command: "ls", description: "List" }, 'command: "ls", description: "List"'],
  ["accented letters", { file_path: "/srv/Überblick/café.txt" }, "/srv/Überblick/café.txt"],
  ["seven blanks", { command: `a${" ".repeat(7)}b` }, `a${" ".repeat(7)}b`],
  ["120 characters", { command: "x".repeat(120) }, "x".repeat(120)],
  ["text that looks like another field", { a: 'b", c: "d', e: "f" }, 'a: "b\\", c: \\"d", e: "f"'],
] as const)("a request with %s is shown in whole", ([, input, text]) => {
  expect(plainRequest({ ...asked, input })).toEqual({ tool: "Bash", text });
});

test.for([
  ["121 characters", "x".repeat(121)],
  ["eight blanks", `ls${" ".repeat(8)}; rm -rf /`],
  ["a line break", "ls\nrm -rf /"],
  ["a carriage return", "ls\rrm"],
  ["a tab", "ls\trm"],
  ["an escape", "ls \u001b[8mrm"],
  ["a line separator", "ls\u2028rm"],
  ["a no-break space", "ls\u00a0rm"],
  ["an ideographic space", "ls\u3000rm"],
  ["a braille blank", "ls\u2800rm"],
  ["a Hangul filler", "ls\u3164rm"],
  ["a zero-width space", "ls\u200brm"],
  ["a soft hyphen", "ls\u00adrm"],
  ["a variation selector", "ls\ufe0frm"],
  ["a tag character", "ls\u{e0072}rm"],
  ["right-to-left override", "ls \u202emr"],
  ["an isolate", "ls \u2066rm"],
  ["letters written from right to left", "ls אב"],
  ["Cyrillic letters that look Latin", "сurl x"],
  ["a click letter that looks like a bar", "a ǀ b"],
  ["combining marks", "ls\u0336\u0336"],
  ["an object replacement character", "ls \ufffc"],
  ["a lone surrogate", "ls \ud800"],
  ["a blank at the end", "ls "],
  ["nothing", ""],
] as const)("a request with %s is not", ([, command]) => {
  expect(plainRequest({ ...asked, input: { command } })).toBeNull();
});

test("nor are questions, plans, requests for the terminal, and inputs that are no object", () => {
  const input = { command: "ls" };
  for (const kind of ["question", "plan", "dialog"] as const)
    expect(plainRequest({ ...asked, kind, input })).toBeNull();
  expect(plainRequest({ ...asked, answerable: false, input })).toBeNull();
  expect(plainRequest({ ...asked, tool: "Ba\u200bsh", input })).toBeNull();
  for (const other of [null, 1, [], {}, { "a b": 1, c: 2 }, { deep: { text: "x".repeat(130) } }]) {
    expect(plainRequest({ ...asked, input: other })).toBeNull();
  }
});
