import fc from "fast-check";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { Markdown } from "./markdown-view.tsx";

/** The elements of the page, without styling. */
function shown(text: string): string {
  return renderToStaticMarkup(createElement(Markdown, { text })).replaceAll(/ class="[^"]*"/g, "");
}

function wordsOf(text: string): string {
  return shown(text).replaceAll(/<[^>]*>/g, "");
}

function tagsOf(text: string): readonly string[] {
  return [...new Set([...shown(text).matchAll(/<([a-z]\w*)/g)].map(([, tag = ""]) => tag))];
}

describe("markdown", () => {
  it("renders the blocks that agents write", () => {
    const text = [
      "# Done",
      "Two lines",
      "of one paragraph.",
      "",
      "- one",
      "- two",
      "  - nested",
      "",
      "3. third",
      "4. fourth",
      "",
      "> quoted",
      "",
      "| a | b |",
      "|---|--:|",
      "| 1 | 2 |",
      "",
      "---",
    ].join("\n");
    const html = shown(text);
    expect(html).toContain("<h4>Done</h4><p>Two lines\nof one paragraph.</p>");
    expect(html).toContain("<li><div><p>two</p><ul><li><div><p>nested</p></div></li></ul></div></li></ul>");
    expect(html).toContain('<ol start="3"><li><div><p>third</p></div></li>');
    expect(html).toContain("<blockquote><p>quoted</p></blockquote>");
    expect(html).toContain("<tbody><tr><td>1</td><td>2</td></tr></tbody>");
    expect(html).toContain("<hr/>");
  });

  it("shows code unchanged with its language, even while an agent is still writing it", () => {
    expect(shown("```ts\nconst a = 1 < 2;\n\n```")).toContain(
      'aria-label="Code, ts" tabindex="0"><pre><code>const a = 1 &lt; 2;\n</code></pre>',
    );
    expect(shown("```sh\nls")).toContain("<pre><code>ls</code></pre>");
  });

  it("renders emphasis, code and links within a line", () => {
    expect(shown("a **b** `c*d*` _e_ ~~f~~ snake_case_name [g](https://example.com/g)")).toBe(
      "<div><p>a <strong>b</strong> <code>c*d*</code> <em>e</em> <del>f</del> snake_case_name " +
        '<a href="https://example.com/g" target="_blank" rel="noopener noreferrer nofollow">g</a></p></div>',
    );
  });

  it("links only http and https addresses without a password", () => {
    for (const href of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "&#106;avascript:alert(1)",
      "data:text/html,x",
      "file:///etc/passwd",
      "mailto:a@b.example",
      "//x.example",
      "/api/x",
      "",
    ]) {
      for (const text of [`[here](${href})`, `<${href}>`, `[here][x]\n\n[x]: ${href}`, `![here](${href})`]) {
        expect(shown(text), text).not.toContain("<a");
      }
    }
    expect(shown("[here](https://bank.example@evil.example/)")).not.toMatch(/href="[^"]*evil/);
    expect(wordsOf("[here](javascript:alert(1))")).toBe("[here](javascript:alert(1))");
    expect(shown("see https://example.com/a_b.")).toContain('<a href="https://example.com/a_b"');
  });

  it("never shows a decoded address as a different one", () => {
    expect(wordsOf("https://xn--80ak6aa92e.example/%E2%80%AE")).toBe("https://xn--80ak6aa92e.example/%E2%80%AE");
  });

  it("shows HTML as text, and loads no image", () => {
    for (const text of [
      "<script>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "<b>a",
      "a <i>b</i>",
      "<!-- c -->",
    ]) {
      expect(wordsOf(text)).toBe(text.replaceAll("<", "&lt;").replaceAll(">", "&gt;"));
      expect(tagsOf(text)).toEqual(["div", "p"]);
    }
    for (const text of ["![a picture](https://example.com/a.png)", "![](https://example.com/a.png)"]) {
      const [block, line, link, icon, ...ofIcon] = tagsOf(text);
      expect([block, line, link, icon]).toEqual(["div", "p", "a", "svg"]);
      expect(ofIcon).not.toContain("img");
    }
  });

  it("creates only its own elements and links to the web, whatever the text", () => {
    const parts = "* _ ` [ ]( ) http://a.b javascript: \n - | 1. # x ``` ~~ \\ < > ! <img &lt; : \t".split(" ");
    const known = /^(div|p|h[456]|pre|code|blockquote|ul|ol|li|hr|table|thead|tbody|tr|th|td|strong|em|del|a|br)$/;
    const icons = /^(span|button|svg|path|rect)$/;
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts, " "), { maxLength: 60 }), (pieces) => {
        const text = pieces.join("");
        for (const tag of tagsOf(text)) expect(known.test(tag) || icons.test(tag), tag).toBe(true);
        for (const [, href] of shown(text).matchAll(/href="([^"]*)/g)) expect(href).toMatch(/^https?:\/\//);
      }),
    );
  });

  it("shows text that is too long or nested too deeply as written", () => {
    const long = `**bold**\n\n${"word ".repeat(5_000)}\n${"next\n".repeat(3_000)}end of *it*`;
    expect(shown(long)).toMatch(/^<div><p><strong>bold<\/strong>/);
    expect(shown(long)).toContain("The rest is too long");
    expect(shown(long)).toMatch(/end of \*it\*<\/p><\/div>$/);
    const deep = `${">".repeat(40)} deep`;
    expect(wordsOf(deep)).toContain(deep.replaceAll(">", "&gt;"));
    expect(wordsOf(`${"- ".repeat(40)}deep`)).toContain(`${"- ".repeat(40)}deep`);
    expect(wordsOf(`${"*a ".repeat(40)}deep${" b*".repeat(40)}`)).toContain("deep");
  });
});

/** Each is slow for some parser. */
const hostile: Readonly<Record<string, string>> = {
  "a heading of spaces": `# a${" ".repeat(2_000)}b`,
  "a table's line of spaces": `a | b\n-${" ".repeat(40_000)}x`,
  "a table's line of spaces within the bounds": `a | b\n-${" ".repeat(30_000)}x`,
  "quotes in quotes": ">".repeat(5_000),
  "lists in lists": "- ".repeat(5_000),
  "numbered lists in lists": "1. ".repeat(5_000),
  "quotes that nest line by line": Array.from({ length: 240 }, (_, at) => `${">".repeat(at)}a`).join("\n"),
  "lists that nest line by line": Array.from({ length: 240 }, (_, at) => `${" ".repeat(at)}- a`).join("\n"),
  "lazy lines of quotes": `${">".repeat(10)}a\n${"a\n".repeat(16_000)}`,
  "a wide table of short rows": `${"|a".repeat(200)}\n${"|-".repeat(200)}\n${"|\n".repeat(15_000)}`,
  "pictures in pictures": "![".repeat(1_000) + "](http://a)".repeat(180),
  "brackets in brackets": `${"[".repeat(2_000)}a${"]".repeat(2_000)}`,
  "strong in strong": `${"**".repeat(1_000)}a${"**".repeat(1_000)}`,
  "a megabyte of links": "a](".repeat(333_000),
  "a megabyte of lines": "a\n".repeat(500_000),
  "a megabyte of list": "- a\n".repeat(250_000),
  "100 KB of emphasis": "__a ".repeat(25_000),
  "`\\r` for a line's end": "a\r".repeat(16_000),
};
const repeated = [
  ..."[ * ` ~ < & \\ | > ! ( _ # - .".split(" "),
  ..."a]( [a]( [a](b ![ ![[]( *] _* a* http:// http://a.b/ a@b.c &amp; a<!A a<? a<![CDATA[".split(" "),
  ..."__a _*a_ **a_*b_ `a``b <a_ [a]:_b_ -_-_ -_[_]_a_ -_a`b_ ~~a~_ *a_**b_ *a*"
    .split(" ")
    .map((each) => each.replaceAll("_", " ")),
  "__a ",
  "a\n",
  "- a\n",
  "> a\n",
  "a\n=\n",
  "[a\n",
  "|x\n",
  "a|b\n-|-\n",
  "[a]: b\n",
  "- ```\n",
  "\n",
];

/** Usually a tenth of it is enough; the rest is for a slow machine with a cold start. */
const maxSeconds = 2;

describe("a text crafted to be slow", () => {
  it.each(Object.entries(hostile))("of %s is shown quickly", (_, text) => {
    expect(secondsOf(text)).toBeLessThan(maxSeconds);
  });

  it("is shown quickly whatever it repeats, in one paragraph and in many", () => {
    const slow = repeated.flatMap((part) =>
      [`${repeat(part, 3_500)}\n\n`.repeat(9), repeat(part, 31_999)].flatMap((text) => {
        const seconds = secondsOf(text);
        return seconds < maxSeconds ? [] : [`${JSON.stringify(part)} to ${text.length}: ${seconds.toFixed(1)} s`];
      }),
    );
    expect(slow).toEqual([]);
  }, 60_000);
});

function repeat(part: string, length: number): string {
  return part.repeat(Math.ceil(length / part.length)).slice(0, length);
}

/** Processor time, because the machine may be busy. */
function secondsOf(text: string): number {
  const begun = process.cpuUsage();
  shown(text);
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1e6;
}
