import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";

/** A part of a word with this length counts as a trace of the word. */
const traceLength = 9;

/** A random word that appears nowhere else. */
export function newSentinel(): string {
  return Array.from({ length: 24 }, () => "bcdfghjklmnpqrstvwxz"[randomInt(20)]).join("");
}

/** A word, of at least nine ASCII letters, in a file. */
export interface Trace {
  readonly word: string;
  /** Relative to the folder. */
  readonly file: string;
}

/**
 * Which words, or nine letters of them, are in which files of a folder, in any case: as they were written, and in the form of the words that
 * are searched. Another process reads them, all in one pass: a file of SQLite that this one closes loses the locks that a gateway has on it.
 */
export async function tracesOf(folder: string, words: readonly string[]): Promise<readonly Trace[]> {
  const pieces = new Map<string, string>();
  for (const word of words) {
    if (!/^[a-z]{9,}$/i.test(word)) throw new Error(`${word} is not a word to look for.`);
    for (let at = 0; at + traceLength <= word.length; at++) {
      pieces.set(word.slice(at, at + traceLength).toLowerCase(), word);
    }
  }
  const stdout = await outputOf("grep", ["-rZaoiFs", ...[...pieces.keys()].map((piece) => `-e${piece}`), folder]);
  const found = new Map<string, Trace>();
  for (const line of stdout.split("\n")) {
    const [path = "", match = ""] = line.split("\0");
    const word = pieces.get(match.toLowerCase());
    if (word !== undefined) found.set(`${word} ${path}`, { word, file: path.slice(folder.length + 1) });
  }
  return [...found.values()];
}

/** Also of a command that found nothing, or that lost a file meanwhile. */
async function outputOf(file: string, argv: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(file, argv, { env: { LC_ALL: "C" }, maxBuffer: 64 * 1024 * 1024 }, (error, stdout) => {
      if (error === null || error.code === 1 || error.code === 2) resolve(stdout);
      else reject(error);
    });
  });
}
