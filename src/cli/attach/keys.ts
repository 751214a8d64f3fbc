import { InvalidArgumentError } from "commander";
import type { Clock } from "../../core/clock.ts";

/** The key that detaches. */
export interface DetachKey {
  /** The key as a person writes it, such as `ctrl+x`. */
  readonly name: string;
  /** The character that it sends. */
  readonly character: string;
}

export interface KeyListeners {
  onInput(data: Buffer): void;
  onDetach(): void;
}

export interface KeyReader {
  read(data: Buffer): void;
  close(): void;
}

/** Programs need Enter, Tab, Backspace, Escape and Ctrl+C. */
const needed = "chijm[";

/** Parses `ctrl+x`, `^X` or `C-x`. */
export function detachKey(text: string): DetachKey {
  const key = /^(?:ctrl[+-]|\^|c-)([a-z\\\]^_@])$/i.exec(text)?.[1]?.toLowerCase();
  if (key === undefined || needed.includes(key)) {
    throw new InvalidArgumentError(
      "Use ctrl+ and a letter, or one of \\ ] ^ _ @; not c, h, i, j, m, which programs need.",
    );
  }
  return { name: `ctrl+${key}`, character: String.fromCharCode(key.toUpperCase().charCodeAt(0) & 0x1f) };
}

/** Unused by Claude Code and Codex. */
export const defaultDetachKey = "ctrl+\\";

const pasteBegins = "\x1b[200~";
const pasteEnds = "\x1b[201~";

/**
 * A terminal's answers to queries of programs: attributes, states, modes, sizes, strings. They are dropped, because the session's own
 * terminal answers. A cursor report on the first line looks like F3 with a modifier, and is treated as that key.
 */
const answers = [
  "\\x1b\\[[?>=][\\d;:]*[cnuSRt]",
  "\\x1b\\[\\??[\\d;]*\\$y",
  "\\x1b\\[(?!1;\\d{1,2}R)\\d+;\\d+R",
  "\\x1b\\[[\\d;]+[ntc]",
  "\\x1b\\][^\\x07\\x1b]{0,4096}(?:\\x07|\\x1b\\\\)",
  "\\x1b[P_^X][^\\x1b]{0,4096}\\x1b\\\\",
].join("|");

/** The beginning of any of these answers; a lone Escape is a key. */
const unfinished = /\x1b(?:\[[?>=]?[\d;:$]*|[\]P_^X][^\x07\x1b]{0,4096}\x1b?)$/;
/** The rest of a sequence follows immediately; otherwise a person typed Escape. */
const unfinishedMs = 50;

/** Reads keys outside a paste. Pasted text always counts as input, whatever it looks like. */
export function createKeyReader(
  { clock, detach }: { readonly clock: Clock; readonly detach: DetachKey },
  listeners: KeyListeners,
): KeyReader {
  const special = new RegExp(`(${detachSequences(detach)})|\\x1b\\[200~|${answers}`, "g");
  let held = "";
  let pasting = false;
  /** The last characters of a paste, which may contain the start of its end marker. */
  let pasteTail = "";
  let cancelFlush = (): void => undefined;

  /** The part of one read that is for the program, passed in one call. */
  let passed = "";

  function pass(text: string): void {
    passed += text;
  }

  function give(): void {
    const text = passed;
    passed = "";
    if (text !== "") listeners.onInput(Buffer.from(text, "latin1"));
  }

  /** @returns the input after the paste, or null when it continues */
  function readPaste(text: string): string | null {
    const at = (pasteTail + text).indexOf(pasteEnds);
    if (at < 0) {
      pass(text);
      pasteTail = (pasteTail + text).slice(1 - pasteEnds.length);
      return null;
    }
    const end = at + pasteEnds.length - pasteTail.length;
    pass(text.slice(0, end));
    pasting = false;
    pasteTail = "";
    return text.slice(end);
  }

  /** @returns the input after the start of a paste, or null when nothing is left */
  function readKeys(text: string): string | null {
    let kept = "";
    let at = 0;
    for (const match of text.matchAll(special)) {
      kept += text.slice(at, match.index);
      at = match.index + match[0].length;
      if (match[1] !== undefined) {
        pass(kept);
        give();
        listeners.onDetach();
        return null;
      }
      if (match[0] !== pasteBegins) continue;
      pass(kept + pasteBegins);
      pasting = true;
      return text.slice(at);
    }
    const rest = text.slice(at);
    const from = unfinished.exec(rest)?.index ?? rest.length;
    pass(kept + rest.slice(0, from));
    hold(rest.slice(from));
    return null;
  }

  function hold(text: string): void {
    held = text;
    if (text === "") return;
    cancelFlush = clock.after(unfinishedMs, () => {
      held = "";
      pass(text);
      give();
    });
  }

  return {
    read(data) {
      cancelFlush();
      let text: string | null = held + data.toString("latin1");
      held = "";
      while (text !== null && text !== "") text = pasting ? readPaste(text) : readKeys(text);
      give();
    },
    close: () => cancelFlush(),
  };
}

/** The key itself, and its form in a terminal with full key reporting. */
function detachSequences({ character, name }: DetachKey): string {
  const code = name.charCodeAt(name.length - 1);
  const plain = `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
  return `${plain}|\\x1b\\[${code};5u|\\x1b\\[27;5;${code}~`;
}
