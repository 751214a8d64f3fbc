import { setTimeout as sleep } from "node:timers/promises";
import {
  type ContainedEnd,
  type ContainedProgram,
  type ContainedRoot,
  ended,
  initOf,
  runBeside,
  spawnContained,
} from "./contained.ts";

/** A running container. */
export interface BootedContainer {
  /** Its output so far. */
  output(): string;
  /** The host's pid of its PID 1; null when it has ended. */
  init(): number | null;
  /** Runs a program in it, as `docker exec` does. */
  exec(...argv: readonly [string, ...string[]]): Promise<ContainedEnd>;
  /** As `docker stop`: sends the image's signal, and fails if the container does not end in time. */
  stop(): Promise<ContainedEnd>;
  /** Kills it. */
  kill(): Promise<void>;
}

const bootTimeoutMs = 60_000;
/** Compose gives it 30 seconds. */
const stopTimeoutMs = 30_000;

/**
 * Boots a container: resolves when its gateway listens, or when it has ended.
 * @throws Error with its output when neither happens in time
 */
export async function bootContained(root: ContainedRoot, program: ContainedProgram): Promise<BootedContainer> {
  const child = spawnContained(root, program);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (output += chunk));
  const end = ended(child);
  const deadline = Date.now() + bootTimeoutMs;
  while (child.exitCode === null && !output.includes("listening on")) {
    if (Date.now() > deadline) throw new Error(`The container does not listen:\n${output}`);
    await sleep(20);
  }
  const init = initOf(child);
  return {
    output: () => output,
    init: () => initOf(child),
    exec: (...argv) => runBeside(init ?? 0, { ...program, argv }),
    async stop() {
      const late = AbortSignal.timeout(stopTimeoutMs);
      if (init !== null) process.kill(init, "SIGTERM");
      const stopped = await Promise.race([
        end,
        new Promise<null>((done) => late.addEventListener("abort", () => done(null))),
      ]);
      if (stopped === null) throw new Error(`The container does not end:\n${output}`);
      return stopped;
    },
    async kill() {
      child.kill("SIGKILL");
      await end;
    },
  };
}
