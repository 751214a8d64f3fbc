import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";

// A revoked or expired token ends what it holds open within five seconds.
const recheckMs = 2_000;

/**
 * Looks again and again whether a caller may still do what it was let in for, and calls `onEnd` once when it may not.
 * @returns stops looking
 */
export function whileValid(
  clock: Clock,
  check: () => Promise<unknown>,
  onEnd: (code: "unauthenticated" | "insufficient_scope") => void,
): () => void {
  let cancel = (): void => undefined;
  let over = false;
  const later = (): void => {
    if (over) return; // it ended while the caller was looked up
    cancel = clock.after(recheckMs, () => {
      check().then(later, (error: unknown) => {
        if (over) return;
        // Only what says so ends it: a store that does not answer for a moment does not.
        if (hasCode(error, "unauthenticated")) onEnd("unauthenticated");
        else if (hasCode(error, "insufficient_scope")) onEnd("insufficient_scope");
        else later();
      });
    });
  };
  later();
  return () => {
    over = true;
    cancel();
  };
}
