import { type ChildProcess, spawn } from "node:child_process";
import { lstat, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, isoTime } from "../core/clock.ts";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import { findExecutable } from "../platform/executables.ts";
import { signalChildGroup } from "../platform/processes.ts";
import type { Folder, FolderScope } from "../wire/access.ts";
import type { Clone, CloneInput } from "../wire/clones.ts";
import { type CloneAddress, parseCloneAddress } from "./clone-address.ts";

/** Clones in progress, and clones that ended since the gateway started. */
export interface Clones {
  /**
   * Starts cloning into a new directory. When the clone is done, the directory is a registered folder.
   * @throws PosternError `invalid_request` | `dir_not_allowed` | `dir_not_found` | `clone_target_exists` | `rate_limited`
   */
  begin(input: CloneInput): Promise<Clone>;
  /** Latest first. */
  list(): readonly Clone[];
  /** @throws PosternError `clone_not_found` */
  find(cloneId: string): Clone;
  /** Ends a clone and removes what it wrote. @throws PosternError `clone_not_found` */
  cancel(cloneId: string): Promise<Clone>;
  /** Cancels all. */
  close(): Promise<void>;
}

interface Job {
  now: Clone;
  readonly address: CloneAddress;
  readonly scopes: readonly FolderScope[];
  /** Device and inode of the directory that was made for it. */
  readonly made: string;
  child: ChildProcess | null;
  /** Why it is being ended. */
  ending: { readonly state: "failed" | "cancelled"; readonly error: string | null } | null;
  readonly ended: PromiseWithResolvers<void>;
}

/** One clone can already use the whole bandwidth of network and disk. */
const maxRunning = 3;
/** The oldest finished clones are dropped. */
const maxKept = 50;
const limitMs = 60 * 60_000;
/** Larger repositories must be cloned manually. */
const maxReceivedBytes = 20 * 1024 ** 3;
/** Git removes its files when it is ended. */
const graceMs = 5_000;
const maxErrorLength = 500;

/** Variables that Git, ssh and their helpers need, as in the owner's shell. */
const passedOn =
  /^(?:HOME|PATH|USER|LOGNAME|TMPDIR|SSH_AUTH_SOCK|XDG_CONFIG_HOME|XDG_CACHE_HOME|KRB5CCNAME|SSL_CERT_(?:FILE|DIR)|(?:https?|all|no)_proxy|(?:HTTPS?|ALL|NO)_PROXY)$/;

/** Git runs no hook, template, monitor or submodule of the repository. Its configuration is the owner's, for logins. */
const inert = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "submodule.recurse=false", "gc.auto=0"].flatMap(
  (setting) => ["-c", setting],
);

export function createClones(deps: {
  readonly folders: {
    add(path: string, scopes: readonly FolderScope[]): Promise<Folder>;
    folderOf(path: string): Promise<{ readonly folder: Folder; readonly dir: string } | null>;
  };
  /** The gateway's environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly log: Log;
}): Clones {
  const { folders, clock, log } = deps;
  const jobs = new Map<string, Job>();
  let isClosed = false;

  const isRunning = ({ now }: Job): boolean => now.state === "running";

  async function placeFor({ parent, name, scopes }: CloneInput, address: CloneAddress) {
    const holder = await folders.folderOf(parent);
    if (holder === null) throw notRegistered(parent);
    // Git runs as this user, so it could read a local repository in a folder that is not registered.
    const local = address.localPath === null ? null : await folders.folderOf(address.localPath);
    if (address.localPath !== null && local === null) throw notRegistered(address.localPath);
    const called = name ?? address.name;
    if (called === "")
      throw new PosternError("invalid_request", "The address has no name for a directory. Set `name`.");
    const path = join(holder.dir, called);
    return { path, scopes: scopes ?? holder.folder.scopes, source: local?.dir ?? address.url };
  }

  function requireRoom(): void {
    if (isClosed) throw new PosternError("gateway_stopping", "The gateway is stopping.");
    if ([...jobs.values()].filter(isRunning).length < maxRunning) return;
    throw new PosternError("rate_limited", `${maxRunning} repositories are being cloned. Wait until one is done.`);
  }

  function environmentOf({ login, protocols }: CloneAddress): Record<string, string> {
    const kept = Object.entries(deps.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && passedOn.test(entry[0]),
    );
    return {
      ...Object.fromEntries(kept),
      LC_ALL: "C",
      GIT_ALLOW_PROTOCOL: protocols,
      GIT_TERMINAL_PROMPT: "0",
      GIT_ASKPASS: "false",
      GIT_NO_LAZY_FETCH: "1",
      ...(login && {
        GIT_CONFIG_COUNT: "2",
        GIT_CONFIG_KEY_0: `http.${login.origin}/.extraHeader`,
        GIT_CONFIG_VALUE_0: login.header,
        // If Git followed a redirect, it would send this header to the other server with its next requests.
        GIT_CONFIG_KEY_1: "http.followRedirects",
        GIT_CONFIG_VALUE_1: "false",
      }),
    };
  }

  async function run(job: Job): Promise<void> {
    const { address } = job;
    const { path } = job.now;
    const git = await findExecutable("git", deps.env["PATH"] ?? "");
    if (git === null) return settle(job, { state: "failed", error: "`git` is not on the gateway's PATH. Install it." });
    if (job.ending !== null) return settle(job, job.ending);
    const how = ["--progress", "--template=", ...(address.localPath === null ? [] : ["--no-local"])];
    const argv = [...inert, "clone", ...how, "--", address.url, path];
    // In its own process group, which is ended as a whole.
    const child = spawn(git, argv, {
      env: environmentOf(address),
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    });
    job.child = child;
    const output = followProgress(job, child);
    const cancelLimit = clock.after(limitMs, () =>
      end(job, { state: "failed", error: "It took longer than an hour." }),
    );
    const exitCode = await new Promise<number | null>((resolve) => {
      child.once("error", () => resolve(null));
      child.once("close", (code) => resolve(code));
    });
    cancelLimit();
    if (job.ending !== null) return settle(job, job.ending);
    if (exitCode !== 0) return settle(job, { state: "failed", error: explained(output.text(), address) });
    const folder = await folders.add(path, job.scopes);
    job.now = { ...job.now, folder };
    return settle(job, { state: "done", error: null });
  }

  function followProgress(job: Job, child: ChildProcess): { text(): string } {
    let text = "";
    child.stderr?.setEncoding("utf8").on("data", (chunk: string) => {
      text = (text + chunk).slice(-8_192);
      const last = text.split(/[\r\n]/).findLast((line) => /^(?:remote: )?[A-Z][\w ]+: +\d+%/.test(line));
      const match = /^(?:remote: )?([A-Z][\w ]{1,60}): +(\d{1,3})%/.exec(last ?? "");
      if (match === null) return;
      job.now = { ...job.now, phase: match[1] ?? null, percent: Math.min(100, Number(match[2])) };
      if (receivedBytes(last ?? "") > maxReceivedBytes)
        end(job, { state: "failed", error: "It is larger than 20 GiB." });
    });
    return { text: () => text };
  }

  function end(job: Job, how: NonNullable<Job["ending"]>): void {
    if (!isRunning(job)) return;
    job.ending ??= how;
    const { child } = job;
    if (child === null) return;
    signalChildGroup(child, "SIGTERM");
    const cancel = clock.after(graceMs, () => signalChildGroup(child, "SIGKILL"));
    child.once("close", cancel);
  }

  async function settle(job: Job, { state, error }: Pick<Clone, "state" | "error">): Promise<void> {
    if (state !== "done") await removeMade(job);
    job.now = { ...job.now, state, error, endedAt: isoTime(clock.now()) };
    log.info({ cloneId: job.now.cloneId, path: job.now.path, state }, "clone ended");
    job.ended.resolve();
  }

  /** Removes the directory, if it is still the one that was made for the clone. */
  async function removeMade({ now, made }: Job): Promise<void> {
    try {
      if ((await identityOf(now.path)) === made) await rm(now.path, { recursive: true, force: true });
    } catch (error) {
      log.warn({ path: now.path, error: messageOf(error) }, "cannot remove an unfinished clone");
    }
  }

  function require(cloneId: string): Job {
    const job = jobs.get(cloneId);
    if (job !== undefined) return job;
    throw new PosternError("clone_not_found", `The clone ${cloneId} does not exist, or is too old to be kept.`);
  }

  return {
    async begin(input) {
      requireRoom();
      const address = parseCloneAddress(input.address);
      const { path, scopes, source } = await placeFor(input, address);
      const made = await makeTarget(path);
      try {
        requireRoom();
      } catch (error) {
        await rm(path, { recursive: true, force: true });
        throw error;
      }
      const cloneId = newUuid();
      const job: Job = {
        now: {
          ...{
            cloneId,
            address: address.url,
            path,
            state: "running",
            phase: null,
            percent: null,
            error: null,
            folder: null,
          },
          ...{ startedAt: isoTime(clock.now()), endedAt: null },
        },
        ...{
          address: { ...address, url: source },
          scopes,
          made,
          child: null,
          ending: null,
          ended: Promise.withResolvers(),
        },
      };
      jobs.set(cloneId, job);
      const old = [...jobs.values()].filter((one) => !isRunning(one));
      for (const { now } of old.slice(0, Math.max(0, old.length - maxKept))) jobs.delete(now.cloneId);
      void run(job).catch((error: unknown) => settle(job, { state: "failed", error: messageOf(error) }));
      return job.now;
    },

    list: () => [...jobs.values()].toReversed().map(({ now }) => now),
    find: (cloneId) => require(cloneId).now,

    async cancel(cloneId) {
      const job = require(cloneId);
      end(job, { state: "cancelled", error: null });
      await job.ended.promise;
      return job.now;
    },

    async close() {
      isClosed = true;
      const running = [...jobs.values()].filter(isRunning);
      for (const job of running) end(job, { state: "cancelled", error: null });
      await Promise.all(running.map(({ ended }) => ended.promise));
    },
  };
}

function notRegistered(path: string): PosternError {
  const message = `${path} is not in a registered folder. Run \`postern folder add\` to register one.`;
  return new PosternError("dir_not_allowed", message);
}

/** Makes the directory; fails if anything has its name. @returns its identity */
async function makeTarget(path: string): Promise<string> {
  try {
    await mkdir(path);
  } catch (error) {
    if (isErrno(error, "EEXIST")) {
      throw new PosternError("clone_target_exists", `${path} already exists. Choose another \`name\`.`, {
        cause: error,
      });
    }
    if (!isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "EPERM", "EROFS", "ENAMETOOLONG")) throw error;
    throw new PosternError("dir_not_found", `Cannot create ${path}: ${messageOf(error)}`, { cause: error });
  }
  return identityOf(path);
}

async function identityOf(path: string): Promise<string> {
  const { dev, ino } = await lstat(path, { bigint: true });
  return `${dev}:${ino}`;
}

const unitBytes: Readonly<Record<string, number>> = { bytes: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

function receivedBytes(line: string): number {
  const match = /, ([\d.]+) (bytes|KiB|MiB|GiB)/.exec(line);
  return Number(match?.[1] ?? 0) * (unitBytes[match?.[2] ?? ""] ?? 0);
}

/** The last messages of Git, without progress, credentials and control characters. */
function explained(output: string, { login }: CloneAddress): string {
  const lines = output.split(/[\r\n]+/).filter((line) => line.trim() !== "" && !/: +\d+%|^Cloning into/.test(line));
  let text = lines
    .slice(-4)
    .join(" ")
    .replace(/\p{Cc}/gu, " ")
    .replace(/\/\/[^/@\s]+@/g, "//");
  if (login !== null) text = text.replaceAll(login.secret, "***");
  return text === "" ? "Git gave no reason." : text.slice(0, maxErrorLength);
}
