import headlessModule from "@xterm/headless";
import { unpooled } from "../../src/core/unpooled.ts";
import { NAMELESS_LINK } from "../../src/terminal-host/pen.ts";
import type { TerminalSize } from "../../src/terminal-host/terminal-info.ts";
import {
  BG,
  COLOR,
  FG,
  type InnerAttributes,
  type InnerBuffer,
  type InnerLine,
  insidesOf,
  readCharsetNames,
  UNDERLINE_STYLE,
} from "../../src/terminal-host/xterm-internals.ts";

// It reads its table from where the memory of the table's buffer begins: garbage, now and then, in shared memory.
const { default: graphemesModule } = await unpooled(() => import("@xterm/addon-unicode-graphemes"));
/** A viewer's terminal, with the scrollback that a snapshot can give. */
export interface ViewerTerminal {
  write(data: Uint8Array | string): void;
  resize(size: TerminalSize): void;
  /** Everything that a person sees or a program's further output depends on, cell by cell, as lines to compare. */
  state(): string[];
  /**
   * Whether it is in a state that no sequence gives: a cursor (or a saved one) behind the last column although that is empty, a
   * link, underline or character set that a restored cursor has (half) lost, a character that is still growing in insert mode, what a resize has cut or hidden, and what was saved on the alternate screen earlier.
   */
  hangs(): boolean;
  /**
   * Whether a row holds characters or styles for cells that have others by now, or lacks some: xterm.js forgets to remove them, or to
   * move them with their cells, and shows them at other cells after the next resize.
   */
  hasLeftOvers(): boolean;
  close(): void;
}

const charsetNames = readCharsetNames();

/** An empty one. */
export function createViewerTerminal(size: TerminalSize): ViewerTerminal {
  const { cols, rows } = size;
  const terminal = new headlessModule.Terminal({
    cols,
    rows,
    scrollback: 1_000,
    allowProposedApi: true,
    logLevel: "off",
  });
  terminal.loadAddon(new graphemesModule.UnicodeGraphemesAddon());
  const insides = insidesOf(terminal);

  function style({
    fg,
    bg,
    extended,
  }: Pick<InnerAttributes, "fg" | "bg"> & { extended?: InnerAttributes["extended"] | undefined }) {
    const flags: string[] = [];
    for (const [name, flag] of Object.entries(FG)) if ((fg & flag) !== 0) flags.push(name);
    for (const [name, flag] of Object.entries(BG)) {
      if (name !== "extended" && (bg & flag) !== 0) flags.push(name);
    }
    let text = `${color(fg)}/${color(bg)}/${flags.join("+")}`;
    if ((bg & BG.extended) === 0 || extended === undefined) return (fg & FG.underline) === 0 ? text : `${text}/line 1 `;
    if ((fg & FG.underline) !== 0) text += `/line ${chosenUnderline(extended)} ${color(extended.underlineColor)}`;
    const link = extended.urlId === 0 ? undefined : insides.links.getLinkData(extended.urlId);
    return link === undefined
      ? text
      : `${text}/${link.id?.startsWith(NAMELESS_LINK) ? "" : (link.id ?? "")} ${link.uri}`;
  }

  function cells(line: InnerLine): string {
    let text = "";
    let last = "";
    for (let x = 0; x < Math.min(line.length, terminal.cols); x++) {
      if (line.getWidth(x) === 0 && line.hasContent(x) === 0 && x > 0 && line.getWidth(x - 1) === 2) continue;
      const now = style({ fg: line.getFg(x), bg: line.getBg(x), extended: line["_extendedAttrs"][x] });
      if (now !== last) text += `{${now}}`;
      last = now;
      text += line.hasContent(x) === 0 ? "·" : line.getString(x);
      if (line.getWidth(x) > 1) text += "»";
    }
    return text.replace(/·+$/, "");
  }

  function buffer(name: string, { lines, ybase, ...one }: InnerBuffer): string[] {
    const all: string[] = [];
    const first = name === "alternate" ? ybase : 0; // what is above is never seen
    for (let y = first; y < lines.length; y++) {
      const line = lines.get(y);
      if (line !== undefined) all.push(`${name} ${line.isWrapped && y > first ? "wrapped" : ""}: ${cells(line)}`);
    }
    const tabs = Array.from({ length: terminal.cols }, (_, x) => x).filter((x) => one.tabs[x] === true);
    const saved = `${one.savedX},${Math.max(0, one.savedY - ybase)} ${style({ ...one.savedCurAttrData, bg: one.savedCurAttrData.bg & ~BG.extended })}`;
    all.push(`${name} saved ${saved} ${charsetNames.get(one.savedCharset) ?? "B"}`);
    all.push(`${name} region ${one.scrollTop}-${one.scrollBottom} tabs ${tabs.join(" ")}`);
    return all;
  }

  return {
    write(data) {
      terminal.input("", true); // after user input the next write is parsed at once
      terminal.write(data);
    },
    resize: (next) => terminal.resize(next.cols, next.rows),
    state() {
      const { normal, alt } = insides.buffers;
      const onAlternate = terminal.buffer.active.type === "alternate";
      const { x, y } = onAlternate ? alt : normal;
      const { synchronizedOutputMode: _, ...modes } = terminal.modes;
      const { isCursorHidden, decPrivateModes } = insides.service;
      const { charset, glevel } = insides.charsets;
      return [
        ...buffer("normal", normal),
        ...(onAlternate ? buffer("alternate", alt) : []),
        `cursor ${x},${y} ${isCursorHidden ? "hidden" : ""} ${decPrivateModes.cursorStyle} ${decPrivateModes.cursorBlink}`,
        `writes ${style(insides.input["_curAttrData"])}`,
        `modes ${JSON.stringify(modes)} ${insides.mouse.activeEncoding} ${terminal.options.convertEol}`,
        `charset ${charsetNames.get(charset) ?? "B"} ${glevel}`,
      ];
    },
    hangs() {
      const { normal, alt } = insides.buffers;
      const isOver = ({ lines, ybase }: InnerBuffer, x: number, y: number): boolean => {
        const line = lines.get(y + ybase);
        return x >= terminal.cols && line !== undefined && line.hasContent(x - 1) === 0 && line.getWidth(x - 1) !== 0;
      };
      const saved = (one: InnerBuffer): boolean => isOver(one, one.savedX, Math.max(0, one.savedY - one.ybase));
      const active = terminal.buffer.active.type === "alternate" ? alt : normal;
      const { bg, extended } = insides.input["_curAttrData"];
      const { charsets } = insides;
      if (charsets.charset !== charsets["_charsets"][charsets.glevel]) return true;
      if (terminal.modes.insertMode && insides.input["_parser"].precedingJoinState !== 0) return true;
      if ((bg & BG.extended) === 0 && (extended.urlId !== 0 || extended["_ext"] !== extended.underlineColor))
        return true;
      if ((bg & BG.extended) !== 0 && extended["_ext"] === 0 && extended.urlId === 0) return true;
      const { fg: savedFg, bg: savedBg } = alt.savedCurAttrData;
      const hasSaved =
        alt.savedX > 0 || alt.savedY > 0 || savedFg !== 0 || savedBg !== 0 || alt.savedCharset !== undefined;
      if (active === alt ? alt.ybase > 0 : hasSaved) return true;
      for (const { savedY, ybase } of [active, normal])
        if (savedY < ybase || savedY >= ybase + terminal.rows) return true;
      if (Number(Reflect.get(alt.lines, "maxLength")) > terminal.rows) return true; // scrolls out of sight, and back
      for (const { lines } of [normal, alt]) {
        for (let y = 0; y < lines.length; y++) {
          const line = lines.get(y);
          if (line !== undefined && (line.length > terminal.cols || hasHalves(line) || (y === 0 && line.isWrapped)))
            return true;
        }
      }
      return isOver(active, active.x, active.y) || saved(normal) || (active === alt && saved(alt));
    },
    hasLeftOvers() {
      const { normal, alt } = insides.buffers;
      return [normal, alt].some(({ lines }) =>
        Array.from({ length: lines.length }, (_, y) => lines.get(y)).some(
          (line) => line !== undefined && isMixed(line),
        ),
      );
    },
    close: () => terminal.dispose(),
  };
}

/** Set in the content of a cell whose characters are stored next to the row. */
const COMBINED = 0x200000;

function isMixed(line: InnerLine): boolean {
  const combined: unknown = Reflect.get(line, "_combined");
  if (typeof combined !== "object" || combined === null) throw new Error("xterm.js keeps joined characters elsewhere.");
  const isAt = (x: number, where: object, has: boolean): boolean => Object.hasOwn(where, x) === has;
  for (let x = 0; x < line.length; x++) {
    if (!isAt(x, combined, (line.hasContent(x) & COMBINED) !== 0)) return true;
    if (!isAt(x, line["_extendedAttrs"], (line.getBg(x) & BG.extended) !== 0)) return true;
  }
  return [combined, line["_extendedAttrs"]].some((where) => Object.keys(where).some((x) => Number(x) >= line.length));
}

/** Half of a wide character without the other. */
function hasHalves(line: InnerLine): boolean {
  for (let x = 0; x < line.length; x++) {
    const isSecond = line.getWidth(x) === 0 && line.hasContent(x) === 0;
    if (isSecond !== (x > 0 && line.getWidth(x - 1) === 2)) return true;
  }
  return line.getWidth(line.length - 1) === 2;
}

function chosenUnderline(extended: InnerAttributes["extended"]): number {
  return Math.max(1, (extended["_ext"] & UNDERLINE_STYLE.mask) >> UNDERLINE_STYLE.shift);
}

function color(value: number): string {
  switch (value & COLOR.mode) {
    case COLOR.p16:
    case COLOR.p256:
      return String(value & 0xff);
    case COLOR.rgb:
      return `#${(value & 0xffffff).toString(16)}`;
    default:
      return "";
  }
}
