import { BG, COLOR, FG, type InnerExtended, UNDERLINE_STYLE, type XtermInternals } from "./xterm-internals.ts";

/** Colours and flags of a cell. */
export interface CellStyle {
  readonly fg: number;
  readonly bg: number;
  readonly extended: Pick<InnerExtended, "_ext" | "underlineColor" | "urlId"> | undefined;
}

/** Collects output for a terminal, and tracks that terminal's current style. */
export type Pen = ReturnType<typeof createPen>;

const PLAIN: CellStyle = { fg: 0, bg: 0, extended: undefined };

const MAX_LINK = 2_083;
/** A prefix for the id that a link without an id receives, so that its parts stay one link. */
export const NAMELESS_LINK = "postern-";
/** Selects the current character set again. Its only effect is that the next character does not combine with the last one. */
const BREAK = "\x0f";

const FLAGS: readonly (readonly ["fg" | "bg", number, number])[] = [
  ["fg", FG.bold, 1],
  ["bg", BG.dim, 2],
  ["bg", BG.italic, 3],
  ["fg", FG.blink, 5],
  ["fg", FG.inverse, 7],
  ["fg", FG.invisible, 8],
  ["fg", FG.strikethrough, 9],
  ["bg", BG.overline, 53],
];

export function createPen(links: XtermInternals["links"]) {
  let text = "";
  let now: CellStyle = PLAIN;
  let link = 0;
  let isProtected = false;
  let lastPrinted = 0;

  /** Appends sequences, or text that cannot combine with earlier output. */
  function put(sequences: string): void {
    text += sequences;
    lastPrinted = 0;
  }

  function style(next: CellStyle): void {
    if (next.fg === now.fg && next.bg === now.bg && next.extended === now.extended) return;
    now = next;
    put(`\x1b[${sgr(next)}m`);
    const shallProtect = (next.bg & BG.protected) !== 0;
    if (shallProtect)
      put('\x1b[1"q'); // some terminals end the protection when the style is reset
    else if (isProtected) put('\x1b[0"q');
    isProtected = shallProtect;
    const nextLink = next.extended?.urlId ?? 0;
    if (nextLink !== link) put(linkTo(nextLink));
    link = nextLink;
  }

  function linkTo(id: number): string {
    const data = id === 0 ? undefined : links.getLinkData(id);
    if (data === undefined || data.uri.length > MAX_LINK) return "\x1b]8;;\x1b\\";
    const params = data.id === undefined ? `${NAMELESS_LINK}${id}` : data.id.slice(0, MAX_LINK);
    return `\x1b]8;id=${withoutControls(params)};${withoutControls(data.uri)}\x1b\\`;
  }

  return {
    style,
    /** Whether this is the current style. Called for every cell. */
    writesIn: (fg: number, bg: number, extended: CellStyle["extended"]): boolean =>
      fg === now.fg && bg === now.bg && extended === now.extended,
    plain: (): void => style(PLAIN),
    put,
    /** Appends a cell's character, which combines with nothing before it. */
    print(characters: string): void {
      const first = characters.codePointAt(0) ?? 0;
      if (lastPrinted !== 0 && !(standsAlone(first) && standsAlone(lastPrinted))) text += BREAK;
      text += characters;
      lastPrinted = characters.length === 1 ? first : (characters.codePointAt(characters.length - 1) ?? first);
    },
    /** Keeps the next output from combining with earlier output. Do not call this while another character set is selected. */
    stop(): void {
      if (lastPrinted !== 0) put(BREAK);
    },
    /** Whether cells that are erased or scrolled in now would have a color. */
    fills: (): boolean => (now.bg & COLOR.mask) !== 0,
    text: () => text,
  };
}

/** Whether a character never joins with others: Latin, box drawing, kana, ideographs. */
function standsAlone(code: number): boolean {
  return (
    code < 0x300 ||
    (code >= 0x2500 && code < 0x25a0) ||
    (code >= 0x3041 && code < 0x3097) ||
    (code >= 0x30a1 && code < 0x30fb) ||
    (code >= 0x4e00 && code < 0xa000)
  );
}

function sgr({ fg, bg, extended }: CellStyle): string {
  let codes = "0";
  for (const [where, flag, code] of FLAGS) if (((where === "fg" ? fg : bg) & flag) !== 0) codes += `;${code}`;
  if ((fg & FG.underline) !== 0) {
    const chosen = ((extended?.["_ext"] ?? 0) & UNDERLINE_STYLE.mask) >> UNDERLINE_STYLE.shift;
    const underline = chosen === 0 ? 1 : chosen;
    codes += underline === 1 ? ";4" : `;4:${underline}`;
  }
  codes += color(fg, [30, 90, "38"]);
  codes += color(bg, [40, 100, "48"]);
  if (extended === undefined) return codes;
  const line = extended.underlineColor & COLOR.mask;
  if (line === COLOR.mask) return `${codes};59`;
  return (line & COLOR.mode) === COLOR.rgb || (line & COLOR.mode) === COLOR.p256
    ? codes + color(line, [0, 0, "58"])
    : codes;
}

function color(value: number, [low, high, extended]: readonly [number, number, string]): string {
  const index = value & 0xff;
  switch (value & COLOR.mode) {
    case COLOR.p16:
      return `;${(index & 8) === 0 ? low + index : high + (index & 7)}`;
    case COLOR.p256:
      return `;${extended};5;${index}`;
    case COLOR.rgb:
      return `;${extended};2;${(value >> 16) & 0xff};${(value >> 8) & 0xff};${index}`;
    default:
      return "";
  }
}

function withoutControls(text: string): string {
  return Array.from(text, (char) => (char < " " || (char >= "\x7f" && char < "\xa0") ? "" : char)).join("");
}
