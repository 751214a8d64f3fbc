import type { Shortcut } from "./shortcuts.ts";

/** Rows that are not there `maxWaitMs` after they were needed are not waited for. */
const maxWaitMs = 15_000;

/**
 * `j` and `k` through the links of a list. Where an element with `data-more` stands for rows that are still to come, each press counts
 * once they are there.
 */
export function listShortcuts(selector: string, thing: string): readonly Shortcut[] {
  const move = createMover(selector);
  return [
    { keys: "j", label: `Next ${thing}`, run: () => move(1) },
    { keys: "k", label: `Previous ${thing}`, run: () => move(-1) },
  ];
}

function createMover(selector: string): (by: number) => void {
  /** Steps that wait for rows, and the row from which they are taken. */
  let owed = 0;
  let from: HTMLElement | null = null;
  let endsAtMs = 0;
  const changes = new MutationObserver(() => {
    // Who has moved on by another way is not pulled back.
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

/** Moves the focus by one link, unless rows that are still to come lie between. */
function step(selector: string, by: 1 | -1): "moved" | "waiting" | "end" {
  const stops = [...document.querySelectorAll<HTMLElement>(`${selector}, [data-more]`)];
  const at = stops.findIndex((stop) => stop === document.activeElement);
  const next = at === -1 ? stops.find((stop) => stop.matches(selector)) : stops[at + by];
  if (next === undefined) return "end";
  if (!next.matches(selector)) return "waiting";
  next.focus();
  return "moved";
}
