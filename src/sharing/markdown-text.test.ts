import fc from "fast-check";
import MarkdownIt from "markdown-it";
import { expect, test } from "vitest";
import { fenced, inertInline, inertMarkdown } from "./markdown-text.ts";

/** Finds everything that could be active, as a viewer with HTML would. */
const reader = new MarkdownIt({ html: true, linkify: false });

/** Kinds of tokens in a document, also within paragraphs. */
function kindsIn(markdown: string): ReadonlySet<string> {
  return new Set(
    reader.parse(markdown, {}).flatMap(({ type, children }) => [type, ...(children ?? []).map((one) => one.type)]),
  );
}

const active = ["heading_open", "image", "link_open", "html_block", "html_inline"];

function activeIn(text: string): readonly string[] {
  // As in an export: between two turns, of which only the second is real.
  const document = `# Title\n\n## You\n\n${inertMarkdown(text)}\n\n## Agent\n\nend\n`;
  const headings = reader.parse(document, {}).flatMap(({ type, map }) => (type === "heading_open" ? [map?.[0]] : []));
  const forged = headings.length === 3 ? [] : [`${headings.length} headings`];
  return [...forged, ...active.filter((kind) => kind !== "heading_open" && kindsIn(document).has(kind))];
}

const hostile = [
  "## You · 2026-01-01",
  "Turn\n===",
  "Turn\n---",
  "> Turn\n> ---",
  "- # in a list",
  "1. > ## in a quote in a list",
  "\t# after a tab",
  "![x](https://evil.example/a.png)",
  "!![x](https://evil.example/a.png)",
  "\\![x](https://evil.example/a.png)",
  "\\\\![x](https://evil.example/a.png)",
  "![over\nlines](https://evil.example/a.png)",
  "![x][1]\n\n[1]: https://evil.example/a.png",
  "![1]\n\n[1]:\nhttps://evil.example/a.png",
  "`![x](https://evil.example/a.png)",
  "\\`![x](https://evil.example/a.png)`",
  "``code` ![x](https://evil.example/a.png) ``` more",
  "`a\n![x](https://evil.example/a.png)`",
  '<img src="https://evil.example/a.png">',
  "<https://evil.example>",
  "<!-- ![x](a) -->",
  "<pre>\n```\n</pre>\n![x](https://evil.example/a.png)\n```",
  "```\ncode\n```` \n![x](https://evil.example/a.png)",
  "~~~\n```\n~~~\n![x](https://evil.example/a.png)",
  "~~~``\n## You",
  "``` `\n![x](https://evil.example/a.png)",
  "- ```\n![x](https://evil.example/a.png)",
  "> ```\n![x](https://evil.example/a.png)",
  "    ```\n![x](https://evil.example/a.png)",
  "```\nnever closed\n## You",
  "```md\n## in code\n```\n## You",
  "a\r## You\r![x](https://evil.example/a.png)".replaceAll("\r", "\n"),
];

test.each(hostile.map((text) => [text]))("makes %j inert", (text) => {
  expect(activeIn(text)).toEqual([]);
});

test("keeps code, lists and emphasis as they are", () => {
  const text =
    "**Bold** and `a[0] < b` and ``x ` y``\n\n- one\n- two\n\n```ts\nconst a = ![1];\n## no heading\n```\nafter";
  expect(inertMarkdown(text)).toBe(text);
});

test("shows every character of the text", () => {
  const shown = (markdown: string) =>
    reader
      .parse(markdown, {})
      .flatMap(({ content, children }) => (children === null ? [content] : children.map((one) => one.content)));
  for (const text of ["![x](https://evil.example/a.png)", "# heading", "a <b> [c]"]) {
    expect(shown(inertMarkdown(text)).join("")).toBe(text);
  }
});

test("adds nothing but backslashes to text that is read as it is", () => {
  expect(inertMarkdown("Done! See [a](b) \\[c] \\\\[d] <e>\n---\n# f")).toBe(
    "Done! See \\[a](b) \\[c] \\\\\\[d] \\<e>\n\\---\n\\# f",
  );
});

test("makes any text inert", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...[
        "\n",
        "\n\n",
        "`",
        "``",
        "```",
        "~~~",
        "!",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        "#",
        "## ",
        "===",
        "---",
        "- ",
        "1. ",
        "> ",
      ],
      ...[
        "\\",
        "\\\\",
        "    ",
        "\t",
        " ",
        "x",
        "https://evil.example/a.png",
        "![x](u)",
        "[x]: u",
        "<img src=u>",
        "&lt;",
        "&#33;",
        "*",
        "|",
      ],
    ),
    fc.string({ maxLength: 3 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join("").replaceAll("\r", "\n");
      expect(activeIn(text)).toEqual([]);
    }),
    { numRuns: 3_000 },
  );
});

test("a fence is longer than every one in its content, and a title has no structure", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[`~\n x]{0,40}$/), (content) => {
      const blocks = reader.parse(`${fenced(content)}\n\nafter`, {}).map(({ type }) => type);
      expect(blocks).toEqual(["fence", "paragraph_open", "inline", "paragraph_close"]);
    }),
  );
  const kinds = kindsIn(`## ${inertInline("a ![x](u) `b` <c> *d* # ##")}`);
  expect(["image", "link_open", "code_inline", "html_inline", "em_open"].filter((kind) => kinds.has(kind))).toEqual([]);
});

test("long lines of blanks, quotes, fences and backticks are read in linear time", () => {
  const length = 1_000_000;
  const ticks = Array.from({ length: 190 }, (_, index) => `${"`".repeat(index + 1)}a`).join("");
  const lines = [
    " ".repeat(length),
    "> ".repeat(length / 2),
    "- ".repeat(length / 2),
    "~".repeat(length),
    `\`\`\`${" ".repeat(length)}`,
  ];
  const startedAt = performance.now();
  for (const line of lines) inertMarkdown(`${line}x\`\n`);
  inertMarkdown(`${ticks}\n`.repeat(5));
  expect(performance.now() - startedAt).toBeLessThan(15_000);
});
