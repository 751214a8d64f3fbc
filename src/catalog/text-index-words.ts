/**
 * Splits text into words, in the same way for the index and for queries, on both stores and in any script. In folded text, words are runs of `a-z`,
 * `0-9` and non-ASCII characters.
 */

/** Longer words are cut. PostgreSQL allows 2 KB. */
const maxWordCharacters = 128;

/** Separates pieces of text, so that no phrase spans them. Never a word of a text or query. */
export const wordBoundary = "¶";

/** A run with non-ASCII characters, which is folded character by character. */
const foreignRun = /[A-Za-z0-9]*[^\u0000-\u007f](?:[A-Za-z0-9]|[^\u0000-\u007f])*/g;
const longAsciiWord = new RegExp(`[A-Za-z0-9]{${maxWordCharacters + 1},}`, "g");
const nonAscii = /[^\u0000-\u007f]/;
const foldedWord = /(?:[a-z0-9]|[^\u0000-\u007f])+/g;

/** Scripts without spaces: each character is a word, so that part of a run is found as a phrase. */
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

/** Invisible characters that prevent a match: soft hyphens, joiners, direction marks, variation selectors. */
const invisible = anyOf("\\u00ad\\u200b-\\u200f\\u2060\\ufe00-\\ufe0f\\ufeff");

/** Accents of Latin, Greek and Cyrillic, and vowel signs of Hebrew and Arabic. In other scripts marks are significant. */
const accents = anyOf(
  "\\u0300-\\u036f\\u0483-\\u0487\\u0591-\\u05bd\\u05bf\\u05c1\\u05c2\\u05c4\\u05c5\\u05c7\\u0610-\\u061a\\u0640\\u064b-\\u065f\\u0670",
);

/** Letters with strokes and ligatures, which Unicode does not decompose. */
const alike: Readonly<Record<string, string>> = { ø: "o", ł: "l", đ: "d", ħ: "h", æ: "ae", œ: "oe", ı: "i", ς: "σ" };
const alikeLetters = anyOf(Object.keys(alike).join(""));

function anyOf(characters: string): RegExp {
  return new RegExp(`[${characters}]`, "g");
}

/** Folds case, accents, width and composition. */
export function foldText(text: string): string {
  const { foreign, long } = looked(text);
  const cut = long ? text.replace(longAsciiWord, (word) => word.slice(0, maxWordCharacters)) : text;
  return (foreign ? cut.replace(foreignRun, foldRun) : cut).toLowerCase();
}

/** Whether a text has non-ASCII characters, and whether it can have a word that is too long. */
function looked(text: string): { readonly foreign: boolean; readonly long: boolean } {
  let foreign = false;
  let long = false;
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 0x7f) foreign = true;
    // Counts everything from `0` to `z`, punctuation too: fast, and never misses a long word.
    length = code >= 0x30 && code <= 0x7a ? length + 1 : 0;
    if (length > maxWordCharacters) long = true;
  }
  return { foreign, long };
}

/** The words of folded text, in order. */
export function wordsOf(folded: string): readonly string[] {
  return folded.match(foldedWord) ?? [];
}

/** A word and its place in the text, as exact as composition allows. */
export interface PlacedWord {
  readonly word: string;
  readonly start: number;
  readonly end: number;
}

const run = /(?:[A-Za-z0-9]|[^\u0000-\u007f])+/g;

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

/** How a character counts: between words, within a word, a mark on the previous one, or a whole word. */
type Place = "between" | "within" | "mark" | "alone";

interface Character {
  readonly place: Place;
  readonly folded: string;
}

/** Cached characters; a text uses few. */
const known = new Map<number, Character>();
/** More than any text uses; the cache is cleared then. */
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
  const upper = text.normalize("NFKD").toUpperCase(); // one letter can become two: ß matches SS
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
