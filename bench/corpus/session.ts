import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { zstdCompressSync } from "node:zlib";
import { createRandom, type Random } from "./random.ts";
import { answerText, promptText } from "./words.ts";

/** One transcript to be written. */
export interface SessionPlan {
  readonly sessionId: string;
  readonly cwd: string;
  readonly branch: string;
  readonly language: string;
  /** When the first line was written. */
  readonly startMs: number;
  /** About how large it gets. */
  readonly sizeBytes: number;
  /** A line of about this size stands in it; 0 for none. */
  readonly longLineBytes: number;
  /** Whether a sub-agent wrote it: no conversation of a person. */
  readonly subAgent: boolean;
  /** Whether lines of garbage stand between the others. */
  readonly garbage: boolean;
  /** Whether the last line was not written to its end. */
  readonly halfLastLine: boolean;
  /** A word that stands in no other transcript. */
  readonly rareWord: string;
}

/** What stands in the transcript that was written. */
export interface SessionTruth {
  readonly ownTitle: string | null;
  readonly firstMessage: string | null;
  readonly turnCount: number;
  /** The turn in which the plan's rare word stands. */
  readonly rareTurn: number | null;
  readonly skippedLines: number;
  readonly lastLineMs: number;
}

/** The parts of a turn that both agents have. */
export interface Desk {
  readonly plan: SessionPlan;
  readonly random: Random;
  readonly filler: Filler;
  readonly out: LineSink;
  /** The time of the next line. */
  tick(): string;
  /** A new prompt; counts a turn. */
  prompt(): string;
  /** Any words of the agent; counts a turn unless the last one is the agent's already. */
  answer(): string;
  /** What the agent did counts a turn as well. */
  acted(): void;
  /** What a tool printed. */
  result(): Buffer;
  /** Whether the session is long enough. */
  full(): boolean;
  /** The agent's own title. */
  entitle(title: string): void;
  truth(): SessionTruth;
}

/** A desk for one transcript. */
export function createDesk(plan: SessionPlan, tools: { random: Random; filler: Filler; out: LineSink }): Desk {
  const { random, filler, out } = tools;
  let nowMs = plan.startMs;
  let turnCount = 0;
  let lastRole: "user" | "assistant" | null = null;
  let ownTitle: string | null = null;
  let firstMessage: string | null = null;
  let rareTurn: number | null = null;
  let longLineOwed = plan.longLineBytes > 0;
  let skippedLines = 0;

  function garbage(): void {
    if (!plan.garbage || (skippedLines > 0 && random.chance(0.8))) return;
    skippedLines++;
    out.line(
      random.pick<string | Buffer>([
        "garbage, no JSON at all",
        '{"type":"user","message":{"role":"user","content":"torn in the midd',
        Buffer.alloc(300),
        Buffer.from([0x7b, 0xff, 0xfe, 0x80, 0xc3]),
      ]),
    );
  }

  function acted(): void {
    if (lastRole !== "assistant") turnCount++;
    lastRole = "assistant";
  }

  return {
    plan,
    random,
    filler,
    out,
    tick() {
      nowMs += random.between(5, 4_000);
      return new Date(nowMs).toISOString();
    },
    prompt() {
      garbage();
      let text = promptText(random, plan.language);
      if (rareTurn === null && (turnCount === 0 ? random.chance(0.5) : true)) {
        text = `${text} ${plan.rareWord}`;
        rareTurn = turnCount;
      }
      firstMessage ??= text;
      lastRole = "user";
      turnCount++;
      return text;
    },
    answer() {
      acted();
      return answerText(random, plan.language);
    },
    acted,
    result() {
      if (longLineOwed && out.sizeBytes > plan.sizeBytes * 0.3) {
        longLineOwed = false;
        return filler.take(random, plan.longLineBytes);
      }
      // Mostly short, now and then as long as a tool may print; never much more than the whole transcript is to get.
      const size = Math.exp(6.6 + 1.6 * random.normal());
      return filler.take(random, Math.min(size, 60_000, plan.sizeBytes / 3));
    },
    full: () => out.sizeBytes >= plan.sizeBytes,
    entitle(title) {
      ownTitle = title;
    },
    truth: () => ({ ownTitle, firstMessage, turnCount, rareTurn, skippedLines, lastLineMs: nowMs }),
  };
}

/** JSON text of a string. */
export const quoted = (text: string): string => JSON.stringify(text);

const bufferBytes = 1024 * 1024;

/** Receives a transcript in pieces. */
export interface LineSink {
  /** Bytes so far, before compression. */
  readonly sizeBytes: number;
  /** The pieces and a newline. */
  line(...pieces: readonly (string | Buffer)[]): void;
  /** The pieces alone. */
  raw(...pieces: readonly (string | Buffer)[]): void;
  end(): void;
}

// One for all files: they are written one after another.
const buffer = Buffer.allocUnsafe(bufferBytes);

/** Writes to a new file at `path`; compressed when its name ends in `.zst`. */
export function createLineSink(path: string): LineSink {
  const packed = path.endsWith(".zst");
  const parts: Buffer[] = [];
  const file = packed ? null : openSync(path, "w", 0o600);
  let filled = 0;
  let written = 0;

  function write(bytes: Buffer): void {
    written += bytes.length;
    if (file === null) parts.push(Buffer.from(bytes));
    else writeSync(file, bytes);
  }

  function flush(): void {
    if (filled > 0) write(buffer.subarray(0, filled));
    filled = 0;
  }

  function add(piece: string | Buffer): void {
    const most = typeof piece === "string" ? piece.length * 3 : piece.length;
    if (filled + most > bufferBytes) flush();
    if (most > bufferBytes) write(typeof piece === "string" ? Buffer.from(piece) : piece);
    else filled += typeof piece === "string" ? buffer.write(piece, filled) : piece.copy(buffer, filled);
  }

  return {
    get sizeBytes() {
      return written + filled;
    },
    line(...pieces) {
      for (const piece of pieces) add(piece);
      add("\n");
    },
    raw(...pieces) {
      for (const piece of pieces) add(piece);
    },
    end() {
      flush();
      if (file === null) writeFileSync(path, zstdCompressSync(Buffer.concat(parts)), { mode: 0o600 });
      else closeSync(file);
    },
  };
}

const poolBytes = 512 * 1024;

/** Tool output, escaped for a JSON string without its quotes. */
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

/** One pool of lines, sliced for each result: as fast as copying. */
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
