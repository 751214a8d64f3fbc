import type { Terminal } from "@xterm/headless";

/** What the model's terminal claims to look like: xterm's own defaults, light on dark. */
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
 * Answers what `@xterm/headless` leaves open and programs ask at their start: colours (OSC 4, 10, 11, 12), name and version
 * (XTVERSION), light or dark (DSR 996). The kitty keyboard protocol is not spoken, so its query stays without an answer, which is how
 * a terminal says so; programs ask for device attributes in the same breath and go on when those come.
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
