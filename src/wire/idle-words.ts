const units = [
  { name: "day", ms: 86_400_000 },
  { name: "hour", ms: 3_600_000 },
  { name: "minute", ms: 60_000 },
  { name: "second", ms: 1_000 },
] as const;

/** Why a session has no agent: `ended after 12 hours idle`. From two days on, the time is given in days. */
export function idleEndWords(idleMs: number): string {
  const unit = units.find(({ name, ms }) => idleMs >= (name === "day" ? 2 * ms : ms)) ?? units[3];
  const number = Math.floor(idleMs / unit.ms);
  return `ended after ${number} ${unit.name}${number === 1 ? "" : "s"} idle`;
}
