import { PosternError } from "./errors.ts";

/** Limits how many tasks run at once. Others wait in a queue. */
export interface Gate {
  /** @throws PosternError `rate_limited` if the queue is full */
  run<T>(task: () => Promise<T>): Promise<T>;
}

export function createGate({ atOnce, waiting }: { readonly atOnce: number; readonly waiting: number }): Gate {
  const line: (() => void)[] = [];
  let running = 0;
  return {
    async run(task) {
      if (running < atOnce) running += 1;
      else if (line.length < waiting) await new Promise<void>((resolve) => line.push(resolve));
      else
        throw new PosternError(
          "rate_limited",
          `Too many requests of this kind at once (${atOnce + waiting}). Retry in a moment.`,
        );
      try {
        return await task();
      } finally {
        const next = line.shift();
        if (next === undefined) running -= 1;
        else next(); // hands over its place
      }
    },
  };
}
