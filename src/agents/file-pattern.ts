import { readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import { descendantsOf } from "../platform/processes.ts";
import { isFile } from "./find-transcript.ts";
import type { TranscriptPlace } from "./template.ts";

// An id becomes part of a path: no separator, no dot in front, nothing that a pattern could mean.
const idCharacters = "[A-Za-z0-9_][A-Za-z0-9._-]{0,199}";
const idForm = new RegExp(`^${idCharacters}$`);
const maxFolders = 20_000;

/** The folder above a pattern's first segment that is not fixed. */
export function patternRoot(pattern: string): string {
  const segments = pattern.split("/");
  const first = segments.findIndex((segment) => segment === "*" || segment.includes("{sessionId}"));
  return segments.slice(0, first).join("/") || "/";
}

/** All files that `pattern` may name. @see findByPattern */
export function patternPlace(pattern: string): TranscriptPlace {
  const root = patternRoot(pattern);
  const segments = pattern.split("/").slice(root.split("/").filter(Boolean).length + 1);
  const [first = /^$/, ...others] = segments.map((segment) => {
    if (segment === "*") return /./;
    const [before = "", after] = segment.split("{sessionId}");
    if (after === undefined) return new RegExp(`^${escaped(segment)}$`);
    return new RegExp(`^${escaped(before)}(?<id>${idCharacters})${escaped(after)}$`);
  });
  return { root, names: [first, ...others] };
}

/**
 * The file that `pattern` (absolute, with `{sessionId}`, and `*` for any one folder) names for this id; null when there is none, or
 * when the id is not one that may stand in a path.
 */
export async function findByPattern(pattern: string, sessionId: string): Promise<string | null> {
  if (!idForm.test(sessionId)) return null;
  let places = [patternRoot(pattern)];
  const open = pattern.split("/").slice(patternRoot(pattern).split("/").filter(Boolean).length + 1);
  for (const segment of open) {
    if (segment === "*") {
      places = (await Promise.all(places.map(subFolders))).flat().slice(0, maxFolders);
    } else {
      places = places.map((place) => join(place, segment.replace("{sessionId}", sessionId)));
    }
  }
  for (const place of places) if (await isFile(place)) return place;
  return null;
}

/** The id in the path of the one file matching `pattern` that `pid` or a child has open (Linux); null for none or several. */
export async function openFileId(pattern: string, pid: number): Promise<string | null> {
  const [before = "", after = ""] = pattern.split("{sessionId}");
  const matcher = new RegExp(`^${escaped(before)}([^/]+)${escaped(after)}$`);
  const ids = new Set<string>();
  for (const one of [pid, ...descendantsOf(pid).map((row) => row.pid)]) {
    for (const path of await openFiles(one)) {
      const id = matcher.exec(path)?.[1];
      if (id !== undefined && idForm.test(id)) ids.add(id);
    }
  }
  const [only] = ids;
  return ids.size === 1 && only !== undefined ? only : null;
}

async function openFiles(pid: number): Promise<readonly string[]> {
  const folder = `/proc/${pid}/fd`;
  const descriptors = await readdir(folder).catch(() => []); // gone, another user's, or no /proc
  return Promise.all(descriptors.map((descriptor) => readlink(join(folder, descriptor)).catch(() => ""))); // closed since
}

function escaped(text: string): string {
  return text
    .split("/")
    .map((segment) => (segment === "*" ? "[^/]+" : segment.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")))
    .join("/");
}

async function subFolders(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(folder, entry.name));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return [];
    throw error;
  }
}
