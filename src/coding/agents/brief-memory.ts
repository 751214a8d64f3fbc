import { type Clock, systemClock } from "../../core/clock.ts";

// Under what a person takes for "now", and long enough that a page of sessions costs one look.
const rememberedMs = 250;
// One answer for each state folder of an agent; a gateway has one.
const maxRemembered = 20;

/** `look`, whose answer for one key is given again for a quarter of a second; calls during a look share it. Failures are not kept. */
export function createBriefMemory<T>(
  look: (key: string) => Promise<T>,
  clock: Clock = systemClock,
): (key: string) => Promise<T> {
  const answers = new Map<string, { readonly until: number; readonly answer: Promise<T> }>();
  return (key) => {
    const known = answers.get(key);
    if (known !== undefined && known.until > clock.now()) return known.answer;
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
