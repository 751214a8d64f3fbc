import { access } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import type { FileChange, GitStatus, StatusFile } from "../wire/publish.ts";
import { baseOf } from "./base-branch.ts";
import type { Checkout } from "./repository.ts";
import { isOver, killedUpdate } from "./running-update.ts";
import { gitFailed, type UserGit } from "./user-git.ts";

/** The most changed files that are listed. */
const maxFiles = 5_000;

/** The part of a status that one git command gives. */
interface TreeStatus {
  readonly branch: string | null;
  readonly commit: string | null;
  readonly upstream: GitStatus["upstream"];
  readonly files: readonly StatusFile[];
  readonly truncated: boolean;
}

/** Reads what would be committed, and how the branch relates to others. Changes nothing, but runs the filters that are configured. */
export async function readStatus(git: UserGit, checkout: Checkout, agentWorking: boolean): Promise<GitStatus> {
  const { sessionId, root, made } = checkout;
  const tree = await readTree(git, root);
  const { branch, commit, upstream } = tree;
  const [subject, base, remotes, update] = await Promise.all([
    commit === null ? null : git.lineOf(["show", "--no-patch", "--format=%s", commit], { root }),
    baseOf(git, checkout, tree),
    git.must(["remote"], { root }),
    updateOf(git, checkout, tree.files),
  ]);
  const conflicting = update?.conflicts ?? [];
  return {
    sessionId,
    root,
    branch,
    head: commit === null ? null : { commit, subject: subject ?? "" },
    upstream,
    base: base === null || commit === null ? null : { name: base, ...(await distanceTo(git, root, base)) },
    remotes: remotes
      .toString("utf8")
      .split("\n")
      .filter((name) => name !== ""),
    files: [...tree.files],
    truncated: tree.truncated,
    update: update === null ? null : { ...update, prompt: conflictPrompt(conflicting, update.strategy) },
    agentWorking,
    mayForcePush: made !== null && made.branch === branch && upstream !== null && upstream.behind > 0,
  };
}

/** Files and branch. Optional locks and monitors are off: reading does not get in the way of the agent's git. */
async function readTree(git: UserGit, root: string): Promise<TreeStatus> {
  const args = ["-c", "core.fsmonitor=false", "--no-optional-locks", "status", "--porcelain=v2", "-z", "--branch"];
  const result = await git.run([...args, "--untracked-files=all", "--find-renames"], { root, timeoutMs: 120_000 });
  const cut = result.exitCode === null && result.stdout.length > 0;
  if (result.exitCode !== 0 && !cut) throw gitFailed("status", result);
  return parseStatus(result.stdout.toString("utf8"), cut);
}

/** @param text of `git status --porcelain=v2 -z --branch` @see git-status(1) */
export function parseStatus(text: string, cut = false): TreeStatus {
  const parts = text.split("\0");
  const last = parts.pop(); // after the final NUL, or an incomplete entry
  const head = new Map<string, string>();
  const files: StatusFile[] = [];
  for (let at = 0; at < parts.length; at++) {
    const line = parts[at] ?? "";
    const [, name, value] = /^# branch\.(\S+) (.*)$/s.exec(line) ?? [];
    if (name !== undefined) head.set(name, value ?? "");
    const file = fileOf(line, line.startsWith("2 ") ? (parts[++at] ?? null) : null);
    // Conflicts are always listed, because an update cannot end before they are resolved.
    if (file !== null && (files.length < maxFiles || file.conflict)) files.push(file);
    else if (file !== null) cut = true;
  }
  const oid = head.get("oid") ?? "(initial)";
  const branch = head.get("head") ?? "(detached)";
  const [, ahead, behind] = /^\+(\d+) -(\d+)$/.exec(head.get("ab") ?? "") ?? [];
  const upstream = head.get("upstream");
  return {
    branch: branch === "(detached)" ? null : branch,
    commit: oid === "(initial)" ? null : oid,
    upstream:
      upstream === undefined || ahead === undefined
        ? null // none, or one that is gone
        : { name: upstream, ahead: Number(ahead), behind: Number(behind) },
    files,
    truncated: cut || (last ?? "") !== "",
  };
}

const fileForms = {
  "1": /^1 (.)(.) (?:\S+ ){6}(.*)$/s,
  "2": /^2 (.)(.) (?:\S+ ){7}(.*)$/s,
  u: /^u (.)(.) (?:\S+ ){8}(.*)$/s,
} as const;

function fileOf(line: string, previousPath: string | null): StatusFile | null {
  if (line.startsWith("? ")) {
    return { path: line.slice(2), previousPath: null, staged: null, unstaged: "untracked", conflict: false };
  }
  const kind = line.slice(0, 1);
  const form = kind === "1" || kind === "2" || kind === "u" ? fileForms[kind] : null;
  const [, staged = ".", unstaged = ".", path] = form?.exec(line) ?? [];
  if (path === undefined) return null;
  if (kind === "u") return { path, previousPath: null, staged: null, unstaged: "modified", conflict: true };
  return { path, previousPath, staged: changeOf(staged), unstaged: changeOf(unstaged), conflict: false };
}

const letters: Readonly<Record<string, FileChange>> = {
  A: "added",
  M: "modified",
  D: "deleted",
  R: "renamed",
  C: "added",
  T: "type_changed",
};

function changeOf(letter: string): FileChange | null {
  return letters[letter] ?? null;
}

async function distanceTo(git: UserGit, root: string, other: string) {
  const line = await git.lineOf(["rev-list", "--left-right", "--count", `HEAD...${other}`], { root });
  const [ahead = 0, behind = 0] = (line ?? "").split("\t").map(Number);
  return { ahead, behind };
}

/** A merge, rebase or similar operation that has not ended. */
async function updateOf(
  git: UserGit,
  checkout: Checkout,
  files: readonly StatusFile[],
): Promise<Omit<NonNullable<GitStatus["update"]>, "prompt"> | null> {
  const has = (name: string) => isThere(join(checkout.gitDir, name));
  const conflicts = files.filter(({ conflict }) => conflict).map(({ path }) => path);
  const left = await killedUpdate(checkout);
  const killed = left !== null && (await isOver(git, checkout, left)) ? null : left;
  const running = { conflicts, interrupted: killed !== null };
  if ((await has("rebase-merge")) || (await has("rebase-apply"))) return { ...running, strategy: "rebase" };
  if (await has("MERGE_HEAD")) return { ...running, strategy: "merge" };
  for (const name of ["CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"]) {
    if (await has(name)) return { ...running, strategy: "other" };
  }
  return killed === null ? null : { ...running, strategy: killed.strategy };
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

const maxPromptFiles = 50;

function conflictPrompt(files: readonly string[], strategy: "merge" | "rebase" | "other"): string | null {
  if (files.length === 0) return null;
  const listed = files.slice(0, maxPromptFiles).map((path) => `- ${promptPath(path)}`);
  const more =
    files.length > maxPromptFiles ? [`- and ${files.length - maxPromptFiles} more (see \`git status\`)`] : [];
  return [
    `Updating this branch stopped with conflicts (${strategy === "other" ? "see `git status`" : `git ${strategy}`}). Resolve the conflicts in these files, so that both sides keep their meaning:`,
    ...listed,
    ...more,
    "Then stage the resolved files with `git add`. Do not commit, and do not continue or abort: I do that.",
  ].join("\n");
}

/** A path for a prompt, where it cannot start a command, a mention or a new line. */
function promptPath(path: string): string {
  return `\`${path.replace(/[\p{Cc}`]/gu, "?").replaceAll("@", "＠")}\``;
}
