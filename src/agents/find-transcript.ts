import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import { headId } from "../transcripts/index.ts";

// More projects or days than anyone has; a bound in case a folder was filled on purpose.
const maxFolders = 20_000;

/** Matches a file named after a session's UUID. `before` and `endings` are parts of a regular expression. */
export function uuidFile(before: string, endings: readonly string[]): RegExp {
  const hex = (digits: number): string => `[0-9a-f]{${digits}}`;
  return new RegExp(`^${before}(?<id>${[8, 4, 4, 4, 12].map(hex).join("-")})\\.(?:${endings.join("|")})$`, "i");
}

export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).slice(0, maxFolders);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return [];
    throw error;
  }
}

export async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return false;
    throw error;
  }
}

/** Claude Code: `<root>/<project>/<id>.jsonl`. If several projects have the file (a copied folder), the newest; all contain the same session. */
export async function findInProjectFolders(root: string, agentSessionId: string): Promise<string | null> {
  if (!isUuid(agentSessionId)) return null;
  const candidates = (await namesIn(root)).map((project) => join(root, project, `${agentSessionId}.jsonl`));
  let newest: { readonly path: string; readonly mtimeMs: number } | null = null;
  for (let start = 0; start < candidates.length; start += 64) {
    const found = await Promise.all(candidates.slice(start, start + 64).map(fileWithTime));
    for (const file of found) {
      if (file !== null && (newest === null || file.mtimeMs > newest.mtimeMs)) newest = file;
    }
  }
  return newest?.path ?? null;
}

async function fileWithTime(path: string): Promise<{ readonly path: string; readonly mtimeMs: number } | null> {
  try {
    const facts = await stat(path);
    return facts.isFile() ? { path, mtimeMs: facts.mtimeMs } : null;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return null;
    throw error;
  }
}

/**
 * Codex: `<root>/YYYY/MM/DD/rollout-<time>-<id>.jsonl`, or `.jsonl.zst`. Newest days first, matched by id only. After the user went back to
 * an earlier prompt, the session continues in `rollout-<time>-<id>_<part>.jsonl`: the newest part is its transcript.
 */
export async function findInDayFolders(root: string, agentSessionId: string): Promise<string | null> {
  if (!isUuid(agentSessionId)) return null;
  const isPart = new RegExp(`^rollout-(?:.*-)?${agentSessionId}(?:_[0-9a-f-]{36})?\\.jsonl(?:\\.zst)?$`, "i");
  let folders = 0;
  for (const year of numbered(await namesIn(root))) {
    for (const month of numbered(await namesIn(join(root, year)))) {
      for (const day of numbered(await namesIn(join(root, year, month)))) {
        folders += 1;
        if (folders > maxFolders) return null;
        const folder = join(root, year, month, day);
        const parts = (await namesIn(folder)).filter((name) => isPart.test(name));
        for (const name of newestFirst(parts)) if (await isFile(join(folder, name))) return join(folder, name);
      }
    }
  }
  return null;
}

/** Sorts names, which start with the time, newest first. A file comes before its compressed copy. */
function newestFirst(names: readonly string[]): readonly string[] {
  const rank = (name: string): string => (name.endsWith(".zst") ? name.slice(0, -".zst".length) : `${name}~`);
  return names.toSorted((a, b) => (rank(a) < rank(b) ? 1 : -1));
}

function numbered(names: readonly string[]): readonly string[] {
  return names.filter((name) => /^\d+$/.test(name)).toSorted((a, b) => Number(b) - Number(a));
}

/**
 * Gemini CLI: `<root>/<project>/chats/session-<time>-<first 8 digits of the id>.jsonl`, with the id in the first line. Each resume leaves
 * another such file without turns, so the oldest file is the session's transcript.
 */
export async function findByHeadId(root: string, agentSessionId: string): Promise<string | null> {
  if (!isUuid(agentSessionId)) return null;
  const id = agentSessionId.toLowerCase();
  const ending = `-${id.slice(0, 8)}.jsonl`;
  const found: { readonly name: string; readonly path: string }[] = [];
  for (const project of await namesIn(root)) {
    for (const name of await namesIn(join(root, project, "chats"))) {
      const path = join(root, project, "chats", name);
      if (name.startsWith("session-") && name.endsWith(ending) && headId(path, id) === id) found.push({ name, path });
    }
  }
  return found.toSorted((one, other) => (one.name < other.name ? -1 : 1))[0]?.path ?? null;
}
