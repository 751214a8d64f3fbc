/** Runs tasks of the same key one after another, in the order they were asked for; tasks of other keys run beside them. */
export interface KeyedLock {
  run<T>(key: string, task: () => Promise<T>): Promise<T>;
}

/**
 * A lock for each key, held while its task runs. A key's entry goes when nobody waits for it, so the map is bounded by the
 * number of tasks under way.
 */
export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return {
    run(key, task) {
      const before = tails.get(key) ?? Promise.resolve();
      const mine = before.then(task, task);
      const settled = mine.then(
        () => undefined,
        () => undefined, // the caller sees the failure; the next in line only waits for the end
      );
      tails.set(key, settled);
      void settled.then(() => {
        if (tails.get(key) === settled) tails.delete(key);
      });
      return mine;
    },
  };
}

/** Joins concurrent calls: while one run for a key is under way, every caller of that key gets its promise. */
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
