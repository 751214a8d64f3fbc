import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseMarkdown } from "./markdown.ts";
import { type Inline, parseInline } from "./markdown-inline.ts";

function textOf(pieces: readonly Inline[]): string {
  return pieces
    .map((piece) =>
      piece.type === "text" || piece.type === "code"
        ? piece.text
        : piece.type === "break"
          ? "\n"
          : textOf(piece.children),
    )
    .join("");
}

function linksOf(pieces: readonly Inline[]): readonly string[] {
  return pieces.flatMap((piece) => {
    if (piece.type === "link") return [piece.href, ...linksOf(piece.children)];
    return "children" in piece ? linksOf(piece.children) : [];
  });
}

describe("markdown", () => {
  it("knows the blocks that agents write", () => {
    const text = [
      "# Done",
      "Two lines",
      "of one paragraph.",
      "",
      "- one",
      "- two",
      "  - nested",
      "",
      "1. first",
      "2. second",
      "",
      "```ts",
      "const a = 1;",
      "",
      "```",
      "> quoted",
      "",
      "| a | b |",
      "|---|---|",
      "| 1 | 2 |",
      "---",
    ].join("\n");
    expect(parseMarkdown(text).map(({ type }) => type)).toEqual([
      "heading",
      "paragraph",
      "list",
      "list",
      "code",
      "quote",
      "table",
      "rule",
    ]);
    expect(parseMarkdown(text)[2]).toMatchObject({
      items: [[{ text: "one" }], [{ text: "two" }, { type: "list", items: [[{ text: "nested" }]] }]],
    });
    expect(parseMarkdown(text)[4]).toEqual({ type: "code", language: "ts", text: "const a = 1;\n" });
  });

  it("keeps an unfinished code block, as it stands while an agent writes", () => {
    expect(parseMarkdown("```sh\nls")).toEqual([{ type: "code", language: "sh", text: "ls" }]);
  });

  it("reads emphasis, code and links within a line", () => {
    expect(parseInline("a **b** `c*d*` _e_ snake_case_name [f](https://example.com/g)")).toEqual([
      { type: "text", text: "a " },
      { type: "strong", children: [{ type: "text", text: "b" }] },
      { type: "text", text: " " },
      { type: "code", text: "c*d*" },
      { type: "text", text: " " },
      { type: "emphasis", children: [{ type: "text", text: "e" }] },
      { type: "text", text: " snake_case_name " },
      { type: "link", href: "https://example.com/g", children: [{ type: "text", text: "f" }] },
    ]);
  });

  it("makes no link of anything but http and https", () => {
    for (const href of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "data:text/html,x",
      "file:///etc/passwd",
      "//x.example",
      "/api/x",
    ]) {
      expect(linksOf(parseInline(`[here](${href})`)), href).toEqual([]);
      expect(textOf(parseInline(`[here](${href})`))).toBe(`[here](${href})`);
    }
    expect(linksOf(parseInline("see https://example.com/a_b."))).toEqual(["https://example.com/a_b"]);
    expect(linksOf(parseInline("[x](https://bank.example@evil.example/)"))).toEqual([]);
  });

  it("leaves HTML as the text that it is", () => {
    expect(parseInline("<script>alert(1)</script>")).toEqual([{ type: "text", text: "<script>alert(1)</script>" }]);
  });

  it("never throws, and links lead nowhere but the web, whatever is written", () => {
    const pieces = fc.constantFrom(
      "*",
      "_",
      "`",
      "[",
      "](",
      ")",
      "http://a.b",
      "javascript:",
      "\n",
      "- ",
      "> ",
      "|",
      "1. ",
      "#",
      " ",
      "x",
      "```",
      "~~",
      "\\",
      "<",
      "!",
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 60 }), (parts) => {
        const text = parts.join("");
        parseMarkdown(text);
        for (const href of linksOf(parseInline(text))) expect(href).toMatch(/^https?:\/\//);
      }),
    );
  });

  it("takes no longer than it should for what is made to be slow", () => {
    const begun = performance.now();
    for (const piece of ["*a ", "[", "`", "_a ", "> ", "- ", "**", "[a](", "| "]) {
      parseMarkdown(piece.repeat(5_000));
      parseInline(piece.repeat(5_000));
    }
    expect(performance.now() - begun).toBeLessThan(5_000);
  });
});
