/** How long the second key of a two-key shortcut can take. */
export const sequenceMs = 1_200;

/**
 * Remembers the first key of a two-key shortcut, until the second key or for {@link sequenceMs}. All parts of the page share it, so that
 * the second key never acts alone: the `a` of `g a` does not allow a permission request.
 */
export function createKeySequence(now: () => number = () => performance.now()) {
  const lists = new Set<readonly { readonly keys: string }[]>();
  let first: { readonly key: string; readonly atMs: number } | null = null;
  /** The last event and what it means, so that each listener gets the same answer. */
  let read: { readonly event: unknown; readonly keys: string; readonly isSecond: boolean } | null = null;

  return {
    /** @returns a function that removes the shortcuts */
    register(shortcuts: readonly { readonly keys: string }[]): () => void {
      lists.add(shortcuts);
      return () => lists.delete(shortcuts);
    },
    /** The keys that a press completes: both keys of a sequence, or only this one. `isSecond`: whether only a two-key shortcut can use this key. */
    press(event: unknown, key: string): { readonly keys: string; readonly isSecond: boolean } {
      if (read !== null && read.event === event) return read;
      const before = first !== null && now() - first.atMs <= sequenceMs ? first.key : null;
      const all = [...lists].flat();
      first = null;
      const isSecond = before !== null;
      if (!isSecond && all.some(({ keys }) => keys.startsWith(`${key} `))) first = { key, atMs: now() };
      const meaning = { event, keys: isSecond ? `${before} ${key}` : key, isSecond };
      read = meaning;
      return meaning;
    },
  };
}

/** The sequence that all shortcuts of this page share. */
export const keySequence = createKeySequence();
