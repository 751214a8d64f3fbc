/** Collects what must be closed and closes it once, last opened first. */
export interface Disposer {
  add(close: () => void | Promise<void>): void;
  /** Idempotent; every closer runs even when another failed, and the first failure is thrown at the end. */
  close(): Promise<void>;
}

/** An empty {@link Disposer}. */
export function createDisposer(): Disposer {
  const closers: (() => void | Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  async function closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = closers.pop(); close !== undefined; close = closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error); // thrown below, after the others had their turn
      }
    }
    if (failures.length > 0) throw failures[0];
  }
  return {
    add: (close) => void closers.push(close),
    close: () => (closing ??= closeAll()),
  };
}
