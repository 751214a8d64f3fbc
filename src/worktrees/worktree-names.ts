import { readdir } from "node:fs/promises";
import { basename } from "node:path";
import { sha256 } from "../core/ids.ts";

/** The longest file name on common file systems. */
const maxNameBytes = 255;
/** The highest number to try. After that, the start is refused. */
const maxNumber = 20;

/**
 * The directory names that a worktree can have, in order of preference: the folder's template, `<repository>-<branch>`, and the latter with a
 * number. Each is one path component that is not `.` or `..`, and fits in a file name; a longer one is cut and ends with a hash.
 *
 * @param template of the folder's settings; see `worktreeNameSchema`
 */
export function worktreeNames(
  template: string,
  { repository, branch }: { readonly repository: string; readonly branch: string },
): readonly string[] {
  const values: Readonly<Record<string, string>> = {
    repository: basename(repository).replace(/(?<=.)\.git$/, "") || "repository",
    branch,
  };
  const filled = (text: string): string =>
    text.replace(/\{(repository|branch)\}/g, (_, name: string) => values[name] ?? "");
  const stem = filled("{repository}-{branch}");
  const numbered = Array.from({ length: maxNumber - 1 }, (_, index) => fileName(stem, `-${index + 2}`));
  return [...new Set([fileName(filled(template)), fileName(stem), ...numbered])];
}

function fileName(name: string, end = ""): string {
  const plain = name.replace(/[/\p{C}]/gu, "-");
  if (Buffer.byteLength(plain + end) <= maxNameBytes) return plain + end;
  const tail = `-${sha256(name).slice(0, 8)}${end}`;
  const head = Buffer.from(plain).subarray(0, maxNameBytes - Buffer.byteLength(tail));
  return head.toString("utf8").replace(/\ufffd+$/, "") + tail;
}

/** A form in which names are equal if some file system treats them as the same: some ignore case, or how letters are composed. */
export function foldedName(name: string): string {
  return name.normalize("NFC").toLowerCase();
}

/** The folded names of everything in a folder. */
export async function foldedNamesIn(folder: string): Promise<ReadonlySet<string>> {
  return new Set((await readdir(folder)).map(foldedName));
}
