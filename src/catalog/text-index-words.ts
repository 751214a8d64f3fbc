/**
 * What a word is, the same for the index and for queries, for SQLite and for PostgreSQL, in any script. Folded text is text in which
 * the words are the runs of `a-z`, `0-9` and non-ASCII characters; everything else stands between words.
 */

/** A longer word is cut: nobody looks for more, and PostgreSQL takes 2 KB. */
const maxWordCharacters = 128;

/** Stands between pieces of text, so that no phrase reaches over it. No query and no text can hold it as a word. */
export const wordBoundary = "¶";

/** A run that has to be looked at character by character: it holds something that is not ASCII. */
const foreignRun = /[A-Za-z0-9]*[^\u0000-\u007f](?:[A-Za-z0-9]|[^\u0000-\u007f])*/g;
const longAsciiWord = new RegExp(`[A-Za-z0-9]{${maxWordCharacters + 1},}`, "g");
const nonAscii = /[^\u0000-\u007f]/;
const foldedWord = /(?:[a-z0-9]|[^\u0000-\u007f])+/g;

/** Scripts that put no spaces between words: each character is a word of its own, so that a part of a run is found as a phrase. */
const unspaced = [
  ...["Han", "Hiragana", "Katakana", "Hangul", "Bopomofo", "Yi"],
  ...["Thai", "Lao", "Khmer", "Myanmar", "Tibetan"],
]
  .map((script) => `\\p{scx=${script}}`)
  .join("");
const wordAlone = new RegExp(
  `^(?:(?=[\\p{L}\\p{N}])[${unspaced}]|\\p{Extended_Pictographic}|\\p{Regional_Indicator})$`,
  "u",
);
const mark = /^\p{M}$/u;
const partOfWord = /^[\p{L}\p{N}\p{Co}]$/u;

/** Soft hyphens, joiners, direction marks and variation selectors: seen by nobody, and in the way of a match. */
const invisible = anyOf("\\u00ad\\u200b-\\u200f\\u2060\\ufe00-\\ufe0f\\ufeff");

/** Accents of Latin, Greek and Cyrillic, and the vowel signs of Hebrew and Arabic; in other scripts marks make another letter. */
const accents = anyOf(
  "\\u0300-\\u036f\\u0483-\\u0487\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7\\u0610-\\u061a\\u0640\\u064b-\\u065f\\u0670",
);

/** Letters with a stroke and ligatures, which Unicode does not take apart. */
const alike: Readonly<Record<string, string>> = { ø: "o", ł: "l", đ: "d", ħ: "h", æ: "ae", œ: "oe", ı: "i", ς: "σ" };
const alikeLetters = anyOf(Object.keys(alike).join(""));

function anyOf(characters: string): RegExp {
  return new RegExp(`[${characters}]`, "g");
}

/** Text with its words folded: case, accents, width and composition do not matter any more. */
export function foldText(text: string): string {
  const { foreign, long } = looked(text);
  const cut = long ? text.replace(longAsciiWord, (word) => word.slice(0, maxWordCharacters)) : text;
  return (foreign ? cut.replace(foreignRun, foldRun) : cut).toLowerCase();
}

/** Whether a text holds anything but ASCII, and whether it may hold a word that is too long. */
function looked(text: string): { readonly foreign: boolean; readonly long: boolean } {
  let foreign = false;
  let long = false;
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) foreign = true;
    // Everything between `0` and `z` counts, punctuation too: this only has to be quick, and never miss a long word.
    length = code >= 0x30 && code <= 0x7a ? length + 1 : 0;
    if (length > maxWordCharacters) long = true;
  }
  return { foreign, long };
}

/** The words of folded text, in order. */
export function wordsOf(folded: string): readonly string[] {
  return folded.match(foldedWord) ?? [];
}

/** A word and where it stands in the text, as exactly as composition allows. */
export interface PlacedWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

const run = /(?:[A-Za-z0-9]|[^\u0000-\u007f])+/g;

/** The words of a text with their places, in order. */
export function placedWords(text: string): readonly PlacedWord[] {
  const words: PlacedWord[] = [];
  for (const { 0: found, index } of text.matchAll(run)) {
    if (!nonAscii.test(found)) {
      const word = found.slice(0, maxWordCharacters).toLowerCase();
      words.push({ word, start: index, end: index + found.length });
      continue;
    }
    const clean = visible(found);
    const scale = found.length / Math.max(1, clean.length);
    eachWord(clean, (word, start, end) => {
      words.push({ word, start: index + Math.round(start * scale), end: index + Math.round(end * scale) });
    });
  }
  return words;
}

function foldRun(found: string): string {
  let words = " ";
  eachWord(visible(found), (word) => {
    words += `${word} `;
  });
  return words;
}

function visible(found: string): string {
  return found.replace(invisible, "").normalize("NFKC");
}

/** How a character counts: between words, within one, a mark on what stands before it, or a word by itself. */
type Place = "between" | "within" | "mark" | "alone";

interface Character {
  readonly place: Place;
  readonly folded: string;
}

/** What was found out about characters: a text uses few. */
const known = new Map<number, Character>();
/** More than a text in all scripts of the world uses; then the finding out begins anew. */
const maxKnown = 20_000;

function characterOf(code: number, text: string): Character {
  const found = known.get(code);
  if (found !== undefined) return found;
  const character = { place: placeInWord(text), folded: foldCharacter(text) };
  if (known.size >= maxKnown) known.clear();
  known.set(code, character);
  return character;
}

function placeInWord(text: string): Place {
  if (wordAlone.test(text)) return "alone";
  if (mark.test(text)) return "mark";
  return partOfWord.test(text) ? "within" : "between";
}

function foldCharacter(text: string): string {
  const upper = text.normalize("NFKD").toUpperCase(); // one letter may become two: ß and SS are alike
  const plain = upper.toLowerCase().normalize("NFKD").replace(accents, "").normalize("NFC");
  return plain.replace(alikeLetters, (letter) => alike[letter] ?? letter);
}

function eachWord(clean: string, visit: (word: string, start: number, end: number) => void): void {
  let word = "";
  let start = 0;
  let alone = false;
  const close = (end: number): void => {
    if (word !== "") visit(word, start, end);
    word = "";
    alone = false;
  };
  let at = 0;
  for (const text of clean) {
    const { place, folded } = characterOf(text.codePointAt(0) ?? 0, text);
    if (place === "between" || place === "alone" || (place === "within" && alone)) close(at);
    if (place !== "between") {
      if (word === "") start = at;
      if (word.length + folded.length <= maxWordCharacters) word += folded;
      if (place === "alone") alone = true;
    }
    at += text.length;
  }
  close(at);
}
