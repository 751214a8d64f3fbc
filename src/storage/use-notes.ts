import type { Clock } from "../core/clock.ts";

/** At most one write per credential in this time, because a write takes longer than a request. */
const stepMs = 60_000;

/** Records the use of credentials in the background. A failure, such as a full disk, is ignored: the next use tries again. */
export function createUseNotes<One extends { readonly id: string; readonly lastUsedAt: number | null }>(
  clock: Clock,
  write: (used: One, now: number) => Promise<unknown>,
): (used: One) => void {
  const underWay = new Set<string>();
  return (used) => {
    const { id, lastUsedAt } = used;
    const now = clock.now();
    if ((lastUsedAt !== null && now - lastUsedAt < stepMs) || underWay.has(id)) return;
    underWay.add(id);
    const over = (): void => void underWay.delete(id);
    write(used, now).then(over, over);
  };
}
