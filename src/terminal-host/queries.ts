import type { Terminal } from "@xterm/headless";

/** The colors that the model reports: xterm's defaults, light on dark. */
const FOREGROUND = 0xffffff;
const BACKGROUND = 0x000000;
/** The first sixteen of the palette; the rest is computed. */
const BASE_COLORS = [
  0x2e3436, 0xcc0000, 0x4e9a06, 0xc4a000, 0x3465a4, 0x75507b, 0x06989a, 0xd3d7cf, 0x555753, 0xef2929, 0x8ae234,
  0xfce94f, 0x729fcf, 0xad7fa8, 0x34e2e2, 0xeeeeec,
] as const;
const DYNAMIC_COLORS = new Map([
  [10, FOREGROUND],
  [11, BACKGROUND],
  [12, FOREGROUND],
]);

/**
 * Answers queries that programs send at startup and `@xterm/headless` does not answer: colors (OSC 4, 10, 11, 12), name and version
 * (XTVERSION), light or dark (DSR 996). The query for the kitty keyboard protocol is not answered, which means that it is not supported.
 * @see https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
 */
export function answerQueries(terminal: Terminal, answer: (data: string) => void): void {
  for (const first of DYNAMIC_COLORS.keys()) {
    terminal.parser.registerOscHandler(first, (data) => {
      for (const [index, value] of data.split(";").entries()) {
        const color = DYNAMIC_COLORS.get(first + index);
        if (value === "?" && color !== undefined) answer(`\x1b]${first + index};${rgbText(color)}\x1b\\`);
      }
      return false;
    });
  }
  terminal.parser.registerOscHandler(4, (data) => {
    const parts = data.split(";");
    for (let at = 0; at + 1 < parts.length; at += 2) {
      const index = Number(parts[at]);
      const color = paletteColor(index);
      if (parts[at + 1] === "?" && color !== undefined) answer(`\x1b]4;${index};${rgbText(color)}\x1b\\`);
    }
    return false;
  });
  terminal.parser.registerCsiHandler({ prefix: ">", final: "q" }, (params) => {
    if (params.length <= 1 && (params[0] ?? 0) === 0) answer("\x1bP>|xterm.js(6.0.0)\x1b\\");
    return true;
  });
  terminal.parser.registerCsiHandler({ prefix: "?", final: "n" }, (params) => {
    if (params[0] !== 996) return false;
    answer("\x1b[?997;1n");
    return true;
  });
}

function paletteColor(index: number): number | undefined {
  if (!Number.isInteger(index) || index < 0 || index > 255) return undefined;
  if (index < 16) return BASE_COLORS[index];
  if (index >= 232) return (8 + (index - 232) * 10) * 0x010101;
  const level = (step: number): number => (step === 0 ? 0 : 55 + step * 40);
  const cube = index - 16;
  return (level(Math.floor(cube / 36)) << 16) | (level(Math.floor(cube / 6) % 6) << 8) | level(cube % 6);
}

function rgbText(color: number): string {
  const channel = (shift: number): string => {
    const hex = ((color >> shift) & 0xff).toString(16).padStart(2, "0");
    return hex + hex;
  };
  return `rgb:${channel(16)}/${channel(8)}/${channel(0)}`;
}

/** A program that waits for an answer writes nothing more, so its query is at the end; so in a flood, only this much is searched. */
const LOOKED_AT_BYTES = 4 * 1024;
/** Longer than any query. */
const CARRIED_CHARACTERS = 64;

/**
 * Queries for device attributes, status and cursor, version, modes, keyboard, window size; colors and other strings with `?`; settings.
 * @see https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
 */
const QUERY =
  /\x1b(?:\[(?:[?>=]?[\d;]*c|\??[\d;]+n|>[\d;]*q|\??[\d;]*\$p|\d[\d;]*t|\?u)|\][^\x07\x1b]{0,4000}\?[^\x07\x1b]{0,4000}(?:\x07|\x1b\\)|P\$q[^\x1b]{0,60}\x1b\\)/;
const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|[\]P][^\x07\x1b]*\x1b?)?$/;

/**
 * Detects when a program queries its terminal and may be waiting for the answer. If this misses a query (in the middle of a flood, or
 * in an unusual form), the screen model still answers it, only later.
 */
export function watchQueries() {
  let carried = "";
  return {
    /** @returns whether a query is complete in the last part of `data` */
    push(data: Buffer): boolean {
      const text = carried + data.toString("latin1", Math.max(0, data.byteLength - LOOKED_AT_BYTES));
      const unfinished = text.slice(-CARRIED_CHARACTERS);
      carried = UNFINISHED.exec(unfinished)?.[0] ?? "";
      return QUERY.test(text);
    },
  };
}
