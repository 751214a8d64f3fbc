import { systemClock } from "../../src/core/clock.ts";
import { type Pty, startPty } from "../../src/terminal-host/pty.ts";
import { createReadScheduler } from "../../src/terminal-host/read-scheduler.ts";
import { size } from "./gateway.ts";

/** The same script in a pseudo-terminal of this process, with nothing between. */
export interface BareTerminal {
  readonly pty: Pty;
  bytes(): number;
  next(): Promise<void>;
  readonly ended: Promise<number>;
}

export function startBare(script: string): BareTerminal {
  let bytes = 0;
  const waiting = new Set<() => void>();
  const ended = Promise.withResolvers<number>();
  const pty = startPty(
    { argv: ["/bin/sh", "-c", script], cwd: "/", env: { PATH: "/usr/bin:/bin", TERM: "xterm-256color" }, ...size },
    {
      clock: systemClock,
      turns: createReadScheduler(systemClock),
      onOutput(data) {
        bytes += data.byteLength;
        for (const resolve of waiting) resolve();
        waiting.clear();
      },
      onEnd: () => ended.resolve(performance.now()),
    },
  );
  return {
    pty,
    bytes: () => bytes,
    next: () => new Promise((resolve) => waiting.add(resolve)),
    ended: ended.promise,
  };
}
