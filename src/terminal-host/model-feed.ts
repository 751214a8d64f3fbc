import type { Clock } from "../core/clock.ts";

/** Decides when the screen model is told how far the output reaches. */
export interface ModelFeed {
  /** Output was logged. `asks`: its program may be waiting for the answer to a query, so the model is told at once. */
  logged(asks: boolean): void;
  /** The model shows all output before `offset`. */
  reached(offset: number): void;
  /** The model has, or is told by other means, all output before `offset`. */
  skipTo(offset: number): void;
  /** Tells it now: somebody waits for the screen. */
  flush(): void;
  /** Nothing is told any more. Returns whether something was left to tell. */
  close(): boolean;
}

/**
 * Output gathers for so long before the model is told: who typed gets the echo first, and a repaint in pieces is one batch.
 */
const GATHER_MS = 3;
/**
 * A burst is forwarded first: while output goes on without such a pause, the model begins so much later, or when so much has come. On
 * few processors it would otherwise take from the program and its viewers what it needs itself, which is more than they need.
 */
const BURST_MS = 250;
const BURST_BYTES = 4 * 1024 * 1024;
/** A model that may be behind only little begins earlier, so that the program need not wait for it. */
const BURST_SHARE = 0.25;

/**
 * `tell` is given the offset that the output reaches, one at a time: while the model works on it, more gathers for the next. Only a query
 * is told beside it.
 */
export function createModelFeed(deps: {
  readonly log: { readonly endOffset: number };
  readonly clock: Clock;
  /** How far behind the model may be. */
  readonly maxBehindBytes: number;
  readonly tell: (offset: number, asks: boolean) => void;
}): ModelFeed {
  const { log, clock } = deps;
  const burstBytes = Math.min(BURST_BYTES, deps.maxBehindBytes * BURST_SHARE);
  let reachedOffset = 0;
  let toldOffset = 0;
  let gathering = false;
  let closed = false;

  /** @param burstUntil for how long a pause is waited for; a model that was busy meanwhile goes on without */
  function gather(burstUntil: number): void {
    if (gathering || closed || toldOffset > reachedOffset || log.endOffset === toldOffset) return;
    gathering = true;
    wait(burstUntil);
  }

  function wait(burstUntil: number): void {
    const before = log.endOffset;
    clock.after(GATHER_MS, () => {
      const goesOn = log.endOffset > before && log.endOffset - toldOffset < burstBytes;
      if (goesOn && clock.now() < burstUntil) return wait(burstUntil);
      gathering = false;
      flush();
    });
  }

  function flush(asks = false): void {
    if (closed || log.endOffset <= toldOffset) return;
    toldOffset = log.endOffset;
    deps.tell(toldOffset, asks);
  }

  return {
    logged(asks) {
      if (asks) flush(true);
      else gather(clock.now() + BURST_MS);
    },
    reached(offset) {
      reachedOffset = offset;
      gather(0);
    },
    skipTo(offset) {
      toldOffset = offset;
    },
    flush: () => flush(),
    close() {
      closed = true;
      return log.endOffset > toldOffset;
    },
  };
}
