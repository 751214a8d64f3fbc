/** Things of one day, under its name. */
export interface Day<One> {
  readonly day: string;
  readonly things: readonly One[];
}

/** Things that come in the order of their time, day by day. */
export function byDay<One>(things: readonly One[], atOf: (thing: One) => string): readonly Day<One>[] {
  const nowMs = Date.now();
  return [...Map.groupBy(things, (thing) => dayWords(atOf(thing), nowMs))].map(([day, ofDay]) => ({
    day,
    things: ofDay,
  }));
}

/** The day of a time as a heading: today and yesterday by name. */
export function dayWords(at: string, nowMs: number): string {
  const day = new Date(at);
  const daysAgo = Math.round((startOfDay(new Date(nowMs)) - startOfDay(day)) / 86_400_000);
  if (daysAgo === 0) return "Today";
  if (daysAgo === 1) return "Yesterday";
  return day.toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });
}

function startOfDay(time: Date): number {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate()).getTime();
}
