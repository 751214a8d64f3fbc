import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import type { GitStatus, UpdateInput } from "../wire/publish.ts";
import { commitOf } from "./base-branch.ts";
import { publishError } from "./errors.ts";
import type { Checkout } from "./repository.ts";
import {
  endLeftGit,
  forgetUpdate,
  isOver,
  killedUpdate,
  markOf,
  type RunningUpdate,
  removeLocks,
  textOf,
  whileRunning,
} from "./running-update.ts";
import { undoUpdate } from "./undo-update.ts";
import { gitFailed, longMs, type ProgramResult, shownOutput, type UserGit } from "./user-git.ts";

interface Updating {
  readonly git: UserGit;
  readonly checkout: Checkout;
  readonly readStatus: () => Promise<GitStatus>;
  readonly clock?: Clock;
}

/**
 * Merges the base branch or rebases onto it, or continues or aborts such an update.
 * @returns what git printed
 * @throws PosternError `update_conflict` | `update_in_progress` | `no_update_in_progress` | `uncommitted_changes` | `invalid_request`
 *   | `git_failed`
 */
export async function update(updating: Updating, input: Omit<UpdateInput, "sessionId">): Promise<string> {
  const { action = "start" } = input;
  if (action === "start") return start(updating, input);
  return action === "continue" ? resume(updating, input) : abort(updating);
}

async function start(
  updating: Updating,
  { strategy = "merge", fetch = true, whileWorking = false }: Omit<UpdateInput, "sessionId">,
) {
  const { git, checkout, readStatus } = updating;
  const { root } = checkout;
  const before = await readStatus();
  refuseUnready(before);
  const remote = before.remotes.find((name) => before.base?.name.startsWith(`${name}/`) === true);
  if (fetch && remote !== undefined) await git.must(["fetch", "--quiet", remote], { root, timeoutMs: longMs });
  const now = await readStatus();
  // A fetch can take minutes, in which an agent can begin to work.
  if (!whileWorking && now.agentWorking) throw agentWorking();
  refuseUnready(now);
  const { branch, head, base } = now;
  if (branch === null || head === null || base === null) {
    throw publishError("invalid_request", "There is no base branch to update from, or no branch is checked out.");
  }
  if (base.behind === 0) return "";
  const onto = await commitOf(git, root, base.name);
  if (onto === null) throw publishError("git_failed", `Git cannot find ${base.name}.`, { output: "" });
  await refuseOverwriting(git, root, { head: head.commit, onto });
  const running = { strategy, branch, head: head.commit, onto };
  const args =
    strategy === "merge"
      ? ["merge", "--no-autostash", "-m", `Merge ${base.name} into ${branch}`, onto]
      : ["rebase", "--no-autostash", onto];
  return settle(updating, strategy, await run(updating, running, args));
}

/** Requires that no update runs, and that changes to tracked files are committed. */
function refuseUnready(status: GitStatus): void {
  refuseDuringUpdate(status);
  const dirty = status.files.filter(({ staged, unstaged }) => staged !== null || unstaged !== "untracked");
  if (dirty.length === 0) return;
  const files = dirty.slice(0, maxNamedFiles).map(({ path }) => path);
  throw publishError("uncommitted_changes", "Commit the changes to tracked files before you update the branch.", {
    files,
  });
}

/** Git would overwrite an ignored file with the other side's version, without a warning or a copy. */
async function refuseOverwriting(
  git: UserGit,
  root: string,
  { head, onto }: { readonly head: string; readonly onto: string },
): Promise<void> {
  const options = ["--name-only", "--no-renames", "--diff-filter=A", "-z"];
  const added = (await git.must(["diff", ...options, head, onto], { root })).toString("utf8").split("\0");
  const present: string[] = [];
  for (const path of added) if (path !== "" && (await isThere(join(root, path)))) present.push(path);
  if (present.length === 0) return;
  // With this prefix, no path is read as a pattern.
  const input = present.map((path) => `./${path}\0`).join("");
  const ignored = await git.run(["check-ignore", "-z", "--stdin"], { root, input });
  if (ignored.exitCode === 1) return;
  if (ignored.exitCode !== 0) throw gitFailed("check-ignore", ignored);
  const files = ignored.stdout
    .toString("utf8")
    .split("\0")
    .filter((path) => path !== "");
  throw publishError("uncommitted_changes", "The update would overwrite ignored files. Move them first.", {
    files: files.slice(0, maxNamedFiles).map((path) => path.replace(/^\.\//, "")),
  });
}

async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
    throw error;
  }
}

/** Files that an error lists. */
const maxNamedFiles = 100;

async function resume(updating: Updating, input: Omit<UpdateInput, "sessionId">): Promise<string> {
  const { git, checkout, readStatus } = updating;
  const killed = await clearKilled(updating);
  const { update: current, branch } = await readStatus();
  if (current === null) throw noUpdate();
  if (current.strategy === "other") throw notOurs();
  if (killed !== null && current.interrupted) {
    await undoUpdate(git, checkout, killed);
    return start(updating, { ...input, strategy: killed.strategy, fetch: false });
  }
  if (current.conflicts.length > 0) throw conflict(current.conflicts);
  const running = await runningOf(updating, current.strategy, branch);
  const args = current.strategy === "merge" ? ["commit", "--no-edit", "--cleanup=strip"] : ["rebase", "--continue"];
  return settle(updating, current.strategy, await run(updating, running, args));
}

async function abort(updating: Updating): Promise<string> {
  const { git, checkout, readStatus } = updating;
  const killed = await clearKilled(updating);
  const { update: current, branch } = await readStatus();
  if (current === null) throw noUpdate();
  if (current.strategy === "other") throw notOurs();
  if (killed !== null) {
    await undoUpdate(git, checkout, killed);
    return "";
  }
  const running = await runningOf(updating, current.strategy, branch);
  const result = await run(updating, running, [current.strategy, "--abort"]);
  if (result.exitCode !== 0) throw gitFailed(`${current.strategy} --abort`, result);
  return shownOutput(result);
}

async function clearKilled({ git, checkout, clock = systemClock }: Updating): Promise<RunningUpdate | null> {
  const killed = await killedUpdate(checkout);
  if (killed === null) return null;
  await endLeftGit(checkout, clock);
  if (await isOver(git, checkout, killed)) {
    await forgetUpdate(checkout);
    return null;
  }
  await removeLocks(checkout, killed);
  return killed;
}

type Begun = Omit<RunningUpdate, "startedAt"> | null;

function run({ git, checkout, clock = systemClock }: Updating, begun: Begun, args: readonly string[]) {
  const command = () => git.run(args, { root: checkout.root, timeoutMs: longMs, env: markOf(checkout) });
  return begun === null ? command() : whileRunning(checkout, { ...begun, startedAt: clock.now() }, command);
}

/** The state to which a stopped update would be undone; null if git's files do not show it. */
async function runningOf(
  { git, checkout }: Updating,
  strategy: "merge" | "rebase",
  branch: string | null,
): Promise<Begun> {
  const { root, gitDir } = checkout;
  if (strategy === "merge") {
    const head = await commitOf(git, root, "HEAD");
    const onto = await commitOf(git, root, "MERGE_HEAD");
    return branch === null || head === null || onto === null ? null : { strategy, branch, head, onto };
  }
  const read = (name: string) => textOf(join(gitDir, "rebase-merge", name));
  const [head, onto, name] = await Promise.all([read("orig-head"), read("onto"), read("head-name")]);
  if (head === null || onto === null || name?.startsWith("refs/heads/") !== true) return null;
  return { strategy, branch: name.slice("refs/heads/".length), head, onto };
}

async function settle({ readStatus }: Updating, strategy: string, result: ProgramResult): Promise<string> {
  if (result.exitCode === 0) return shownOutput(result);
  const { update: left } = await readStatus();
  if (left !== null && left.conflicts.length > 0) throw conflict(left.conflicts);
  throw gitFailed(strategy, result);
}

export function refuseDuringUpdate({ update: current }: GitStatus): void {
  if (current === null) return;
  throw publishError("update_in_progress", "An update of this branch has not ended. Continue it, or abort it, first.", {
    files: current.conflicts,
  });
}

function conflict(files: readonly string[]) {
  return publishError(
    "update_conflict",
    `The update stopped with conflicts in ${files.slice(0, 3).join(", ")}${files.length > 3 ? ` and ${files.length - 3} more` : ""}. Resolve and stage them, then continue; or abort.`,
    { files: files.slice(0, maxNamedFiles) },
  );
}

export function agentWorking() {
  return publishError(
    "agent_working",
    "The agent is working in this directory, so its changes may be incomplete. Wait for the end of its turn, or set `whileWorking`.",
  );
}

function noUpdate() {
  return publishError("no_update_in_progress", "No update of this branch has begun.");
}

function notOurs() {
  return publishError(
    "update_in_progress",
    "This is no merge or rebase. Finish it in a terminal, as `git status` says.",
  );
}
