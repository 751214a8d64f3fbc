import type { Terminal } from "@xterm/headless";

/** Modes that mean nothing to the model, or that it keeps in another form, but something to the terminal of a viewer. */
export interface HiddenModes {
  /** Escape sequences that set them as they are now. */
  serialize(): string;
}

/** Mouse in UTF-8 and urxvt's encoding, alternate scroll, reports of light and dark. */
const REMEMBERED = new Set([1005, 1015, 1007, 2031]);
const CURSOR_BLINK = 12;
/** How keys with modifiers are reported. */
const MODIFY_OTHER_KEYS = 4;

/** Watches `terminal` from its start. */
export function watchHiddenModes(terminal: Terminal): HiddenModes {
  const set = new Set<number>();
  let cursorStyle = 0;
  let otherKeys = 0;

  function reset(): false {
    set.clear();
    cursorStyle = 0;
    otherKeys = 0;
    return false;
  }
  function change(params: readonly (number | number[])[], on: boolean): false {
    for (const param of params) {
      if (typeof param !== "number") continue;
      if (on && (REMEMBERED.has(param) || param === CURSOR_BLINK)) set.add(param);
      else set.delete(param);
    }
    return false;
  }
  const { parser } = terminal;
  parser.registerEscHandler({ final: "c" }, reset);
  parser.registerCsiHandler({ intermediates: "!", final: "p" }, () => {
    cursorStyle = 0;
    return false;
  });
  parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => change(params, true));
  parser.registerCsiHandler({ prefix: "?", final: "l" }, (params) => change(params, false));
  parser.registerCsiHandler({ prefix: ">", final: "m" }, ([resource, value]) => {
    if (resource === MODIFY_OTHER_KEYS) otherKeys = typeof value === "number" && value <= 2 ? value : 0;
    else if (resource === undefined) otherKeys = 0;
    return false;
  });
  parser.registerCsiHandler({ intermediates: " ", final: "q" }, ([style]) => {
    cursorStyle = typeof style === "number" ? style : 0;
    return false;
  });

  return {
    serialize() {
      let text = "";
      for (const mode of set) text += `\x1b[?${mode}h`;
      if (cursorStyle !== 0) text += `\x1b[${cursorStyle} q`;
      if (otherKeys !== 0) text += `\x1b[>4;${otherKeys}m`;
      return text;
    },
  };
}
