import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { suiteSeed } from "../../test/support/suite-seed.ts";
import { createScreenModel, type PaintedScreen } from "./screen-model.ts";

const size = { cols: 40, rows: 10 };

/** The picture of `output`, and the answers to its queries. */
function show(output: string | readonly string[], at = size): PaintedScreen & { readonly answers: string } {
  let answers = "";
  const model = createScreenModel(at, (data) => {
    answers += data;
  });
  onTestFinished(() => model.close());
  for (const part of [output].flat()) model.write(Buffer.from(part));
  return { ...model.paint(), answers };
}

/** A screen painted on an empty terminal gives the same screen: a new viewer sees what the host sees. */
function expectRepaints(output: string): void {
  const first = show(output);
  const second = show(first.ansi);
  expect(second.lines).toEqual(first.lines);
  expect(second.ansi).toBe(first.ansi);
}

test("the picture holds text, colours, scrollback and cursor", () => {
  const { lines, ansi } = show("\x1b[1;31mred\x1b[0m\r\nplain");
  expect(lines.slice(0, 3)).toEqual(["red", "plain", ""]);
  expect(ansi).toContain("\x1b[0;1;31mred");
  const many = Array.from({ length: 1_500 }, (_, n) => `line ${n}`).join("\r\n");
  const long = show(many);
  expect(long.lines.at(-1)).toBe("line 1499");
  expect(long.ansi).toContain("line 490\r\n");
  expect(long.ansi).not.toContain("line 489\r\n");
  expectRepaints(many);
});

test("repainting a picture gives the same picture", () => {
  const piece = fc.oneof(
    fc.string({ minLength: 1, maxLength: 30 }),
    fc.constantFrom(
      "\r\n",
      "\x1b[H",
      "\x1b[2J",
      "\x1b[5;7H",
      "\x1b[3A",
      "\x1b[1m",
      "\x1b[0m",
      "\x1b[48;5;99m",
      "\x1b[38;2;1;2;3m",
    ),
    fc.constantFrom(
      "\x1b[?1049h",
      "\x1b[?1049l",
      "\x1b[?2004h",
      "\x1b[?25l",
      "\x1b[?25h",
      "\x1b[?1006h",
      "\x1b[?1002h",
      "\x1b[4 q",
    ),
    fc.constantFrom("\x1b[2K", "\x1b[L", "\x1b[M", "\x1b[S", "\t", "日本", "é", "👩‍👩‍👧"),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60, size: "max" }), (pieces) => {
      const first = show(pieces.join(""));
      expect(show(first.ansi).lines).toEqual(first.lines);
    }),
    { numRuns: 300, seed: suiteSeed },
  );
});

test("modes that decide what a viewer sees and sends are part of the picture", () => {
  const { ansi } = show("\x1b[?1049h\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[?1h\x1b[?25l\x1b[5 q");
  for (const mode of [
    "\x1b[?1049h",
    "\x1b[?1000h",
    "\x1b[?1006h",
    "\x1b[?2004h",
    "\x1b[?1h",
    "\x1b[?25l",
    "\x1b[5 q",
  ]) {
    expect(ansi).toContain(mode);
  }
  const { ansi: later } = show("\x1b[?1006h\x1b[?25l\x1b[5 q\x1b[?1006l\x1b[?25h\x1b[0 q");
  expect(later).toBe("\x1b[1;1H");
  expect(show("\x1b[?2004h\x1b[?1006h\x1bc").ansi).not.toContain("\x1b[?");
});

test("a scroll region continues where the cursor was", () => {
  const output = "1\r\n2\r\n3\r\n4\r\n5\r\n6\x1b[2;4r\x1b[4;1H";
  const after = "new\r\nnewer";
  expect(show([show(output).ansi, after]).lines).toEqual(show([output, after]).lines);
});

test("erasing up to the cursor works in the last cell too", () => {
  expect(show("text\x1b[10;40H\x1b[1J").lines.join("")).toBe("");
  expect(show("\x1b[?1049htext\x1b[10;39Hab\x1b[1J!").lines.join("")).toBe("!");
});

test("output that is split anywhere, even inside a character, paints the same", () => {
  const output = Buffer.from("a\x1b[38;5;120mgrün 日本 👩‍👩‍👧\x1b[0m\x1b]11;?\x07 end");
  const whole = show(output.toString());
  fc.assert(
    fc.property(fc.nat({ max: output.byteLength }), (cut) => {
      let answers = "";
      const model = createScreenModel(size, (data) => {
        answers += data;
      });
      model.write(output.subarray(0, cut));
      model.write(output.subarray(cut));
      expect(model.paint().lines).toEqual(whole.lines);
      expect(answers).toBe(whole.answers);
      model.close();
    }),
    { seed: suiteSeed },
  );
});

test("a picture and the bytes after it give the complete screen, wherever the output was split", () => {
  const output = Buffer.from(
    "a\x1b[38;5;120mgrün 日本 👩‍👩‍👧\x1b[0m\x1b]0;títle\x07b\x1b(0q\x1b(B\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\x1bP1$r\x1b\\\x1b[2;3Hend\x1b7\x1b[K",
  );
  const whole = show(output.toString());
  for (let cut = 0; cut <= output.byteLength; cut++) {
    for (const before of [0, cut >> 1, cut - 1]) {
      const model = createScreenModel(size, () => undefined);
      for (const part of [output.subarray(0, Math.max(0, before)), output.subarray(Math.max(0, before), cut)])
        model.write(part);
      const rest = output.subarray(cut - model.incompleteBytes());
      expect(show([model.paint().ansi, rest.toString("utf8")]).lines).toEqual(whole.lines);
      model.close();
    }
  }
});

test("complete output is not held back", () => {
  for (const output of [
    "text",
    "日本",
    "\x1b[0m",
    "\x1b]0;t\x07",
    "\x1b]0;t\x1b\\",
    "\x1bPx\x1b\\",
    "\x1b(B",
    "\x1bM",
    "\x1b[3\x18",
  ]) {
    const model = createScreenModel(size, () => undefined);
    model.write(Buffer.from(output));
    expect([output, model.incompleteBytes()]).toEqual([output, 0]);
    model.close();
  }
});

test("each query gets one terminal answer", () => {
  expect(show("\x1b[c").answers).toBe("\x1b[?1;2c");
  expect(show("\x1b[>c").answers).toMatch(/^\x1b\[>0;\d+;0c$/);
  expect(show("abc\r\nd\x1b[6n").answers).toBe("\x1b[2;2R");
  expect(show("\x1b[5n").answers).toBe("\x1b[0n");
  expect(show("\x1b]10;?\x1b\\").answers).toBe("\x1b]10;rgb:ffff/ffff/ffff\x1b\\");
  expect(show("\x1b]11;?\x07").answers).toBe("\x1b]11;rgb:0000/0000/0000\x1b\\");
  expect(show("\x1b]10;?;?\x07").answers).toBe("\x1b]10;rgb:ffff/ffff/ffff\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\");
  expect(show("\x1b]4;1;?;196;?\x07").answers).toBe(
    "\x1b]4;1;rgb:cccc/0000/0000\x1b\\\x1b]4;196;rgb:ffff/0000/0000\x1b\\",
  );
  expect(show("\x1b[>q").answers).toBe("\x1bP>|xterm.js(6.0.0)\x1b\\");
  expect(show("\x1b[?2004$p\x1b[?2004h\x1b[?2004$p").answers).toBe("\x1b[?2004;2$y\x1b[?2004;1$y");
  expect(show("\x1b[18t").answers).toBe("\x1b[8;10;40t");
  expect(show("\x1b[?996n").answers).toBe("\x1b[?997;1n");
  expect(show("\x1bP$qm\x1b\\").answers).toMatch(/^\x1bP1\$r/);
});

test("other sequences get no answer, and the kitty keyboard protocol is not advertised", () => {
  expect(show("\x1b[?u\x1b[>1u\x1b]11;#ff0000\x07\x1b]52;c;aGk=\x07\x1b[>4;2m\x1b]0;title\x07text").answers).toBe("");
});

test("clipboard, inline files and other device strings are not part of a picture", () => {
  const { ansi } = show("a\x1b]52;c;aGk=\x07\x1b]1337;File=:AAAA\x07\x1bPq#0~\x1b\\\x1b_G;AAAA\x1b\\b");
  expect(ansi).toBe("ab\x1b[1;3H\x1b[1;2Hb"); // the last character again, so that another can combine with it
});

test("the picture of a screen with a different colour in every cell is bounded", () => {
  let output = "";
  for (let n = 0; n < 300_000; n++) output += `\x1b[38;2;${n % 256};${(n >> 4) % 256};7;48;2;${n % 251};3;${n % 241}mX`;
  expect(show(output, { cols: 300, rows: 100 }).ansi.length).toBeLessThan(8 * 1024 * 1024);
});
