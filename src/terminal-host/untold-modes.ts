import type { Terminal } from "@xterm/headless";

/** Modes that the serializer does not write although they change what a viewer sees or sends. */
export interface UntoldModes {
  /** Escape sequences that set them as they are now, to follow the serialized screen. */
  serialize(): string;
}

const CURSOR_VISIBLE = 25;
const SAVE_CURSOR = 1048;
const SAVE_AND_ALTERNATE = 1049;
/** Mouse encodings (UTF-8, SGR, urxvt, SGR pixels) and alternate scroll. */
const REMEMBERED = new Set([1005, 1006, 1015, 1016, 1007]);

/** Watches `terminal` from its start. */
export function watchUntoldModes(terminal: Terminal): UntoldModes {
  const set = new Set<number>();
  let cursorHidden = false;
  let cursorStyle = 0;
  let lineDrawing = false;
  /** Where each buffer's cursor was saved, counted from 0; absent where nothing was saved. */
  const saved = new Map<"normal" | "alternate", { readonly x: number; readonly y: number }>();
  let region: readonly [number, number] | undefined;

  function reset(): false {
    set.clear();
    cursorHidden = false;
    cursorStyle = 0;
    lineDrawing = false;
    saved.clear();
    region = undefined;
    return false;
  }
  function save(): false {
    const { type, cursorX, cursorY } = terminal.buffer.active;
    saved.set(type, { x: cursorX, y: cursorY });
    return false;
  }
  function change(params: readonly (number | number[])[], on: boolean): false {
    for (const param of params) {
      if (typeof param !== "number") continue;
      if (on && (param === SAVE_CURSOR || param === SAVE_AND_ALTERNATE)) save();
      if (param === CURSOR_VISIBLE) cursorHidden = !on;
      else if (REMEMBERED.has(param) && on) set.add(param);
      else set.delete(param);
    }
    return false;
  }
  const { parser } = terminal;
  for (const charset of ["0", "A", "B"]) {
    parser.registerEscHandler({ intermediates: "(", final: charset }, () => {
      lineDrawing = charset === "0";
      return false;
    });
  }
  parser.registerEscHandler({ final: "7" }, save);
  parser.registerCsiHandler({ final: "s" }, save);
  parser.registerEscHandler({ final: "c" }, reset);
  parser.registerCsiHandler({ intermediates: "!", final: "p" }, reset);
  parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => change(params, true));
  parser.registerCsiHandler({ prefix: "?", final: "l" }, (params) => change(params, false));
  parser.registerCsiHandler({ intermediates: " ", final: "q" }, ([style]) => {
    cursorStyle = typeof style === "number" ? style : 0;
    return false;
  });
  parser.registerCsiHandler({ final: "r" }, ([top, bottom]) => {
    const first = typeof top === "number" && top > 0 ? top : 1;
    const last = typeof bottom === "number" && bottom > 0 ? Math.min(bottom, terminal.rows) : terminal.rows;
    region = first < last && (first > 1 || last < terminal.rows) ? [first, last] : undefined;
    return false;
  });
  terminal.onResize(() => {
    region = undefined; // as the terminal itself does
  });

  return {
    serialize() {
      let text = "";
      const { type, cursorX, cursorY } = terminal.buffer.active;
      // Both move the cursor, which is put back then; that cannot express a cursor behind the last column, and not in origin mode.
      if (!terminal.modes.originMode && cursorX < terminal.cols) {
        const at = saved.get(type);
        if (at !== undefined) text += `\x1b[${at.y + 1};${at.x + 1}H\x1b7`;
        if (region !== undefined) text += `\x1b[${region[0]};${region[1]}r`;
        if (text !== "") text += `\x1b[${cursorY + 1};${cursorX + 1}H`;
      }
      for (const mode of set) text += `\x1b[?${mode}h`;
      if (cursorStyle !== 0) text += `\x1b[${cursorStyle} q`;
      if (lineDrawing) text += "\x1b(0";
      if (cursorHidden) text += "\x1b[?25l";
      return text;
    },
  };
}
