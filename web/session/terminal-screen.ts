import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { UnicodeGraphemesAddon } from "@xterm/addon-unicode-graphemes";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { WebglAddon } from "@xterm/addon-webgl";
import { type ITheme, Terminal } from "@xterm/xterm";
import { webAddress } from "../ui/untrusted.tsx";
import { silenceTerminal } from "./silent-terminal.ts";
import { createTerminalFeed, type TerminalFeed, type TerminalSize } from "./terminal-feed.ts";

export interface TerminalLook {
  readonly fontPx: number;
  /** Puts the text into the page for screen readers. */
  readonly screenReader: boolean;
  /** Smaller letters are not used: the terminal scrolls instead. */
  readonly smallestFontPx?: number;
}

export interface TerminalScreen {
  readonly terminal: Terminal;
  readonly feed: TerminalFeed;
  readonly search: SearchAddon;
  setLook(look: TerminalLook): void;
  fittingSize(): TerminalSize | null;
  /** Shrinks the font so that the terminal fits (`width`: its width only); below the smallest font it scrolls. */
  shrinkToFit(by: "both" | "width" | "nothing"): void;
  /** Scrolls to the cursor where the element is lower than the terminal, as above a phone's keyboard. */
  showCursor(): void;
  close(): void;
}

/** Older lines are only in the recording. */
const scrollbackLines = 5_000;
/** The default, because smaller letters cannot be read. */
const defaultSmallestFontPx = 6;
/** The rows that agents draw below their composer: a rule and a line or two of hints. */
const rowsBelowCursor = 3;

/** Shows a terminal in `element`, which scrolls if the terminal is larger. */
export function createTerminalScreen(
  element: HTMLElement,
  options: { readonly label: string; readonly look: TerminalLook; readonly onResize?: (size: TerminalSize) => void },
): TerminalScreen {
  let { look } = options;
  keepStyleAttributes();
  const terminal = new Terminal({
    allowProposedApi: true,
    cursorBlink: false,
    cursorInactiveStyle: "outline",
    fontFamily: getComputedStyle(element).getPropertyValue("--font-mono") || "monospace",
    fontSize: look.fontPx,
    lineHeight: 1.15,
    linkHandler: { activate: (_event, uri) => openLink(uri) },
    logLevel: "off",
    macOptionIsMeta: true,
    minimumContrastRatio: 4.5,
    rescaleOverlappingGlyphs: true,
    screenReaderMode: look.screenReader,
    scrollback: scrollbackLines,
    theme: terminalTheme(element),
  });
  silenceTerminal(terminal.parser);
  const fit = new FitAddon();
  const search = new SearchAddon();
  terminal.loadAddon(fit);
  terminal.loadAddon(search);
  terminal.loadAddon(new UnicodeGraphemesAddon());
  terminal.loadAddon(new WebLinksAddon((_event, uri) => openLink(uri)));
  terminal.open(element);
  terminal.textarea?.setAttribute("aria-label", options.label);
  const stopDrawing = drawOnGraphicsCard(terminal);
  const feed = createTerminalFeed(terminal, options.onResize === undefined ? {} : { onResize: options.onResize });

  function setFont(px: number): void {
    if (terminal.options.fontSize !== px) terminal.options.fontSize = px;
  }

  /** The columns and rows that fit at the chosen font size. */
  function room(): TerminalSize | null {
    const proposed = fit.proposeDimensions();
    if (proposed === undefined || !Number.isFinite(proposed.cols) || !Number.isFinite(proposed.rows)) return null;
    const scale = (terminal.options.fontSize ?? look.fontPx) / look.fontPx;
    return {
      cols: Math.max(2, Math.floor(proposed.cols * scale)),
      rows: Math.max(1, Math.floor(proposed.rows * scale)),
    };
  }

  return {
    terminal,
    feed,
    search,
    setLook(next) {
      look = next;
      terminal.options.screenReaderMode = next.screenReader;
    },
    fittingSize() {
      return element.clientWidth === 0 || element.clientHeight === 0 ? null : room();
    },
    shrinkToFit(by) {
      if (by === "nothing") return setFont(look.fontPx);
      const size = room();
      if (size === null) return;
      const ratio = Math.min(1, size.cols / terminal.cols, by === "both" ? size.rows / terminal.rows : 1);
      // Rounded to half pixels, because each new size costs a measurement.
      setFont(Math.max(look.smallestFontPx ?? defaultSmallestFontPx, Math.floor(look.fontPx * ratio * 2) / 2));
    },
    showCursor() {
      const { cursorY, viewportY, baseY } = terminal.buffer.active;
      if (viewportY !== baseY) return; // scrolled up
      const rowPx = (terminal.element?.clientHeight ?? 0) / terminal.rows;
      element.scrollTop = Math.max(0, (cursorY + 1 + rowsBelowCursor) * rowPx - element.clientHeight);
    },
    close() {
      feed.close();
      stopDrawing();
      terminal.dispose();
    },
  };
}

function openLink(uri: string): void {
  const address = webAddress(uri);
  if (address !== null) window.open(address, "_blank", "noopener,noreferrer");
}

/** Uses WebGL if available; otherwise xterm renders elements. */
function drawOnGraphicsCard(terminal: Terminal): () => void {
  let addon: WebglAddon | null = null;
  const stop = (): void => {
    addon?.dispose();
    addon = null;
  };
  try {
    addon = new WebglAddon();
    addon.onContextLoss(stop);
    terminal.loadAddon(addon);
  } catch {
    stop(); // no WebGL here
  }
  return stop;
}

let attributesKept = false;

/** Without WebGL, xterm sets `style` attributes, which the page's policy refuses. Setting `cssText` is allowed. */
function keepStyleAttributes(): void {
  if (attributesKept) return;
  attributesKept = true;
  const setAttribute = Element.prototype.setAttribute;
  HTMLElement.prototype.setAttribute = function set(name: string, value: string): void {
    if (name === "style") this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
}

/** Dark in both themes, because the terminal host reports a dark background, for which programs choose their colours. */
function terminalTheme(near: Element): ITheme {
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
