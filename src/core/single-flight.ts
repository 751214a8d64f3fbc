/** Runs tasks with the same key one after another, in order. Tasks with other keys run concurrently. */
export interface KeyedLock {
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

/**
 * A lock per key. A key's entry is removed when its last task ends, so the map is bounded by the number of running tasks.
 */
export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run(key, task) {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(task, task);
      const settled = mine.then(
        () => undefined,
        () => undefined, // reported to the caller; the next task only waits
      );
      tails.set(key, settled);
      void settled.then(() => {
        if (tails.get(key) === settled) tails.delete(key);
      });
      return mine;
    },
  };
}

/** Joins concurrent calls: while a task for a key runs, every caller with that key gets its promise. */
export function createSingleFlight<T>(): (key: string, task: () => Promise<T>) => Promise<T> {
  const flights = new Map<string, Promise<T>>();
  return (key, task) => {
    const flying = flights.get(key);
    if (flying !== undefined) return flying;
    const flight = task().finally(() => flights.delete(key));
    flights.set(key, flight);
    return flight;
  };
}
