/**
 * Removes from a program's output whatever must not reach another user's terminal: see {@link passedControlSequence}. Sequences are held
 * until complete and written in a normalized form, so that all terminals read them the same way.
 */
export interface TerminalFilter {
  /** Accepts output split at any byte. @returns the filtered output, valid Unicode */
  write(output: Uint8Array | string): string;
  /** Discards held output, because output continues at another position. */
  reset(): void;
}

type State = "ground" | "escape" | "sequence" | "ignored-sequence" | "command" | "string";

/** Longer sequences are dropped; real ones are shorter. */
const maxSequenceLength = 512;
/** Titles and links are far shorter. */
const maxCommandLength = 8_192;
/** Strings can be images of several megabytes. The limit keeps an unterminated string from swallowing all later output. */
const defaultMaxStringLength = 16 * 1024 * 1024;

const notText = /[\x00-\x1f\x7f-\x9f]/g;
/** Bell, backspace, tab, line and page feeds, return, character sets. Not ENQ, to which terminals respond. */
const passedControls = /[\x07-\x0f]/;

/** A filter for one stream of output. It holds a few kilobytes at most. */
export function createTerminalFilter(options: { readonly maxStringLength?: number } = {}): TerminalFilter {
  const { maxStringLength = defaultMaxStringLength } = options;
  let decoder = newDecoder();
  let state: State = "ground";
  /** Parts of the current sequence. */
  let prefix = "";
  let params = "";
  let intermediates = "";
  /** Content of a command, up to the maximum length. */
  let content = "";
  let stringLength = 0;

  function begin(next: State): void {
    state = next;
    prefix = params = intermediates = content = "";
    stringLength = 0;
  }

  /** Ends a complete command. */
  function finished(): string {
    const passed = state === "command" && content.length <= maxCommandLength ? passedCommand(content) : "";
    begin("ground");
    return passed;
  }

  /** Handles characters that end or start a sequence in any state, as the VT500 and xterm do; undefined for others. */
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

  /** Handles a control character, or a character inside a sequence. */
  function take(code: number, character: string): string {
    const passed = anywhere(code);
    if (passed !== undefined) return passed;
    const inString = state === "command" || state === "string";
    if (code === 0x07 && state === "command") return finished();
    if (code < 0x20) return !inString && passedControls.test(character) ? character : "";
    if (inString || code === 0x7f) return "";
    if (code > 0x9f) {
      // Not part of a sequence in any terminal.
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
  return new TextDecoder("utf-8", { ignoreBOM: true }); // a byte order mark is an ordinary character here
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
 * An allowlist of control sequences for observers' terminals: sequences that change the screen, and modes for input. It excludes
 * sequences to which terminals respond (only the host's screen model responds), that reach outside the terminal (clipboard, files, printer,
 * window), that change how it decodes bytes, and that change its settings (colours, keyboard protocols).
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

/** Cursor, erasing, scrolling, tabs, attributes, scroll region: final characters by prefix and intermediates. */
const plainSequences: ReadonlyMap<string, string> = new Map([
  ["", "@ABCDEFGHIJKLMPSXZ`abdefgmr"],
  ["?", "JK"],
  [" ", "@Aq"],
  ["'", "}~"],
  ['"', "q"],
  ["!", "p"],
]);

// 4 insert, 20 newline. Not 2 (locks the keyboard) or 12 (local echo).
const ansiModes = new Set(["4", "20"]);

/**
 * Allowed private modes. Not 3 (resizes the window), 69 (margins, unsupported by the screen model), 1001 (waits for a response),
 * 2031 and 2048 (unsolicited reports).
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

// Far beyond any terminal's size; some terminals loop up to the number.
const longestNumber = 5;

/** The normalized sequence, or "" if not allowed. */
export function passedControlSequence(sequence: ControlSequence): string {
  const { prefix, intermediates, final } = sequence;
  const params = sequence.params.replace(/\d+/g, (digits) =>
    digits.length > longestNumber ? "9".repeat(longestNumber) : digits,
  );
  const whole = `\x1b[${prefix}${params}${intermediates}${final}`;
  if (intermediates === "" && (final === "h" || final === "l")) return passedModes({ ...sequence, params });
  if (prefix === "" && intermediates === "" && (final === "s" || final === "u")) return params === "" ? whole : "";
  // With more parameters, it starts mouse tracking that waits for the program.
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

/** The normalized `ESC intermediates final`, or "" if not allowed. */
export function passedEscape(intermediates: string, final: string): string {
  const passes =
    intermediates === ""
      ? "78=>DEHMc|}~no".includes(final) // save, restore, keypad, index, next line, tab stop, reverse index, reset, shifts
      : intermediates === "#"
        ? final === "8" // alignment test
        : /^[()*+\-./]$/.test(intermediates) && /^[0-9A-Z<=>]$/.test(final); // character sets
  return passes ? `\x1b${intermediates}${final}` : "";
}

// Limits of xterm and VTE.
const maxTitleLength = 1_024;
const maxLinkLength = 2_083;

/**
 * The normalized operating system command, or "" if not allowed. Allows titles and web links. Not colours: they would override the
 * observer's own.
 */
export function passedCommand(content: string): string {
  const separator = content.indexOf(";");
  const number = content.slice(0, separator);
  const value = content.slice(separator + 1);
  if (separator < 0) return "";
  if (number === "0" || number === "1" || number === "2") return `\x1b]${number};${titleText(value)}\x1b\\`;
  return number === "8" ? `\x1b]8;${webLink(value)}\x1b\\` : "";
}

/** Removes direction marks, which could make a title read as another one. Control characters are already removed. */
function titleText(title: string): string {
  return title.replace(/[\u202a-\u202e\u2066-\u2069]/g, "").slice(0, maxTitleLength);
}

/** A link to another target ends the previous link, even if the new one is not allowed. @see https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda */
function webLink(value: string): string {
  const separator = value.indexOf(";");
  const target = value.slice(separator + 1);
  if (separator < 0 || target.length > maxLinkLength || !/^https?:\/\/[!-~]+$/i.test(target)) return ";";
  const id = /(?:^|:)id=([\w.-]{1,250})(?:$|:)/.exec(value.slice(0, separator))?.[1];
  return `${id === undefined ? "" : `id=${id}`};${target}`;
}
