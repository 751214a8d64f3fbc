export interface AnsiPiece {
  readonly text: string;
  readonly style: AnsiStyle;
}

export interface AnsiStyle {
  /** One of the eight terminal colours, 0 to 7. */
  readonly colour: number | null;
  readonly background: number | null;
  readonly bold: boolean;
  readonly dim: boolean;
  readonly italic: boolean;
  readonly underline: boolean;
  readonly struck: boolean;
}

export const plainStyle: AnsiStyle = {
  colour: null,
  background: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  struck: false,
};

/** Limits the number of elements. All text after that keeps the last style. */
const maxPieces = 5_000;
/** A longer string sequence was never terminated: only its introducer is dropped. */
const maxStringLength = 4_096;

// ECMA-48: CSI; strings (OSC, DCS, SOS, PM, APC); other escapes; controls except tab and line feed.
const sequences = new RegExp(
  [
    "(?:\\u001b\\[|\\u009b)(?<params>[0-?]*)[ -/]*(?<final>[@-~])",
    `(?:\\u001b[\\]PX^_]|[\\u009d\\u0090\\u0098\\u009e\\u009f])[^\\u0007\\u001b\\u009c\\n]{0,${maxStringLength}}(?:\\u0007|\\u001b\\\\|\\u009c)`,
    "\\u001b[ -/]*[0-~]?",
    "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f]",
  ].join("|"),
  "g",
);

/** Splits output by its colours (SGR), and drops all other escape sequences and controls. */
export function readAnsi(output: string): readonly AnsiPiece[] {
  const pieces: AnsiPiece[] = [];
  let style = plainStyle;
  let text = "";
  const flush = (): void => {
    if (text !== "") pieces.push({ text, style });
    text = "";
  };
  let at = 0;
  const lines = asShown(output);
  for (const match of lines.matchAll(sequences)) {
    text += lines.slice(at, match.index);
    at = match.index + match[0].length;
    if (match.groups?.["final"] !== "m" || pieces.length >= maxPieces) continue;
    const next = styleAfter(style, match.groups["params"] ?? "");
    if (next === style) continue;
    flush();
    style = next;
  }
  text += lines.slice(at);
  flush();
  return pieces;
}

export function withoutAnsi(output: string): string {
  return asShown(output).replaceAll(sequences, "");
}

/** Applies carriage returns and backspaces: of a progress bar only the last state remains. */
function asShown(output: string): string {
  const lines = output.replaceAll(/\r+\n/g, "\n");
  const written = lines.includes("\r") ? lines.replaceAll(/^[^\n]*\r(?=[^\n])/gm, "") : lines;
  return written.includes("\b") ? written.replaceAll(/[^\n\b\u001b]\u0008/g, "") : written;
}

function styleAfter(before: AnsiStyle, params: string): AnsiStyle {
  // Private sequences (`>4;1m` configures the keyboard) are not colours.
  if (/[<=>?]/.test(params)) return before;
  const codes = params.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  let style = before;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const { colour, length } = extendedColour(codes.slice(at + 1));
      at += length;
      style = code === 38 ? { ...style, colour } : { ...style, background: colour };
    } else style = styleWith(style, code);
  }
  return style;
}

function styleWith(style: AnsiStyle, code: number): AnsiStyle {
  if (code >= 30 && code <= 37) return { ...style, colour: code - 30 };
  if (code >= 90 && code <= 97) return { ...style, colour: code - 90 };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 100 };
  switch (code) {
    case 0:
      return plainStyle;
    case 1:
      return { ...style, bold: true };
    case 2:
      return { ...style, dim: true };
    case 3:
      return { ...style, italic: true };
    case 4:
    case 21:
      return { ...style, underline: true };
    case 7:
      return { ...style, colour: style.background, background: style.colour ?? 7 };
    case 9:
      return { ...style, struck: true };
    case 22:
      return { ...style, bold: false, dim: false };
    case 23:
      return { ...style, italic: false };
    case 24:
      return { ...style, underline: false };
    case 27:
    case 49:
      return { ...style, background: null };
    case 29:
      return { ...style, struck: false };
    case 39:
      return { ...style, colour: null };
    default:
      return style;
  }
}

/** Maps 256 colours and true colour to the nearest of the eight, which are readable on light and dark. */
function extendedColour(codes: readonly number[]): { readonly colour: number | null; readonly length: number } {
  const [kind, a = 0, b = 0, c = 0] = codes;
  if (kind === 5) return { colour: ofPalette(a), length: 2 };
  if (kind === 2) return { colour: nearest(a, b, c), length: 4 };
  return { colour: null, length: codes.length };
}

function ofPalette(index: number): number | null {
  if (index < 16) return index % 8;
  if (index >= 232) return null;
  const cube = index - 16;
  const level = (value: number): number => (value === 0 ? 0 : 55 + value * 40);
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

/** Greys map to the text colour. */
function nearest(red: number, green: number, blue: number): number | null {
  const most = Math.max(red, green, blue);
  if (most - Math.min(red, green, blue) < 40) return null;
  const strong = (value: number, bit: number): number => (value > most * 0.6 ? bit : 0);
  return strong(red, 1) + strong(green, 2) + strong(blue, 4);
}
