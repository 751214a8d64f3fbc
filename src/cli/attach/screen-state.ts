/** Tracks the changes that output made in the user's terminal, so that they can be undone. */
export interface ScreenState {
  /** Records the state set by output, in which every sequence is complete. */
  note(output: string): void;
  /** Whether the alternate screen is shown. */
  readonly alternate: boolean;
  readonly cursorHidden: boolean;
  /** Resets every mode and shows the main screen with its cursor; without an alternate screen, the cursor is at the top. */
  reset(): string;
}

/** Modes that are on in an unchanged terminal. */
const usuallyOn: ReadonlySet<number> = new Set([7, 25]);
const alternateScreens: ReadonlySet<number> = new Set([47, 1047, 1049]);
/** Saves and restores the cursor: nothing to reset. */
const saveCursor = 1048;

const changes = /\x1b(?:\[(\??)([\d;]+)([hl])|\[(\d*) q|([=>c])|(\[!p))/g;

/** An unchanged terminal. */
export function createScreenState(): ScreenState {
  /** Private modes that differ from the default. */
  const changed = new Set<number>();
  const ansiModes = new Set<string>();
  let alternateBy: number | undefined;
  let keypad = false;
  let cursorStyle = false;

  function noteMode(mode: number, on: boolean): void {
    if (mode === saveCursor) return;
    if (alternateScreens.has(mode)) alternateBy = on ? mode : undefined;
    else if (on === usuallyOn.has(mode)) changed.delete(mode);
    else changed.add(mode);
  }

  function noteAnsiMode(mode: string, on: boolean): void {
    if (on) ansiModes.add(mode);
    else ansiModes.delete(mode);
  }

  /** Keeps {@link ansiModes}, because these modes survive a reset in some terminals. */
  function noteReset(): void {
    changed.clear();
    alternateBy = undefined;
    keypad = cursorStyle = false;
  }

  return {
    get alternate() {
      return alternateBy !== undefined;
    },
    get cursorHidden() {
      return changed.has(25);
    },
    note(output) {
      for (const [, isPrivate, modes, set, style, word, softReset] of output.matchAll(changes)) {
        if (modes !== undefined && isPrivate === "?") {
          for (const mode of modes.split(";")) noteMode(Number(mode), set === "h");
        } else if (modes !== undefined) {
          for (const mode of modes.split(";")) noteAnsiMode(mode, set === "h");
        } else if (style !== undefined) cursorStyle = style !== "" && style !== "0";
        else if (word === "c") noteReset();
        else if (word !== undefined) keypad = word === "=";
        else if (softReset !== undefined) changed.delete(25); // everything else that a soft reset changes can safely be reset again
      }
    },
    reset() {
      // Origin, region, attributes, character sets and link are not tracked; they are always reset.
      let text = "\x1b[?6l\x1b[r\x1b]8;;\x1b\\";
      for (const mode of changed) text += `\x1b[?${mode}${usuallyOn.has(mode) ? "h" : "l"}`;
      for (const mode of ansiModes) text += `\x1b[${mode}l`;
      if (keypad) text += "\x1b>";
      if (cursorStyle) text += "\x1b[0 q";
      // The main screen may have its own region.
      if (alternateBy !== undefined) text += `\x1b[?${alternateBy}l\x1b7\x1b[r\x1b8`;
      noteReset();
      ansiModes.clear();
      return `${text}\x1b[m\x1b(B\x0f`;
    },
  };
}
