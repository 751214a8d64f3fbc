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
