import type { Clock } from "../core/clock.ts";

/** Output is gathered for this long before the model is notified, so that an echo is sent first and a repaint in pieces is one batch. */
const GATHER_MS = 3;
/**
 * A burst is forwarded first: while output continues without such a pause, the model starts this much later, or after `BURST_BYTES`.
 * With few processors, the model would otherwise compete with the program and its viewers.
 */
const BURST_MS = 250;
const BURST_BYTES = 4 * 1024 * 1024;
/** A model with a small limit starts earlier, so that the program does not have to pause. */
const BURST_SHARE = 0.25;

/**
 * Decides when the screen model is notified of output. `notify` receives the offset that the output reaches; calls never overlap: more is gathered
 * while the model works. Only queries are reported immediately.
 */
export function createModelFeed(deps: {
  readonly log: { readonly endOffset: number };
  readonly clock: Clock;
  /** How far behind the model may be. */
  readonly maxBehindBytes: number;
  readonly notify: (offset: number, asks: boolean) => void;
}) {
  const { log, clock } = deps;
  const burstBytes = Math.min(BURST_BYTES, deps.maxBehindBytes * BURST_SHARE);
  let reachedOffset = 0;
  let notifiedOffset = 0;
  let gathering = false;
  let closed = false;

  /** @param burstUntil the time until which to wait for a pause; 0 if the model was just busy */
  function gather(burstUntil: number): void {
    if (gathering || closed || notifiedOffset > reachedOffset || log.endOffset === notifiedOffset) return;
    gathering = true;
    wait(burstUntil);
  }

  function wait(burstUntil: number): void {
    const before = log.endOffset;
    clock.after(GATHER_MS, () => {
      const isBurst = log.endOffset > before && log.endOffset - notifiedOffset < burstBytes;
      if (isBurst && clock.now() < burstUntil) return wait(burstUntil);
      gathering = false;
      flush();
    });
  }

  function flush(asks = false): void {
    if (closed || log.endOffset <= notifiedOffset) return;
    notifiedOffset = log.endOffset;
    deps.notify(notifiedOffset, asks);
  }

  return {
    /** Call this when output was logged. `asks`: the program may be waiting for the answer to a query. */
    logged(asks: boolean): void {
      if (asks) flush(true);
      else gather(clock.now() + BURST_MS);
    },
    /** The model shows all output before `offset`. */
    reached(offset: number): void {
      reachedOffset = offset;
      gather(0);
    },
    /** The model receives all output before `offset` in another way. */
    skipTo(offset: number): void {
      notifiedOffset = offset;
    },
    /** Notifies it now. */
    flush: () => flush(),
    /** @returns whether output was left to report */
    close(): boolean {
      closed = true;
      return log.endOffset > notifiedOffset;
    },
  };
}
