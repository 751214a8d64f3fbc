import headlessModule, { type Terminal } from "@xterm/headless";

/**
 * Internals of `@xterm/headless` without a public API: saved cursors, scroll regions, tab stops, character sets, underline styles,
 * links. The package's version is pinned, and {@link insidesOf} rejects a version with other internals.
 */
export interface XtermInternals {
  /** A reset of the terminal replaces these buffers. */
  readonly buffers: { readonly normal: InnerBuffer; readonly alt: InnerBuffer };
  readonly input: {
    readonly _curAttrData: InnerAttributes;
    readonly _parser: { readonly precedingJoinState: number };
    eraseInDisplay(params: { readonly params: readonly number[]; readonly length: number }): boolean;
  };
  readonly service: {
    readonly isCursorHidden: boolean;
    readonly decPrivateModes: { readonly cursorStyle?: string | undefined; readonly cursorBlink?: boolean | undefined };
  };
  readonly mouse: { readonly activeEncoding: string };
  readonly charsets: { readonly charset?: unknown; readonly glevel: number; readonly _charsets: readonly unknown[] };
  readonly links: { getLinkData(id: number): { readonly id?: string; readonly uri: string } | undefined };
}

/** One of the two screens, with the scrollback. */
export interface InnerBuffer {
  readonly lines: { readonly length: number; get(y: number): InnerLine | undefined };
  readonly x: number;
  readonly y: number;
  readonly ybase: number;
  readonly savedX: number;
  /** A row, counted from the first line of the scrollback. */
  readonly savedY: number;
  readonly savedCurAttrData: InnerAttributes;
  readonly savedCharset: unknown;
  readonly scrollTop: number;
  readonly scrollBottom: number;
  readonly tabs: Readonly<Record<number, boolean | undefined>>;
}

/** One row. */
export interface InnerLine {
  readonly isWrapped: boolean;
  readonly length: number;
  /** 2 for the first cell of a wide character, 0 for its second. */
  getWidth(x: number): number;
  getString(x: number): string;
  getFg(x: number): number;
  getBg(x: number): number;
  /** 0 for a cell that was never written or was erased. */
  hasContent(x: number): number;
  readonly _extendedAttrs: Readonly<Record<number, InnerExtended | undefined>>;
}

/** Colors and flags, packed as in {@link FG} and {@link BG}. */
export interface InnerAttributes {
  readonly fg: number;
  readonly bg: number;
  readonly extended: InnerExtended;
}

/** Underline style, its colour, and the link of a cell. */
export interface InnerExtended {
  /** In a link, this is always the link's underline; the program's own style is in `_ext`, at {@link UNDERLINE_STYLE}. */
  readonly underlineStyle: number;
  readonly _ext: number;
  readonly underlineColor: number;
  readonly urlId: number;
}

/** The mode of a color in `fg`, `bg` and `underlineColor`. */
export const COLOR = { mask: 0x3ffffff, mode: 0x3000000, p16: 0x1000000, p256: 0x2000000, rgb: 0x3000000 } as const;
/** Flags of `fg`. */
export const FG = {
  inverse: 0x4000000,
  bold: 0x8000000,
  underline: 0x10000000,
  blink: 0x20000000,
  invisible: 0x40000000,
  strikethrough: 0x80000000,
} as const;
/** Flags of `bg`. */
export const BG = {
  italic: 0x4000000,
  dim: 0x8000000,
  extended: 0x10000000,
  protected: 0x20000000,
  overline: 0x40000000,
} as const;

/** Bits of `_ext`. */
export const UNDERLINE_STYLE = { mask: 0x1c000000, shift: 26 } as const;

/** The live internals of `terminal`. @throws for an unknown version */
export function insidesOf(terminal: Terminal): XtermInternals {
  const core: unknown = Reflect.get(terminal, "_core");
  const part = (name: string): unknown => (isObject(core) ? Reflect.get(core, name) : undefined);
  const internals: Record<keyof XtermInternals, unknown> = {
    buffers: part("buffers"),
    input: part("_inputHandler"),
    service: part("coreService"),
    mouse: part("coreMouseService"),
    charsets: part("_charsetService"),
    links: part("_oscLinkService"),
  };
  if (!isXtermInternals(internals))
    throw new Error("@xterm/headless is not the version that package.json pins. Run `npm ci`.");
  return internals;
}

function isXtermInternals(
  value: Record<keyof XtermInternals, unknown>,
): value is Record<keyof XtermInternals, unknown> & XtermInternals {
  const { buffers, input, service, mouse, charsets, links } = value;
  return (
    isObject(buffers) &&
    isBuffer(Reflect.get(buffers, "normal")) &&
    isBuffer(Reflect.get(buffers, "alt")) &&
    has(input, "_curAttrData", "_parser", "eraseInDisplay") &&
    has(service, "isCursorHidden", "decPrivateModes") &&
    has(mouse, "activeEncoding") &&
    has(charsets, "glevel", "_charsets") &&
    has(links, "getLinkData")
  );
}

function isBuffer(value: unknown): boolean {
  const names = "lines x y ybase savedX savedY savedCurAttrData scrollTop scrollBottom tabs";
  if (!has(value, ...names.split(" "))) return false;
  const lines: unknown = isObject(value) ? Reflect.get(value, "lines") : undefined;
  const get: unknown = isObject(lines) ? Reflect.get(lines, "get") : undefined;
  if (typeof get !== "function") return false;
  const line: unknown = Reflect.apply(get, lines, [0]);
  if (line === undefined) return true; // the alternate screen has no lines before its first use
  return has(line, "isWrapped", "length", "getWidth", "getString", "getFg", "getBg", "hasContent", "_extendedAttrs");
}

function has(value: unknown, ...names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => Reflect.has(value, name));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Character sets have no names internally; each is identified by selecting it once. */
export function readCharsetNames(): ReadonlyMap<unknown, string> {
  const terminal = new headlessModule.Terminal({ cols: 2, rows: 1, logLevel: "off", allowProposedApi: true });
  const { charsets } = insidesOf(terminal);
  const names = new Map<unknown, string>();
  for (const name of ["0", "A", "4", "C", "5", "R", "Q", "K", "Y", "E", "6", "Z", "H", "7", "="]) {
    terminal.input("", true); // after user input the next write is parsed at once
    terminal.write(`\x1b(${name}`);
    const chosen = charsets.charset;
    if (chosen !== undefined && !names.has(chosen)) names.set(chosen, name);
  }
  terminal.dispose();
  return names;
}
