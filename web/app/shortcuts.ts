import { useEffect } from "react";

/** A key, or two in a row. */
export interface Shortcut {
  /** As in `KeyboardEvent.key`; with a space between two keys. `mod+k` is Ctrl or ⌘ with K. */
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
}

/** How long the second key of two may take. */
const sequenceMs = 1_200;

/** Listens for shortcuts, unless somebody is typing. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useEffect(() => {
    let first = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onKeyDown = (event: KeyboardEvent): void => {
      const pressed = pressedKey(event);
      if (pressed === null || event.defaultPrevented) return;
      if (isTyping(event.target) && !(pressed.startsWith("mod+") && !inTerminal(event.target))) return;
      const keys = first === "" ? pressed : `${first} ${pressed}`;
      const found =
        shortcuts.find((shortcut) => shortcut.keys === keys) ?? shortcuts.find((shortcut) => shortcut.keys === pressed);
      clearTimeout(timer);
      first = "";
      if (found !== undefined) {
        event.preventDefault();
        found.run();
        return;
      }
      if (shortcuts.some((shortcut) => shortcut.keys.startsWith(`${pressed} `))) {
        first = pressed;
        timer = setTimeout(() => (first = ""), sequenceMs);
      }
    };
    document.addEventListener("keydown", onKeyDown);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("keydown", onKeyDown);
    };
  }, [shortcuts]);
}

function pressedKey(event: KeyboardEvent): string | null {
  if (event.altKey || event.isComposing || event.key.length > 1) return null;
  if (event.ctrlKey || event.metaKey) return `mod+${event.key.toLowerCase()}`;
  return event.key;
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement)
    return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button"].includes(target.type);
}

/** In a terminal every key is the program's. */
function inTerminal(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(".xterm") !== null;
}
