/** A deterministic random generator. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  pick<T>(from: readonly [T, ...T[]]): T;
  /** From the standard normal distribution. */
  normal(): number;
  /** So many hexadecimal digits. */
  hex(digits: number): string;
  uuid(): string;
}

/** Numbers for one purpose: the same `seed` and `stream` give the same ones (sfc32). */
export function createRandom(seed: number, stream: number): Random {
  let [a, b, c, d] = [seed | 0, stream | 0, 0x9e3779b9 | 0, 1];

  function word(): number {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  }

  const next = (): number => word() / 4_294_967_296;
  const between = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1));
  function hex(digits: number): string {
    let text = "";
    while (text.length < digits) text += word().toString(16).padStart(8, "0");
    return text.slice(0, digits);
  }
  for (let n = 0; n < 15; n++) word();
  return {
    next,
    between,
    hex,
    chance: (probability) => next() < probability,
    pick: (from) => from[Math.floor(next() * from.length)] ?? from[0],
    normal: () => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next()),
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`,
  };
}
