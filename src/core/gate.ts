import { PosternError } from "./errors.ts";

/** Lets so many tasks run at once; others wait in line. */
export interface Gate {
  /** @throws PosternError `rate_limited` when the line is full */
  run<T>(task: () => Promise<T>): Promise<T>;
}

/** A gate for tasks that each take much of the machine. */
export function createGate({ atOnce, waiting }: { readonly atOnce: number; readonly waiting: number }): Gate {
  const line: (() => void)[] = [];
  let running = 0;
  return {
    async run(task) {
      if (running < atOnce) running += 1;
      else if (line.length < waiting) await new Promise<void>((resolve) => line.push(resolve));
      else throw new PosternError("rate_limited", `${atOnce + waiting} such requests are under way. Try again.`);
      try {
        return await task();
      } finally {
        const next = line.shift();
        if (next === undefined) running -= 1;
        else next(); // its place is handed on
      }
    },
  };
}
