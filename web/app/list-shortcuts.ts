import type { Shortcut } from "./shortcuts.ts";

/** `j` and `k` through the links of a list. */
export function listShortcuts(selector: string, thing: string): readonly Shortcut[] {
  return [
    { keys: "j", label: `Next ${thing}`, run: () => moveFocus(selector, 1) },
    { keys: "k", label: `Previous ${thing}`, run: () => moveFocus(selector, -1) },
  ];
}

function moveFocus(selector: string, by: number): void {
  const links = [...document.querySelectorAll<HTMLElement>(selector)];
  const at = links.findIndex((link) => link === document.activeElement);
  links[at === -1 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
}
