import { useEffect } from "react";
import { keySequence } from "./key-sequence.ts";

export interface Shortcut {
  /** As in `KeyboardEvent.key`, with a space between two keys. `mod+k` is Ctrl+K or ⌘K. */
  readonly keys: string;
  readonly label: string;
  readonly run: () => void;
}

/** Handles shortcuts, except while the user types. */
export function useShortcuts(shortcuts: readonly Shortcut[]): void {
  useEffect(() => {
    const forget = keySequence.register(shortcuts);
    const onKeyDown = (event: KeyboardEvent): void => {
      const pressed = pressedKey(event);
      if (pressed === null) return;
      if (isTyping(event.target) && (pressed === "mod+a" || !pressed.startsWith("mod+") || inTerminal(event.target)))
        return;
      const { keys } = keySequence.press(event, pressed);
      if (event.defaultPrevented) return;
      const found = shortcuts.find((shortcut) => shortcut.keys === keys);
      if (found === undefined) return;
      event.preventDefault();
      found.run();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => {
      forget();
      document.removeEventListener("keydown", onKeyDown);
    };
  }, [shortcuts]);
}

/** Runs the open page's own shortcut, as its key would. */
export function pressShortcut(key: string): void {
  document.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
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

/** In a terminal every key belongs to the program. */
function inTerminal(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(".xterm") !== null;
}

/** How long a key press waits for rows to load. */
const maxWaitMs = 15_000;

/** Moves with `j` and `k` through the links of a list. At an element with `data-more`, a press waits for the rows that it loads. */
export function listShortcuts(selector: string, thing: string): readonly Shortcut[] {
  const move = createMover(selector);
  return [
    { keys: "j", label: `Next ${thing}`, run: () => move(1) },
    { keys: "k", label: `Previous ${thing}`, run: () => move(-1) },
  ];
}

function createMover(selector: string): (by: number) => void {
  /** Steps that are waiting for rows, and the row where they start. */
  let owed = 0;
  let from: HTMLElement | null = null;
  let endsAtMs = 0;
  const changes = new MutationObserver(() => {
    // The user has moved on.
    if (from === null || from !== document.activeElement || performance.now() > endsAtMs) owed = 0;
    pay();
  });

  function pay(): void {
    while (owed !== 0) {
      const next = step(selector, owed < 0 ? -1 : 1);
      if (next === "waiting") break;
      owed = next === "end" ? 0 : owed - Math.sign(owed);
    }
    changes.disconnect();
    from = owed !== 0 && document.activeElement instanceof HTMLElement ? document.activeElement : null;
    if (from !== null) changes.observe(document.body, { childList: true, subtree: true });
  }

  return (by) => {
    if (from === null || from !== document.activeElement) owed = 0;
    owed += by;
    endsAtMs = performance.now() + maxWaitMs;
    pay();
  };
}

/** Moves the focus by one link, unless unloaded rows are in between. */
function step(selector: string, by: 1 | -1): "moved" | "waiting" | "end" {
  const stops = [...document.querySelectorAll<HTMLElement>(`${selector}, [data-more]`)];
  const at = stops.findIndex((stop) => stop === document.activeElement);
  const next = at === -1 ? stops.find((stop) => stop.matches(selector)) : stops[at + by];
  if (next === undefined) return "end";
  if (!next.matches(selector)) return "waiting";
  next.focus();
  return "moved";
}

/** Shortcuts of the session page. */
export const sessionShortcutList = [
  { keys: "e", label: "In a session: focus the terminal", does: "terminal" },
  { keys: "p", label: "In a session: write a prompt", does: "prompt" },
  { keys: "v", label: "In a session: show the conversation", does: "turns" },
  { keys: "c", label: "In a session: show changes", does: "changes" },
  { keys: "r", label: "In a session: play the recording", does: "playback" },
  { keys: "f", label: "In a session: search the conversation", does: "search" },
  { keys: "[", label: "In a session: previous prompt", does: "previousPrompt" },
  { keys: "]", label: "In a session: next prompt", does: "nextPrompt" },
  { keys: "{", label: "In a session: previous problem", does: "previousProblem" },
  { keys: "}", label: "In a session: next problem", does: "nextProblem" },
  { keys: "w", label: "In a session: go to the request that waits for you", does: "request" },
  { keys: "i", label: "In a session: interrupt the turn", does: "interrupt" },
  { keys: "x", label: "In a session: close it", does: "close" },
] as const;

export type SessionDeed = (typeof sessionShortcutList)[number]["does"];

/** Keys for a session's open permission request. */
export const answerKeys = { allow: "a", deny: "d" } as const;

export const answerShortcutList = [
  { keys: answerKeys.allow, label: "In a session: allow what the agent asks for" },
  { keys: answerKeys.deny, label: "In a session: deny it" },
] as const;

/** All other keys in a terminal go to the agent. */
export const terminalShortcutList = [
  { keys: "F6", label: "In a terminal: leave it" },
  { keys: "mod+f", label: "In a terminal: search" },
  { keys: "mod+v", label: "In a terminal: paste" },
] as const;
