import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { messageOf } from "../../src/core/errors.ts";
import type { ReadOutput, SessionSummary } from "../../src/wire/coding.ts";

/** The expected fields of a summary. */
export type Expected = Partial<Pick<SessionSummary, "activity" | "status" | "owner">> & {
  /** The kinds of the permissions that wait, in order. */
  readonly asks?: readonly string[];
  /** Epoch seconds of `resetsAt`. */
  readonly resetsAt?: number;
};

/** One read of a session. */
interface Sample {
  /** When the call was made and when it was answered. */
  readonly from: number;
  readonly to: number;
  readonly read: ReadOutput;
}

/** Reads a session repeatedly, and compares its reported state with the true one. */
export interface Witness {
  /**
   * Call when something has just happened: the session has to report it within a second, and to keep reporting it until the next
   * {@link act}.
   */
  expects(what: Expected): Promise<void>;
  /** From now on the session can report another state. */
  act(): void;
  /** What is expected last has to hold for a second; then everything that was seen is judged. Stops looking. */
  end(): Promise<void>;
  /** Stops looking and judges nothing. */
  stop(): void;
}

const truthMs = 1_000;
const lookMs = 150;

/** @param look reads the session; null while it is not known */
export function createWitness(title: string, look: () => Promise<ReadOutput | null>): Witness {
  const samples: Sample[] = [];
  let holds: { readonly what: Expected; readonly from: number } | null = null;
  let stopped = false;
  let latenessMs = 0;
  const wrong: string[] = [];

  async function run(): Promise<void> {
    while (!stopped) {
      const from = performance.now();
      const read = await look();
      const to = performance.now();
      if (read !== null) {
        samples.push({ from, to, read });
        if (samples.length > 2_000) samples.shift();
        if (holds !== null && from >= holds.from && !says(read, holds.what)) {
          wrong.push(`${Math.round(from - holds.from)} ms after it said ${show(holds.what)}: ${describe(read)}`);
          holds = null;
        }
      }
      await sleep(lookMs);
      // A machine that is busy with other things is late with everything: so late may the gateway be too.
      latenessMs = Math.max(0, performance.now() - to - lookMs);
    }
  }
  const running = run();
  let trouble: string | null = null;
  running.catch((error: unknown) => {
    trouble = messageOf(error);
  });

  return {
    act() {
      holds = null;
    },
    async expects(what) {
      const moment = performance.now();
      let allowedMs = truthMs;
      for (;;) {
        const seen = samples.find(({ to, read }) => to >= moment && says(read, what));
        if (seen !== undefined) {
          holds = { what, from: seen.to };
          lags.push({ title, what: show(what), ms: Math.round(seen.to - moment) });
          return;
        }
        if (trouble !== null) expect.fail(`${title}: ${trouble}`);
        allowedMs += latenessMs;
        latenessMs = 0;
        const waitedMs = performance.now() - moment;
        const last = samples.at(-1);
        if (
          waitedMs > allowedMs + 10_000 ||
          (waitedMs > allowedMs && last !== undefined && last.from > moment + allowedMs)
        ) {
          stopped = true;
          expect.fail(
            `${title}: ${Math.round(waitedMs)} ms later it does not say ${show(what)}, but ${last === undefined ? "nothing" : describe(last.read)}`,
          );
        }
        await sleep(20);
      }
    },
    stop() {
      stopped = true;
    },
    async end() {
      await sleep(truthMs);
      stopped = true;
      await running;
      expect(wrong, title).toEqual([]);
    },
  };
}

/** How long it took until each true state was reported. */
export const lags: { readonly title: string; readonly what: string; readonly ms: number }[] = [];

function says(read: ReadOutput, what: Expected): boolean {
  const { asks, resetsAt, ...fields } = what;
  if (asks !== undefined && JSON.stringify(read.permissions.map(({ kind }) => kind)) !== JSON.stringify(asks))
    return false;
  if (resetsAt !== undefined && Date.parse(read.resetsAt ?? "") !== resetsAt * 1000) return false;
  return (["activity", "status", "owner"] as const).every((name) => !(name in fields) || fields[name] === read[name]);
}

function show(what: Expected): string {
  return Object.entries(what)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(", ");
}

function describe({ activity, status, owner, permissions, resetsAt }: ReadOutput): string {
  return show({ activity, status, owner, asks: permissions.map(({ kind }) => kind) }) + `, resetsAt ${resetsAt}`;
}
