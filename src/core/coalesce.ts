/**
 * `task`, one run at a time: a call during a run makes it run once more, however many calls there were. Every call resolves when
 * nothing is left to do, and rejects as the run does that it waited for.
 */
export function oneAtATime(task: () => Promise<void>): () => Promise<void> {
  let wanted = false;
  let running: Promise<void> | null = null;
  async function runWanted(): Promise<void> {
    try {
      while (wanted) {
        wanted = false;
        await task();
      }
    } finally {
      running = null; // here, so that nothing asked for after the last look is taken for part of this run
    }
  }
  return () => {
    wanted = true;
    running ??= Promise.resolve().then(runWanted);
    return running;
  };
}
