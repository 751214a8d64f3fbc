import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Gives back the memory of buffers that passed through. */
export interface MinorGc {
  /** So much was read and sent on, and is needed no more. */
  passed(sizeBytes: number): void;
}

/**
 * Buffers lie outside of the engine's heap, and it gives those that are done with back only when the heap has filled or after 64 MB of
 * them: a flood of output would raise the process by that much. Sweeping the youngest objects costs a millisecond.
 */
const sweepEveryBytes = 4 * 1024 * 1024;

/** @see MinorGc */
export function createMinorGc(): MinorGc {
  let sweep: (() => void) | undefined;
  let sinceBytes = 0;
  return {
    passed(sizeBytes) {
      sinceBytes += sizeBytes;
      if (sinceBytes < sweepEveryBytes) return;
      sinceBytes = 0;
      sweep ??= findSweep();
      sweep();
    },
  };
}

/** The engine's own function, which a context has that is made after the flag was set. */
function findSweep(): () => void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect !== "function") return () => undefined;
  return () => void Reflect.apply(collect, undefined, [{ type: "minor" }]);
}
