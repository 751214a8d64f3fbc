import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Frees the memory of used buffers. V8 frees them only when its heap is full or after 64 MB of buffers, which are outside the heap. A
 * flood of output would grow the process by that much. A minor collection takes a millisecond.
 */
export type MinorGc = ReturnType<typeof createMinorGc>;

const sweepEveryBytes = 4 * 1024 * 1024;

export function createMinorGc() {
  let sweep: (() => void) | undefined;
  let sinceBytes = 0;
  return {
    /** Reports that this many bytes were read and sent, and are no longer needed. */
    passed(sizeBytes: number): void {
      sinceBytes += sizeBytes;
      if (sinceBytes < sweepEveryBytes) return;
      sinceBytes = 0;
      sweep ??= findSweep();
      sweep();
    },
  };
}

/** V8's own `gc` function. Only a context that is created after the flag was set has it. */
function findSweep(): () => void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  setFlagsFromString("--no-expose-gc");
  if (typeof collect !== "function") return () => undefined;
  return () => void Reflect.apply(collect, undefined, [{ type: "minor" }]);
}
