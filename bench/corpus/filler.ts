import { createRandom, type Random } from "./random.ts";

const poolBytes = 512 * 1024;

/** What tools print, escaped for a JSON string: ready to be put between two quotes. */
export interface Filler {
  /** About so many bytes, cut between lines. */
  take(random: Random, sizeBytes: number): Buffer;
}

const lines: readonly ((random: Random) => string)[] = [
  (random) => `  const total${random.between(1, 99)} = "sum" + items.map((item) => item.price).join("\\n"); // é\n`,
  (random) =>
    `-rw-r--r-- 1 dev dev ${random.between(100, 99_999)} Nov  3 11:${random.between(10, 59)} file-${random.hex(6)}.ts\n`,
  (random) =>
    `${random.between(1, 2_000)}\t    if (!Number.isFinite(value)) throw new TypeError(\`bad value \${value}\`);\n`,
  (random) =>
    ` \u001b[32m✓\u001b[0m src/orders/page-${random.hex(4)}.test.ts (${random.between(2, 90)} tests) ${random.between(5, 900)}ms\n`,
  (random) => `{"id":${random.between(1, 1e9)},"name":"${random.hex(12)}","tags":["a","b\\\\c"],"ok":true}\n`,
  (random) => `// 設定ファイルを読み込み、無効な値は既定値に置き換える（${random.between(1, 999)}）\n`,
  (random) =>
    `2026-0${random.between(1, 9)}-1${random.between(0, 9)}T10:00:00Z INFO  request ${random.hex(16)} took ${random.between(1, 4_000)} ms\n`,
  () => "\n",
];

/** One pool of lines, cut anew for each result: as fast as copying. */
export function createFiller(seed: number): Filler {
  const random = createRandom(seed, -1);
  const pieces: Buffer[] = [];
  const starts: number[] = [];
  let size = 0;
  while (size < poolBytes) {
    const line = (lines[random.between(0, lines.length - 1)] ?? (() => "\n"))(random);
    const piece = Buffer.from(JSON.stringify(line).slice(1, -1));
    starts.push(size);
    pieces.push(piece);
    size += piece.length;
  }
  const pool = Buffer.concat(pieces);

  /** The first line that starts at `at` or later; the pool's end when there is none. */
  function lineAt(at: number): number {
    let [low, high] = [0, starts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) < at) low = middle + 1;
      else high = middle;
    }
    return starts[low] ?? pool.length;
  }

  return {
    take(chance, sizeBytes) {
      if (sizeBytes <= pool.length / 2) {
        const start = lineAt(Math.floor(chance.next() * (pool.length - sizeBytes)));
        return pool.subarray(start, lineAt(start + sizeBytes));
      }
      const whole: Buffer[] = [];
      for (let left = sizeBytes; left > 0; left -= pool.length)
        whole.push(pool.subarray(0, lineAt(Math.min(left, pool.length))));
      return Buffer.concat(whole);
    },
  };
}
