/**
 * Generates the transcripts of two years of work with both agents, deterministically from a seed.
 *
 * `node bench/corpus.ts <dir> [--files N] [--bytes N] [--seed N]`, by default 10,000 files and 1 GB. The content of each file is listed in
 * `<dir>/corpus.jsonl`. Point `CLAUDE_CONFIG_DIR` at `<dir>/claude` and `CODEX_HOME` at `<dir>/codex`.
 */
import { chmodSync, mkdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { setImmediate } from "node:timers/promises";
import { parseArgs } from "node:util";
import { promptTitle } from "../src/transcripts/index.ts";
import { writeClaudeSession } from "./corpus/claude-session.ts";
import { writeCodexSession } from "./corpus/codex-session.ts";
import { type FileKind, type FilePlan, planFiles } from "./corpus/plan.ts";
import { createRandom } from "./corpus/random.ts";
import { createDesk, createFiller, createLineSink, type Filler, type SessionTruth } from "./corpus/session.ts";

/** What {@link makeCorpus} makes. */
export interface CorpusOptions {
  readonly dir: string;
  readonly seed: number;
  readonly files: number;
  /** About how many bytes in all, before compression: a few percent more or less. */
  readonly bytes: number;
  /** Epoch milliseconds before which all was written; 2026-11-01 by default, so that the bytes do not depend on the day. */
  readonly until?: number;
}

/** What stands in a file of the corpus, known by who wrote it. */
export interface CorpusFile {
  readonly path: string;
  readonly agent: "claude-code" | "codex";
  readonly format: "claude" | "codex";
  /** A sub-agent's file is not a session. `unreadable` (mode 000) is one if root reads it. */
  readonly kind: FileKind;
  readonly sessionId: string;
  readonly cwd: string;
  /** The agent's own title, or else the first line of the first message. */
  readonly title: string | null;
  readonly firstMessage: string | null;
  readonly turnCount: number;
  /** A word that stands in this file's prompts and in no other file; null when it has none. */
  readonly rare: { readonly word: string; readonly turnIndex: number } | null;
  readonly skippedLines: number;
  readonly sizeBytes: number;
  readonly modifiedMs: number;
}

/** A corpus on disk. */
export interface Corpus {
  /** For `CLAUDE_CONFIG_DIR`. */
  readonly claudeHome: string;
  /** For `CODEX_HOME`. */
  readonly codexHome: string;
  readonly files: readonly CorpusFile[];
}

const defaultUntil = Date.UTC(2026, 10, 1);

/** Writes the corpus below `dir`, which should be empty. */
export async function makeCorpus(options: CorpusOptions): Promise<Corpus> {
  const { dir, seed } = options;
  const filler = createFiller(seed);
  const files: CorpusFile[] = [];
  for (const [index, plan] of planFiles({ ...options, until: options.until ?? defaultUntil }).entries()) {
    files.push(writeFile(dir, plan, { filler, seed, stream: 2 * index + 3 }));
    if (index % 50 === 0) await setImmediate();
  }
  // Other files that are found in such folders.
  mkdirSync(join(dir, "claude/projects/-home-dev-code-shop/memory.jsonl"), { recursive: true });
  writeFileSync(join(dir, "claude/projects/notes.txt"), "no transcript\n");
  utimesSync(join(dir, "claude/projects/notes.txt"), 1e9, 1e9);
  mkdirSync(join(dir, "codex/sessions"), { recursive: true });
  return { claudeHome: join(dir, "claude"), codexHome: join(dir, "codex"), files };
}

function writeFile(
  dir: string,
  plan: FilePlan,
  { filler, seed, stream }: { readonly filler: Filler; readonly seed: number; readonly stream: number },
): CorpusFile {
  const path = join(dir, plan.path);
  mkdirSync(dirname(path), { recursive: true });
  const random = createRandom(seed, stream);
  const desk = createDesk(plan.session, { random, filler, out: createLineSink(path) });
  const { sessionId, cwd, rareWord } = plan.session;
  const truth = writeContent(plan, desk);
  const modifiedMs = truth.lastLineMs + random.between(1, 900);
  utimesSync(path, modifiedMs / 1_000, modifiedMs / 1_000);
  if (plan.kind === "unreadable") chmodSync(path, 0o000);
  return {
    path,
    agent: plan.agent,
    format: plan.agent === "codex" ? "codex" : "claude",
    kind: plan.kind,
    sessionId,
    cwd,
    title: truth.ownTitle ?? promptTitle(truth.firstMessage ?? ""),
    firstMessage: truth.firstMessage,
    turnCount: truth.turnCount,
    rare: truth.rareTurn === null ? null : { word: rareWord, turnIndex: truth.rareTurn },
    skippedLines: truth.skippedLines,
    sizeBytes: statSync(path).size,
    modifiedMs,
  };
}

function writeContent({ agent, kind, session }: FilePlan, desk: ReturnType<typeof createDesk>): SessionTruth {
  const nothing = { ...desk.truth(), lastLineMs: session.startMs };
  if (kind === "empty" || kind === "garbage") {
    const lines = kind === "empty" ? 0 : 40;
    for (let line = 0; line < lines; line++) desk.out.line(Buffer.from([0xff, 0x00, 0x80 + line]), "no line of JSON");
    desk.out.end();
    return { ...nothing, skippedLines: lines };
  }
  return agent === "codex" ? writeCodexSession(desk) : writeClaudeSession(desk);
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { files: { type: "string" }, bytes: { type: "string" }, seed: { type: "string" } },
  });
  const [dir] = positionals;
  const { files = "10000", bytes = "1000000000", seed = "1" } = values;
  const numbers = { files: Number(files), bytes: Number(bytes), seed: Number(seed) };
  if (dir === undefined || !Object.values(numbers).every(Number.isSafeInteger)) {
    console.error("node bench/corpus.ts <dir> [--files N] [--bytes N] [--seed N]");
    process.exitCode = 2;
    return;
  }
  const began = performance.now();
  const corpus = await makeCorpus({ dir, ...numbers });
  const seconds = (performance.now() - began) / 1_000;
  writeFileSync(join(dir, "corpus.jsonl"), corpus.files.map((file) => `${JSON.stringify(file)}\n`).join(""));
  const megabytes = corpus.files.reduce((sum, file) => sum + file.sizeBytes, 0) / 1_000_000;
  const largest = Math.max(...corpus.files.map((file) => file.sizeBytes)) / 1_000_000;
  const turns = corpus.files.reduce((sum, file) => sum + file.turnCount, 0);
  console.log(
    `${corpus.files.length} files, ${megabytes.toFixed(0)} MB, the largest ${largest.toFixed(0)} MB, ${turns} turns, made in ${seconds.toFixed(1)} s`,
  );
}

if (import.meta.main) await main();
