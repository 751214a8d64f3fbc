import { useSyncExternalStore } from "react";

/** For each, `styles.css` sets the font size of the root element. */
export const textSizes = ["standard", "large", "larger"] as const;
export type TextSize = (typeof textSizes)[number];
export const mergeMethods = ["merge", "squash", "rebase"] as const;

/** Stored per browser. */
export interface Preferences {
  readonly theme: "system" | "light" | "dark";
  /** For the whole page, except terminals. */
  readonly textSize: TextSize;
  /** In pixels. */
  readonly terminalFontPx: number;
  /** Renders terminal text for screen readers, at a cost in speed. */
  readonly terminalScreenReader: boolean;
  readonly notifications: boolean;
  /** How changes are shown where there is room for both sides. */
  readonly diffLayout: "unified" | "split";
  /** Hides changes that affect only whitespace. */
  readonly ignoreWhitespace: boolean;
  /** How pull requests are merged. */
  readonly mergeMethod: (typeof mergeMethods)[number];
}

export const terminalFontRange = { min: 9, max: 24 } as const;

const names = {
  theme: "postern.theme",
  textSize: "postern.text-size",
  terminalFontPx: "postern.terminal-font",
  terminalScreenReader: "postern.terminal-screen-reader",
  notifications: "postern.notifications",
  diffLayout: "postern.diff-layout",
  ignoreWhitespace: "postern.ignore-whitespace",
  mergeMethod: "postern.merge-method",
};
const listeners = new Set<() => void>();
let current = read();

export function usePreferences(): Preferences {
  return useSyncExternalStore(subscribe, () => current);
}

export function preferences(): Preferences {
  return current;
}

export function changePreferences(changes: Partial<Preferences>): void {
  const next = { ...current, ...changes };
  localStorage.setItem(names.theme, next.theme);
  localStorage.setItem(names.textSize, next.textSize);
  localStorage.setItem(names.terminalFontPx, String(next.terminalFontPx));
  localStorage.setItem(names.terminalScreenReader, String(next.terminalScreenReader));
  localStorage.setItem(names.notifications, String(next.notifications));
  localStorage.setItem(names.diffLayout, next.diffLayout);
  localStorage.setItem(names.ignoreWhitespace, String(next.ignoreWhitespace));
  localStorage.setItem(names.mergeMethod, next.mergeMethod);
  refresh();
}

function read(): Preferences {
  const theme = localStorage.getItem(names.theme);
  const font = Number(localStorage.getItem(names.terminalFontPx) ?? Number.NaN);
  return {
    theme: theme === "light" || theme === "dark" ? theme : "system",
    textSize: textSizes.find((size) => size === localStorage.getItem(names.textSize)) ?? "standard",
    terminalFontPx: font >= terminalFontRange.min && font <= terminalFontRange.max ? font : 13,
    terminalScreenReader: localStorage.getItem(names.terminalScreenReader) === "true",
    notifications: localStorage.getItem(names.notifications) === "true",
    diffLayout: localStorage.getItem(names.diffLayout) === "split" ? "split" : "unified",
    ignoreWhitespace: localStorage.getItem(names.ignoreWhitespace) === "true",
    mergeMethod: mergeMethods.find((method) => method === localStorage.getItem(names.mergeMethod)) ?? "merge",
  };
}

function refresh(): void {
  current = read();
  if (current.theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = current.theme;
  if (current.textSize === "standard") delete document.documentElement.dataset["textSize"];
  else document.documentElement.dataset["textSize"] = current.textSize;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  if (listeners.size === 0) window.addEventListener("storage", refresh);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) window.removeEventListener("storage", refresh);
  };
}
