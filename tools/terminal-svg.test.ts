import { expect, test } from "vitest";
import { terminalSvg } from "./terminal-svg.ts";

const size = { cols: 20, rows: 4 };

test("each frame is one step of the animation, and a repeated row is drawn once", async () => {
  const svg = await terminalSvg(
    [
      { atMs: 0, data: "one\r\n" },
      { atMs: 1_000, data: "two\r\n" },
      { atMs: 60_000, data: "three" },
    ],
    size,
  );
  expect(svg.match(/%\{transform/g)).toHaveLength(3);
  expect(svg.match(/>one</g)).toHaveLength(1);
  expect(svg.match(/<use /g)).toHaveLength(1 + 2 + 3);
  expect(svg, "a long pause is short").toContain("animation:play 6600ms");
});

test("simultaneous output is one frame, and includes its end", async () => {
  const svg = await terminalSvg(
    ["t", "y", "p", "e", "d"].map((data, index) => ({ atMs: index, data })),
    size,
  );
  expect(svg.match(/%\{transform/g)).toHaveLength(2);
  expect(svg).toContain(">typed<");
});

test("colors, attributes and backgrounds are kept, and text is escaped", async () => {
  const svg = await terminalSvg(
    [{ atMs: 0, data: "\x1b[1;38;2;1;2;3;48;5;196m<b>&\x1b[0m \x1b[7mturned\x1b[0m" }],
    size,
  );
  expect(svg).toContain('style="fill:#010203" class="b">&lt;b&gt;&amp;</text>');
  expect(svg).toContain('fill="#ff0000"');
  expect(svg).toContain('style="fill:#0b0f0e">turned</text>');
});

test("with reduced motion the fullest frame is shown", async () => {
  const svg = await terminalSvg(
    [
      { atMs: 0, data: "a\r\nb\r\nc" },
      { atMs: 1_000, data: "\x1b[2J\x1b[Hend" },
    ],
    size,
  );
  expect(svg).toMatch(/prefers-reduced-motion:reduce\)\{\.play\{animation:none;transform:translateY\(-?0px\)/);
});
