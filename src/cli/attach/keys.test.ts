import fc from "fast-check";
import { expect, test } from "vitest";
import { createFakeClock } from "../../../test/support/fake-clock.ts";
import { createKeyReader, defaultDetachKey, detachKey } from "./keys.ts";

function reader(name = defaultDetachKey) {
  const clock = createFakeClock();
  const inputs: string[] = [];
  let detached = false;
  const keys = createKeyReader(
    { clock, detach: detachKey(name) },
    { onInput: (data) => void inputs.push(data.toString("latin1")), onDetach: () => void (detached = true) },
  );
  return {
    clock,
    inputs,
    read: (text: string) => keys.read(Buffer.from(text, "latin1")),
    text: () => inputs.join(""),
    detached: () => detached,
  };
}

test("keys are passed unchanged, a lone Escape without delay", () => {
  const { read, inputs } = reader();
  for (const key of [
    "a",
    "\x1b",
    "\x1b[A",
    "\x1bOP",
    "\x1b[1;5C",
    "\x1b[1;2R",
    "\x1b[<0;3;4M",
    "\x1b[I",
    "\xc3\xa9",
    "\x03",
    "\r",
  ])
    read(key);
  expect(inputs).toEqual([
    "a",
    "\x1b",
    "\x1b[A",
    "\x1bOP",
    "\x1b[1;5C",
    "\x1b[1;2R",
    "\x1b[<0;3;4M",
    "\x1b[I",
    "\xc3\xa9",
    "\x03",
    "\r",
  ]);
});

test.each([
  ["ctrl+\\", "\x1c"],
  ["^\\", "\x1b[92;5u"],
  ["C-\\", "\x1b[27;5;92~"],
  ["ctrl+]", "\x1d"],
  ["CTRL+A", "\x01"],
  ["ctrl+q", "\x1b[113;5u"],
])("%s detaches in every encoding that terminals send", (name, sent) => {
  const { read, text, detached } = reader(name);
  read(`before${sent}after`);
  expect([detached(), text()]).toEqual([true, "before"]);
});

test.each(["ctrl+c", "ctrl+m", "^[", "x", "", "ctrl+ab", "alt+x"])("%j cannot be the key", (name) => {
  expect(() => detachKey(name)).toThrow("Use ctrl+");
});

const answers = [
  "\x1b[?62;4c",
  "\x1b[>0;276;0c",
  "\x1b[0n",
  "\x1b[24;80R",
  "\x1b[?1;2R",
  "\x1b[?997;1n",
  "\x1b[?2026;2$y",
  "\x1b[4;1$y",
  "\x1b[8;24;80t",
  "\x1b[?0u",
  "\x1b]11;rgb:0000/0000/0000\x1b\\",
  "\x1b]10;rgb:ffff/ffff/ffff\x07",
  "\x1bP>|XTerm(390)\x1b\\",
  "\x1bP1$r0m\x1b\\",
  "\x1b_Gi=1;OK\x1b\\",
];

test("the terminal's automatic answers are dropped, wherever they are split after the first two characters", async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...answers), fc.nat(40), async (answer, place) => {
      const { read, text, clock } = reader();
      const at = 2 + (place % (answer.length - 1));
      read(`a${answer.slice(0, at)}`);
      read(`${answer.slice(at)}b`);
      await clock.advance(1_000);
      expect(text()).toBe("ab");
    }),
  );
});

test("input that only looks like the start of an answer is passed when nothing follows", async () => {
  const { read, text, clock } = reader();
  read("\x1b]");
  expect(text()).toBe("");
  await clock.advance(50);
  expect(text()).toBe("\x1b]");
});

test("a paste is passed byte for byte however it is split, including the detach key and answers in it", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom("text", "\x1c", "\x1b[?62;4c", "\x1b[201", "\x1b", "\r", ...answers), { maxLength: 8 }),
      fc.array(fc.nat(200), { maxLength: 8 }),
      async (parts, places) => {
        const { read, text, detached, clock } = reader();
        const pasted = `\x1b[200~${parts.join("")}.\x1b[201~`;
        const cuts = [...new Set(places.map((place) => 2 + (place % pasted.length)))].toSorted((a, b) => a - b);
        for (const [index, end] of [...cuts, pasted.length].entries())
          read(pasted.slice(index === 0 ? 0 : cuts[index - 1], end));
        expect([text(), detached()]).toEqual([pasted, false]);
        read("\x1b[?1cx\x1c");
        await clock.advance(1_000);
        expect([text(), detached()]).toEqual([`${pasted}x`, true]);
      },
    ),
  );
});
