import { type Clock, systemClock } from "../core/clock.ts";
import { isRunning } from "../platform/processes.ts";
import type { ExternalHolder } from "./template.ts";

/** The sessions that some live process runs, by the agent's own id. */
export type Holders = ReadonlyMap<string, ExternalHolder>;

// Under what a person takes for "now", and long enough that a page of sessions costs one look.
const rememberedMs = 250;
// One answer for each state folder of an agent; a gateway has one.
const maxRemembered = 20;

/**
 * `look`, whose answer for one key is given again for a quarter of a second, without those whose process has ended since: a session that
 * was just closed is run by nobody. Calls during a look share it. Failures are not kept.
 */
export function createHolderMemory(
  look: (key: string) => Promise<Holders>,
  clock: Clock = systemClock,
): (key: string) => Promise<Holders> {
  const answers = new Map<string, { readonly until: number; readonly answer: Promise<Holders> }>();
  return (key) => {
    const known = answers.get(key);
    if (known !== undefined && known.until > clock.now()) return known.answer.then(stillRunning);
    if (answers.size >= maxRemembered) answers.clear();
    const answer = look(key);
    const entry = { until: clock.now() + rememberedMs, answer };
    answers.set(key, entry);
    answer.catch(() => {
      if (answers.get(key) === entry) answers.delete(key);
    });
    return answer;
  };
}

function stillRunning(holders: Holders): Holders {
  return new Map([...holders].filter(([, { pid }]) => isRunning(pid)));
}
