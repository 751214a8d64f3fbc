import { createHash } from "node:crypto";
import type { Hunks } from "../wire/publish.ts";
import { publishError } from "./errors.ts";
import { gitFailed, literalPaths, type UserGit } from "./user-git.ts";

/** One file's changes, in parts that can be applied alone. Texts are bytes, as latin1. */
export interface FilePatch {
  /** The lines before the first hunk, without the lines about a change of mode. */
  readonly header: readonly string[];
  /** `old mode` and `new mode`, if the mode of an existing file changes. */
  readonly mode: readonly string[];
  readonly hunks: readonly Hunk[];
}

interface Hunk {
  readonly oldStart: number;
  readonly oldCount: number;
  readonly newStart: number;
  readonly newCount: number;
  /** The text after the line numbers: a space, and the function name that git found. */
  readonly rest: string;
  /** Its lines, each with its newline. */
  readonly body: string;
}

/** Whether the index is compared with HEAD, or the work tree with the index. */
export type Compared = "staged" | "unstaged";

/** @throws PosternError `git_failed` */
export async function readPatch(
  git: UserGit,
  root: string,
  { path, compared }: { readonly path: string; readonly compared: Compared },
): Promise<FilePatch | null> {
  // As `git add -p` compares: no renames, no programs that convert or show differences.
  const command = compared === "staged" ? ["diff-index", "--cached", "HEAD"] : ["diff-files"];
  const [name = "", ...more] = command;
  const options = ["-p", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty"];
  const prefixes = ["--src-prefix=a/", "--dst-prefix=b/", "--full-index"];
  const out = await git.must([name, ...options, ...prefixes, ...more, "--", path], { root, env: literalPaths });
  return parsePatch(out.toString("latin1"));
}

/** @returns null if the file can only be staged as a whole */
export function parsePatch(text: string): FilePatch | null {
  const lines = text.split("\n");
  const files = lines.filter((line) => line.startsWith("diff --git ")).length;
  if (files !== 1 || lines.some((line) => line.startsWith("Binary files ") || line.startsWith("GIT binary patch"))) {
    return null; // a file that became a link is two files here
  }
  const first = lines.findIndex((line) => line.startsWith("@@ "));
  const head = lines.slice(0, first === -1 ? -1 : first);
  const isMode = (line: string) => line.startsWith("old mode ") || line.startsWith("new mode ");
  return {
    header: head.filter((line) => !isMode(line)),
    mode: head.filter(isMode),
    hunks: first === -1 ? [] : hunksOf(lines.slice(first, -1)),
  };
}

function hunksOf(lines: readonly string[]): readonly Hunk[] {
  const hunks: Hunk[] = [];
  let body: string[] = [];
  for (const line of lines.toReversed()) {
    const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/s.exec(line);
    if (found === null) {
      body.push(`${line}\n`);
      continue;
    }
    const [, oldStart, oldCount = "1", newStart, newCount = "1", rest = ""] = found;
    hunks.push({
      oldStart: Number(oldStart),
      oldCount: Number(oldCount),
      newStart: Number(newStart),
      newCount: Number(newCount),
      rest,
      body: body.toReversed().join(""),
    });
    body = [];
  }
  return hunks.toReversed();
}

const modeId = "mode";

/** A hunk's ID changes with its lines and their place, so an ID always refers to the text that was shown. */
function idOf(hunk: Hunk): string {
  return createHash("sha256")
    .update(`${lineNumbers(hunk)}\n${hunk.body}`, "latin1")
    .digest("hex")
    .slice(0, 24);
}

function lineNumbers({ oldStart, oldCount, newStart, newCount }: Hunk): string {
  return `-${oldStart},${oldCount} +${newStart},${newCount}`;
}

/** The parts of a patch, for a person. */
export function shownHunks(patch: FilePatch | null): Hunks["hunks"] {
  if (patch === null) return [];
  const text = (latin1: string): string => Buffer.from(latin1, "latin1").toString("utf8");
  const mode = patch.mode.length === 0 ? [] : [{ hunkId: modeId, title: text(patch.mode.join(", ")), patch: "" }];
  const hunks = patch.hunks.map((hunk) => ({
    hunkId: idOf(hunk),
    title: text(`@@ ${lineNumbers(hunk)} @@${hunk.rest}`),
    patch: text(hunk.body),
  }));
  return [...mode, ...hunks];
}

/**
 * A patch of only these parts.
 * @param reverse the patch is applied backwards, so the new side stays where it is
 * @throws PosternError `changes_outdated` if the file has other changes now
 */
export function selectHunks(
  patch: FilePatch,
  ids: ReadonlySet<string>,
  { reverse }: { readonly reverse: boolean },
): string {
  const known = new Set([...(patch.mode.length === 0 ? [] : [modeId]), ...patch.hunks.map(idOf)]);
  if ([...ids].some((id) => !known.has(id))) {
    throw publishError("changes_outdated", "The file has changed since its hunks were read. Read them again.");
  }
  const [diffLine = "", ...header] = patch.header;
  const chosen = patch.hunks.filter((hunk) => ids.has(idOf(hunk)));
  const mode = ids.has(modeId) ? patch.mode : [];
  // Without hunks, `---` and `+++` must not follow a change of mode.
  const kept = chosen.length === 0 ? header.filter((line) => !/^(?:---|\+\+\+|index) /.test(line)) : header;
  let shift = 0; // how far the skipped hunks shift the side that applying the patch produces
  const texts = patch.hunks.map((hunk) => {
    const grows = hunk.newCount - hunk.oldCount;
    if (!ids.has(idOf(hunk))) {
      shift += grows;
      return "";
    }
    const moved = reverse ? { ...hunk, oldStart: hunk.oldStart + shift } : { ...hunk, newStart: hunk.newStart - shift };
    return `@@ ${lineNumbers(moved)} @@${hunk.rest}\n${hunk.body}`;
  });
  return `${[diffLine, ...mode, ...kept].join("\n")}\n${texts.join("")}`;
}

/** Applies a patch to the index. @throws PosternError `git_failed` | `changes_outdated` */
export async function applyToIndex(
  git: UserGit,
  root: string,
  { patch, reverse }: { readonly patch: string; readonly reverse: boolean },
): Promise<void> {
  const args = ["apply", "--cached", "--whitespace=nowarn", ...(reverse ? ["--reverse"] : []), "-"];
  const result = await git.run(args, { root, input: Buffer.from(patch, "latin1") });
  if (result.exitCode === 0) return;
  if (
    result.exitCode === null ||
    !/patch does not apply|does not match index|does not exist in index/.test(result.stderr)
  ) {
    throw gitFailed("apply", result);
  }
  throw publishError("changes_outdated", "The hunks do not fit the index any more. Read them again.");
}
