import type { ITheme } from "@xterm/xterm";

type Palette = Omit<ITheme, "background" | "foreground" | "cursor">;

/** The sixteen colours. Ground and ink are the page's own. */
const palettes: Readonly<Record<"light" | "dark", Palette>> = {
  dark: {
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
  },
  light: {
    black: "#1b1f1d",
    red: "#a12c22",
    green: "#2f6b2b",
    yellow: "#835600",
    blue: "#245a9c",
    magenta: "#7c3a92",
    cyan: "#12604f",
    white: "#8d8f86",
    brightBlack: "#64685f",
    brightRed: "#c03d31",
    brightGreen: "#3c8237",
    brightYellow: "#96660a",
    brightBlue: "#2f6fbd",
    brightMagenta: "#964bb0",
    brightCyan: "#1a7a65",
    brightWhite: "#1b1f1d",
  },
};

/** The colours of a terminal in this appearance; what the page's own style knows is taken from there. */
export function terminalTheme(appearance: "light" | "dark", near: Element): ITheme {
  const palette = palettes[appearance];
  const colour = colourReader(near);
  const ink = colour("--color-ink", palette.white ?? "#888888");
  return {
    ...palette,
    background: colour("--color-well", appearance === "dark" ? "#0c0f10" : "#eceae2"),
    foreground: ink,
    cursor: colour("--color-accent", ink),
    cursorAccent: colour("--color-well", "#000000"),
    selectionBackground: appearance === "dark" ? "#2f5d51" : "#bfe0d4",
    scrollbarSliderBackground: appearance === "dark" ? "#ffffff26" : "#0000002e",
    scrollbarSliderHoverBackground: appearance === "dark" ? "#ffffff40" : "#00000047",
    scrollbarSliderActiveBackground: appearance === "dark" ? "#ffffff59" : "#00000061",
  };
}

/** A custom property may say `light-dark(…)`: what comes of it is known to an element that has it as its colour. */
function colourReader(near: Element): (name: string, otherwise: string) => string {
  return (name, otherwise) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    near.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour.startsWith("rgb") ? colour : otherwise;
  };
}
