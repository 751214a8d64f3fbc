import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AnswerFilter } from "./answer-filter.ts";

function filtered(...pieces: readonly string[]): string {
  const filter = new AnswerFilter();
  const passed = pieces.map((piece) => filter.push(Buffer.from(piece)));
  return Buffer.concat([...passed, filter.flush()]).toString();
}

const answers = {
  "device attributes (DA1)": "\x1b[?62;4;22c",
  "device attributes (DA2)": "\x1b[>0;276;0c",
  "device attributes (DA3)": "\x1bP!|00000000\x1b\\",
  "device status": "\x1b[0n",
  "a malfunction": "\x1b[3n",
  "the cursor's place": "\x1b[24;80R",
  "the cursor's place in the corner": "\x1b[1;1R",
  "the cursor's place in the first row, far right": "\x1b[1;17R",
  "the cursor's extended place": "\x1b[?1;2R",
  "a mode (DECRPM)": "\x1b[?2026;2$y",
  "an ANSI mode (DECRPM)": "\x1b[4;2$y",
  "name and version (XTVERSION)": "\x1bP>|xterm.js(6.0.0)\x1b\\",
  "a setting (DECRQSS)": "\x1bP1$r0m\x1b\\",
  "no setting (DECRQSS)": "\x1bP0$r\x1b\\",
  "a capability (XTGETTCAP)": "\x1bP1+r544e=787465726d\x1b\\",
  "a palette colour": "\x1b]4;1;rgb:cccc/0000/0000\x1b\\",
  "the text colour": "\x1b]10;rgb:ffff/ffff/ffff\x07",
  "the background": "\x1b]11;rgb:0000/0000/0000\x1b\\",
  "the cursor's colour": "\x1b]12;rgb:0000/0000/0000\x07",
  "the clipboard": "\x1b]52;c;aGVsbG8=\x07",
  "the title": "\x1b]lvim\x1b\\",
  "the window's size": "\x1b[8;24;80t",
  "the window's pixels": "\x1b[4;600;800t",
  "a resize reported in the stream": "\x1b[48;24;80;600;800t",
  "the keyboard's protocol": "\x1b[?1u",
  "the colour scheme": "\x1b[?997;1n",
  "terminal parameters": "\x1b[2;1;1;112;112;1;0x",
  graphics: "\x1b_Gi=1;OK\x1b\\",
};

const keys = {
  Escape: "\x1b",
  "the arrows": "\x1b[A\x1b[B\x1bOC\x1bOD",
  "Alt and a bracket": "\x1b[",
  "Alt and a closing bracket": "\x1b]",
  "Alt and P": "\x1bP",
  "Alt and P, then a word": "\x1bPlease",
  "Alt and an underscore": "\x1b_",
  F3: "\x1bOR",
  "Shift+F3": "\x1b[1;2R",
  "all modifiers and F3": "\x1b[1;16R",
  "F5 with Ctrl": "\x1b[15;5~",
  "Shift+Enter of the keyboard protocol": "\x1b[13;2u",
  "a key's release": "\x1b[97;1:3u",
  "the mouse": "\x1b[<0;10;20M\x1b[<0;10;20m",
  "the mouse, of old": "\x1b[M !!",
  "focus gained and lost": "\x1b[I\x1b[O",
  "Alt and Escape": "\x1b\x1b[A",
  "the Linux console's F1": "\x1b[[A",
  "words and characters of all kinds": "grün 日本 👍🏽 \x03\r\t",
};

describe("the answers of a viewer's terminal", () => {
  test.for(Object.entries(answers))("%s is dropped", ([, answer]) => {
    expect(filtered(answer)).toBe("");
    expect(filtered(`a${answer}b`)).toBe("ab");
  });

  test.for(Object.entries(answers))("%s is dropped when it arrives in pieces", ([, answer]) => {
    // After its first two characters it can still be Alt and a key.
    for (let cut = 3; cut < answer.length; cut += 1) {
      expect(filtered(answer.slice(0, cut), answer.slice(cut))).toBe("");
    }
  });

  test("within a bracketed paste it is text", () => {
    const all = Object.values(answers).join("");
    const pasted = `\x1b[200~${all}\x1b[201~`;
    expect(filtered(pasted)).toBe(pasted);
    expect(filtered(`${all}${pasted}${all}`)).toBe(pasted);
  });

  test("after a paste that arrived in pieces it is dropped again", () => {
    const pasted = `\x1b[200~${answers["device status"]}\x1b[201~`;
    // This is also true for the start of the paste.
    for (let cut = 3; cut < pasted.length; cut += 1) {
      const pieces = [pasted.slice(0, cut), pasted.slice(cut), answers["device status"]];
      expect(filtered(...pieces), `cut at ${cut}`).toBe(pasted);
    }
  });

  test("an incomplete answer is held only briefly", () => {
    const filter = new AnswerFilter();
    const long = Buffer.from(`\x1b]52;c;${"A".repeat(70_000)}`);
    expect(filter.push(long)).toEqual(long);
    expect(filter.holds).toBe(false);
  });
});

describe("user input at a viewer's terminal", () => {
  test.for(Object.entries(keys))("%s passes", ([, key]) => {
    expect(filtered(key)).toBe(key);
    expect(filtered(`a${key}`, "b")).toBe(`a${key}b`);
  });

  test("is unchanged by answers in between, however it is split", () => {
    const part = fc.oneof(
      fc.constantFrom(...Object.values(answers)).map((text) => ({ text, answer: true })),
      // Adjacent keys can form a single sequence.
      fc
        .constantFrom("\x1b[A", "\x1b[1;2R", "hello", "日本", "\r", "\x1b[<0;1;2M")
        .map((text) => ({ text, answer: false })),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        const expected = parts.flatMap(({ text, answer }) => (answer ? [] : [text])).join("");
        expect(filtered(parts.map(({ text }) => text).join(""))).toBe(expected);
      }),
    );
  });

  test("any bytes are accepted, and pass unchanged without an escape character", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }), (pieces) => {
        const filter = new AnswerFilter();
        const plain = pieces.map((piece) => Buffer.from(piece.filter((byte) => byte !== 0x1b)));
        const passed = plain.map((piece) => filter.push(piece));
        expect(Buffer.concat(passed).equals(Buffer.concat(plain))).toBe(true);
        const escaping = new AnswerFilter();
        for (const piece of pieces) escaping.push(Buffer.from([0x1b, ...piece]));
      }),
    );
  });
});
