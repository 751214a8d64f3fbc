import type { Clock } from "../core/clock.ts";

/** The use of a credential is written down at most this often: a write for every request would cost more than the request. */
const stepMs = 60_000;

/** A credential that is used. */
interface Used {
  readonly id: string;
  /** Null when it never was. */
  readonly lastUsedAt: number | null;
}

/**
 * Writes down, beside the request, that a credential was used: who calls does not wait for others that write. Not knowing when it was last
 * used is no reason to refuse it, for example when the disk is full: its next use tries again.
 */
export function createUseNotes<One extends Used>(
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
