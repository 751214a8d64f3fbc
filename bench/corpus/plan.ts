import { join } from "node:path";
import { createRandom, type Random } from "./random.ts";
import type { SessionPlan } from "./session.ts";
import { language } from "./words.ts";

/** The kind of a file. Only `session` and `unreadable` are sessions. */
export type FileKind = "session" | "sub-agent" | "empty" | "garbage" | "unreadable";

/** A file to write. */
export interface FilePlan {
  readonly agent: "claude-code" | "codex";
  readonly kind: FileKind;
  /** Below the corpus' folder. */
  readonly path: string;
  readonly session: SessionPlan;
}

/** What {@link planFiles} needs. */
export interface CorpusShape {
  readonly seed: number;
  readonly files: number;
  readonly bytes: number;
  /** The newest session began before this time. */
  readonly until: number;
}

const dayMs = 86_400_000;
const spreadMs = 2 * 365 * dayMs;
/** The largest transcript's share of all bytes: 300 MB of 1 GB. */
const giantShare = 0.3;
/** The small ones' share; what is missing to all is what the last line of each file has too much. */
const tailShare = 0.61;
const longLineBytes = 5_000_000;
/** A line of this length in one file of a thousand. */
const filesPerLongLine = 1_000;
/** The long tail ends here; above it there is only the one giant. */
const largestBytes = 24_000_000;
const smallestBytes = 900;

/** Decides every file by its number: of the same shape come the same plans. */
export function planFiles(shape: CorpusShape): FilePlan[] {
  const random = createRandom(shape.seed, 0);
  const sizes = fileSizes(shape, random);
  const projects = projectFolders(shape, random);
  return sizes.map((sizeBytes, index) => planFile(shape, { index, sizeBytes, projects }));
}

/** Log-normal, scaled to the sum: most are a few kilobytes, some are megabytes. */
function fileSizes({ files, bytes }: CorpusShape, random: Random): number[] {
  const weights = Array.from({ length: files }, () => Math.exp(1.7 * random.normal()));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const rest = bytes * tailShare;
  const sizes = weights.map((weight) => Math.min(largestBytes, Math.max(smallestBytes, (weight / sum) * rest)));
  if (sizes.length > 0) sizes[0] = bytes * giantShare;
  return sizes;
}

/** Where people work: few folders hold most sessions. */
function projectFolders({ files }: CorpusShape, random: Random): string[] {
  const special = ["決済サービス", "My Project (old)", "übersicht", "a.b_c-d", `deep/${"sub-folder/".repeat(22)}end`];
  const plain = Array.from({ length: Math.max(3, Math.ceil(files / 60)) }, () => `project-${random.hex(4)}`);
  return ["shop", "shop-feat-a", ...plain, ...special].map((name) => `/home/dev/code/${name}`);
}

function planFile(
  shape: CorpusShape,
  file: { readonly index: number; readonly sizeBytes: number; readonly projects: readonly string[] },
): FilePlan {
  const { index, sizeBytes, projects } = file;
  const random = createRandom(shape.seed, 2 * index + 2);
  const giant = index === 0;
  const agent = giant || random.chance(0.6) ? "claude-code" : "codex";
  const kind = kindOf(index, random);
  const cwd = projects[Math.floor(random.next() ** 2.5 * projects.length)] ?? "/home/dev";
  const age = 3 * dayMs + random.next() ** 2 * (spreadMs - 3 * dayMs);
  const startMs = Math.floor(shape.until - age);
  const sessionId = random.uuid();
  const packed = agent === "codex" && !giant && random.chance(0.05);
  const long = !giant && index % filesPerLongLine === 5;
  const session: SessionPlan = {
    sessionId,
    cwd,
    branch: random.pick(["main", "main", "feat/a", "fix-日本"]),
    language: language(random),
    startMs,
    sizeBytes: long ? Math.max(sizeBytes, shape.bytes / 500) : sizeBytes,
    longLineBytes: long ? Math.min(longLineBytes, shape.bytes / 200) : 0,
    subAgent: kind === "sub-agent",
    garbage: random.chance(0.005) || index === 7,
    halfLastLine: random.chance(0.01) || index === 8,
    rareWord: `zq${letters(index)}`,
  };
  const name = agent === "codex" ? codexPath(session, packed) : claudePath(session, kind);
  return { agent, kind, path: join(agent === "codex" ? "codex/sessions" : "claude/projects", name), session };
}

function kindOf(index: number, random: Random): FileKind {
  if (index === 1) return "empty";
  if (index === 2) return "unreadable";
  if (index === 3) return "garbage";
  return index === 4 || (index > 4 && random.chance(0.02)) ? "sub-agent" : "session";
}

/** A number as a word: digits would be split off by some searches. */
function letters(index: number): string {
  return String(index).replace(/\d/g, (digit) => "bcdfghjklm"[Number(digit)] ?? "");
}

function claudePath({ cwd, sessionId }: SessionPlan, kind: FileKind): string {
  const encoded = cwd.replace(/[^A-Za-z0-9]/g, "-");
  const project = encoded.length > 200 ? `${encoded.slice(0, 200)}-1a2b3c` : encoded;
  if (kind === "sub-agent") return join(project, sessionId, "subagents", `agent-${sessionId.slice(0, 8)}.jsonl`);
  return join(project, `${sessionId}.jsonl`);
}

function codexPath({ startMs, sessionId }: SessionPlan, packed: boolean): string {
  const time = new Date(startMs).toISOString().slice(0, 19);
  const file = `rollout-${time.replaceAll(":", "-")}-${sessionId}.jsonl${packed ? ".zst" : ""}`;
  return join(...time.slice(0, 10).split("-"), file);
}
