/** Set by `--small`: sizes that show within seconds that a benchmark works, without measuring speed. */
export const small = process.argv.includes("--small");

/** The modes are how a benchmark calls itself. */
const knownOptions = ["--small", "--bare", "--index", "--measure"];

/**
 * The size of a benchmark: the argument at `position` (0 is the first, options not counted) if it was given, else `full`, or `small`
 * with `--small`.
 *
 * @throws Error when the argument is not a positive integer, and for an unknown option
 */
export function sizeOf(sizes: { readonly full: number; readonly small: number; readonly position?: number }): number {
  const unknown = process.argv.slice(2).find((option) => option.startsWith("--") && !knownOptions.includes(option));
  if (unknown !== undefined) throw new Error(`Unknown option ${unknown}. A benchmark takes --small, and numbers.`);
  const { position } = sizes;
  const given = position === undefined ? undefined : positionals()[position];
  if (given === undefined) return small ? sizes.small : sizes.full;
  const size = Number(given);
  if (!Number.isSafeInteger(size) || size < 1) throw new Error(`"${given}" is not a positive integer.`);
  return size;
}

/** The arguments that are not options. */
export function positionals(): readonly string[] {
  return process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
}

/** The middle value; of an even count the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * The `q` quantile (0 to 1) of `values`, interpolated.
 *
 * @throws Error when there are no values: nothing was measured
 */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  const at = (sorted.length - 1) * q;
  const [low, high] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  if (low === undefined || high === undefined) throw new Error("Nothing was measured.");
  return low + (high - low) * (at - Math.floor(at));
}
