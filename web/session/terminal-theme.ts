import type { ITheme } from "@xterm/xterm";

/**
 * A terminal's colours. It is dark in either appearance of the page: that is what the terminal host tells programs that ask, and they choose
 * their own colours by it. Ground, ink and cursor are variables of the style sheet.
 */
export function terminalTheme(near: Element): ITheme {
  const style = getComputedStyle(near);
  const colour = (name: string): string => style.getPropertyValue(name).trim() || "gray";
  const ground = colour("--terminal-ground");
  return {
    background: ground,
    foreground: colour("--terminal-ink"),
    cursor: colour("--terminal-cursor"),
    cursorAccent: ground,
    selectionBackground: "#2f5d51",
    scrollbarSliderBackground: "#ffffff26",
    scrollbarSliderHoverBackground: "#ffffff40",
    scrollbarSliderActiveBackground: "#ffffff59",
    black: "#24292a",
    red: "#f08b7e",
    green: "#8fc48a",
    yellow: "#e3b968",
    blue: "#86b3e8",
    magenta: "#cf9fe0",
    cyan: "#74c7b1",
    white: "#d4d3cb",
    brightBlack: "#7b817a",
    brightRed: "#ffa89c",
    brightGreen: "#abdba6",
    brightYellow: "#f6d08a",
    brightBlue: "#a8ccf5",
    brightMagenta: "#e2bdf0",
    brightCyan: "#97dfcb",
    brightWhite: "#f5f4ee",
  };
}
