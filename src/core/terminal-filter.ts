/**
 * Takes out of a program's output what must not reach the terminal of somebody else: see {@link passedControlSequence}. What comes out is
 * whole: sequences are held until they are complete and written in one form, so that no two terminals can read them differently.
 */
export interface TerminalFilter {
  /** The next output, cut anywhere, in sequences and in characters. @returns what may be shown of it, valid Unicode */
  write(output: Uint8Array | string): string;
  /** Output goes on from elsewhere: what was held is forgotten. */
  reset(): void;
}

type State = "ground" | "escape" | "sequence" | "ignored-sequence" | "command" | "string";

/** Longer than what anybody sends; a longer one stays out. */
const maxSequenceLength = 512;
/** Titles and links are far shorter. */
const maxCommandLength = 8_192;
/** A terminal reads a string to its end, an image of some megabytes perhaps. One that does not end must not take all that follows. */
const defaultMaxStringLength = 16 * 1024 * 1024;

const notText = /[\x00-\x1f\x7f-\x9f]/g;
/** Bell, backspace, tab, line and page feeds, return, character sets. Not ENQ, which a terminal answers. */
const passedControls = /[\x07-\x0f]/;

/** A filter for one stream of output, which begins in the ground state. It holds a few kilobytes at most. */
export function createTerminalFilter(options: { readonly maxStringLength?: number } = {}): TerminalFilter {
  const { maxStringLength = defaultMaxStringLength } = options;
  let decoder = newDecoder();
  let state: State = "ground";
  /** Parts of the sequence that is being read. */
  let prefix = "";
  let params = "";
  let intermediates = "";
  /** Of a command, until it is too long to be one that passes. */
  let content = "";
  let stringLength = 0;

  function begin(next: State): void {
    state = next;
    prefix = params = intermediates = content = "";
    stringLength = 0;
  }

  /** Ends a command that was not broken off. */
  function finished(): string {
    const passed = state === "command" && content.length <= maxCommandLength ? passedCommand(content) : "";
    begin("ground");
    return passed;
  }

  /** What ends or begins a sequence wherever it comes; undefined for all else. As the VT500 and xterm do. */
  function anywhere(code: number): string | undefined {
    if (code === 0x1b || code === 0x9c) {
      const passed = finished();
      if (code === 0x1b) begin("escape");
      return passed;
    }
    if (code !== 0x18 && code !== 0x1a && (code < 0x80 || code > 0x9f)) return undefined;
    begin(stateAfterC1(code));
    if (code === 0x84) return "\x1bD";
    if (code === 0x85) return "\x1bE";
    return code === 0x88 ? "\x1bH" : "";
  }

  function inEscape(code: number, character: string): string {
    if (code < 0x30) {
      intermediates += character;
      if (intermediates.length > 2) begin("ground");
      return "";
    }
    const held = intermediates;
    begin(held === "" ? stateAfterEscape(character) : "ground");
    return state === "ground" ? passedEscape(held, character) : "";
  }

  function inSequence(code: number, character: string): string {
    if (code >= 0x40) {
      const passed =
        state === "sequence" ? passedControlSequence({ prefix, params, intermediates, final: character }) : "";
      begin("ground");
      return passed;
    }
    if (code < 0x30) intermediates += character;
    else if (intermediates !== "") state = "ignored-sequence";
    else if (code < 0x3c) params += character;
    else if (params === "" && prefix === "") prefix = character;
    else state = "ignored-sequence";
    if (params.length > maxSequenceLength || intermediates.length > 2) {
      begin("ignored-sequence");
    }
    return "";
  }

  /** One character that is no plain text, or stands inside a sequence. */
  function take(code: number, character: string): string {
    const passed = anywhere(code);
    if (passed !== undefined) return passed;
    const inString = state === "command" || state === "string";
    if (code === 0x07 && state === "command") return finished();
    if (code < 0x20) return !inString && passedControls.test(character) ? character : "";
    if (inString || code === 0x7f) return "";
    if (code > 0x9f) {
      // No terminal takes it for part of a sequence.
      if (state !== "ignored-sequence") begin("ground");
      return "";
    }
    return state === "escape" ? inEscape(code, character) : inSequence(code, character);
  }

  function takeString(text: string): void {
    stringLength += text.length;
    if (state === "command" && content.length <= maxCommandLength) content += text;
    if (stringLength > maxStringLength) begin("ground");
  }

  return {
    write(output) {
      const text = typeof output === "string" ? output : decoder.decode(output, { stream: true });
      let shown = "";
      for (let at = 0; at < text.length; ) {
        if (state !== "escape" && state !== "sequence" && state !== "ignored-sequence") {
          notText.lastIndex = at;
          const end = notText.exec(text)?.index ?? text.length;
          if (end > at) {
            const plain = text.slice(at, end);
            if (state === "ground") shown += plain;
            else takeString(plain);
            at = end;
            continue;
          }
        }
        const code = text.codePointAt(at) ?? 0;
        const character = String.fromCodePoint(code);
        shown += take(code, character);
        at += character.length;
      }
      return shown;
    },
    reset() {
      decoder = newDecoder();
      begin("ground");
    },
  };
}

function newDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { ignoreBOM: true }); // a byte order mark is a character like another here
}

function stateAfterC1(code: number): State {
  if (code === 0x9b) return "sequence";
  if (code === 0x9d) return "command";
  return code === 0x90 || code === 0x98 || code === 0x9e || code === 0x9f ? "string" : "ground";
}

function stateAfterEscape(character: string): State {
  if (character === "[") return "sequence";
  if (character === "]") return "command";
  return "PX^_".includes(character) ? "string" : "ground";
}

/**
 * Which control sequences of a program may reach the terminal of somebody who only looks on. Ours, and a list of what passes: what is not
 * on it stays out. It holds what changes the picture, and the modes by which a program says what it wants to be sent. It leaves out what
 * makes a terminal answer (the host's screen model does that), what reaches out of it (clipboard, files, printer, window), what changes
 * how it reads bytes, and what it is set up with (colours, keyboard protocols).
 *
 * @see https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
 */

/** A control sequence in its parts: `ESC [ prefix params intermediates final`. */
export interface ControlSequence {
  readonly prefix: string;
  readonly params: string;
  readonly intermediates: string;
  readonly final: string;
}

/** Cursor, erasing, scrolling, tabs, attributes, scroll region. What each may have before its final character. */
const plainSequences: ReadonlyMap<string, string> = new Map([
  ["", "@ABCDEFGHIJKLMPSXZ`abdefgmr"],
  ["?", "JK"],
  [" ", "@Aq"],
  ["'", "}~"],
  ['"', "q"],
  ["!", "p"],
]);

// 4 insert, 20 newline. Not 2, which locks the keyboard, nor 12, local echo.
const ansiModes = new Set(["4", "20"]);

/**
 * Private modes that pass. Not 3 (resizes the window), 69 (margins, which the screen model does not have), 1001 (waits for an answer),
 * 2031 and 2048 (the terminal reports by itself).
 */
const privateModes: ReadonlySet<string> = new Set(
  [
    [1, 5, 6, 7, 12, 25, 45, 66], // cursor keys, reverse video, origin, wrap, cursor, reverse wrap, keypad
    [9, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016], // mouse and focus
    [47, 1047, 1048, 1049], // alternate screen
    [2004, 2026], // bracketed paste, synchronized output
  ]
    .flat()
    .map(String),
);

// Far beyond any terminal's size; some count up to what they are told.
const longestNumber = 5;

/** The sequence as it may be written, or "" when it stays out. */
export function passedControlSequence(sequence: ControlSequence): string {
  const { prefix, intermediates, final } = sequence;
  const params = sequence.params.replace(/\d+/g, (digits) =>
    digits.length > longestNumber ? "9".repeat(longestNumber) : digits,
  );
  const whole = `\x1b[${prefix}${params}${intermediates}${final}`;
  if (intermediates === "" && (final === "h" || final === "l")) return passedModes({ ...sequence, params });
  if (prefix === "" && intermediates === "" && (final === "s" || final === "u")) return params === "" ? whole : "";
  // With more parameters it begins a tracking of the mouse that waits for the program.
  if (prefix === "" && intermediates === "" && final === "T") return params.includes(";") ? "" : whole;
  if (prefix !== "" && intermediates !== "") return "";
  return plainSequences.get(prefix + intermediates)?.includes(final) ? whole : "";
}

function passedModes({ prefix, params, final }: ControlSequence): string {
  const known = prefix === "?" ? privateModes : ansiModes;
  if (prefix !== "" && prefix !== "?") return "";
  const modes = params.split(";").filter((mode) => known.has(mode));
  return modes.length === 0 ? "" : `\x1b[${prefix}${modes.join(";")}${final}`;
}

/** `ESC intermediates final` as it may be written, or "". */
export function passedEscape(intermediates: string, final: string): string {
  const passes =
    intermediates === ""
      ? "78=>DEHMc|}~no".includes(final) // save, restore, keypad, index, next line, tab stop, reverse index, reset, shifts
      : intermediates === "#"
        ? final === "8" // the alignment picture
        : /^[()*+\-./]$/.test(intermediates) && /^[0-9A-Z<=>]$/.test(final); // character sets
  return passes ? `\x1b${intermediates}${final}` : "";
}

// What xterm and VTE take at most.
const maxTitleLength = 1_024;
const maxLinkLength = 2_083;

/**
 * An operating system command as it may be written, or "": titles, as text without controls, and links that lead to the web. Not colours:
 * the person who looks on chose theirs, and would be left with a program's.
 */
export function passedCommand(content: string): string {
  const separator = content.indexOf(";");
  const number = content.slice(0, separator);
  const value = content.slice(separator + 1);
  if (separator < 0) return "";
  if (number === "0" || number === "1" || number === "2") return `\x1b]${number};${titleText(value)}\x1b\\`;
  return number === "8" ? `\x1b]8;${webLink(value)}\x1b\\` : "";
}

/** Controls are gone before; these reverse what follows, and could make a title read as another one. */
function titleText(title: string): string {
  return title.replace(/[\u202a-\u202e\u2066-\u2069]/g, "").slice(0, maxTitleLength);
}

/** A link that leads elsewhere ends the one before, as it would itself. @see https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda */
function webLink(value: string): string {
  const separator = value.indexOf(";");
  const target = value.slice(separator + 1);
  if (separator < 0 || target.length > maxLinkLength || !/^https?:\/\/[!-~]+$/i.test(target)) return ";";
  const id = /(?:^|:)id=([\w.-]{1,250})(?:$|:)/.exec(value.slice(0, separator))?.[1];
  return `${id === undefined ? "" : `id=${id}`};${target}`;
}
