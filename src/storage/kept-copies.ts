import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { copySqliteStore } from "./store-copy.ts";

/** Newer ones take the place of older ones. */
const maxCopies = 3;

/** What was deleted meanwhile lives on in a copy for so long, and no longer. */
const copyLifetimeMs = 30 * 24 * 3_600_000;

const dayMs = 24 * 3_600_000;
const copyPattern = /^postern\.db\.before-\d{4}-[a-z0-9-]+$/;
const draftPattern = /^postern\.db\.before-.*\.tmp(-journal)?$/;
/** A copy takes seconds for each gigabyte; what is older was left by a process that ended. */
const draftLifetimeMs = dayMs;

/**
 * Copies the store into the folder `copies`, before it is changed: named by the newest migration that it has, and the next. The newest
 * {@link maxCopies} are kept, {@link copyLifetimeMs} at most.
 *
 * @param applied the migrations that the store has
 * @returns the copy; null when another process has brought the store forward meanwhile
 * @throws PosternError `store_unavailable` when it cannot be made; then nothing was changed
 */
export async function keepStoreCopy(options: {
  readonly path: string;
  readonly copies: string;
  readonly applied: readonly string[];
}): Promise<string | null> {
  const { path, copies, applied } = options;
  const file = join(copies, `postern.db.before-${applied.at(-1) ?? ""}`);
  const draft = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await mkdir(copies, { recursive: true, mode: 0o700 });
    const schema = await copySqliteStore(path, draft);
    if (schema.length !== applied.length) {
      await rm(draft, { force: true });
      return null;
    }
    await rename(draft, file);
    await removeOldCopies(copies, Date.now());
    return file;
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined); // where it cannot be removed it could not be made
    throw new PosternError(
      "store_unavailable",
      `The store at ${path} has to be brought to this version, and no copy of it could be made in ${copies} before: ${messageOf(error)}. Nothing was changed.`,
      { cause: error },
    );
  }
}

/** Removes what is too old now and every day. @returns ends it */
export function keepCopiesYoung(
  copies: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): () => Promise<void> {
  let cancel = (): void => undefined;
  const look = (): void => {
    removeOldCopies(copies, clock.now()).catch((error: unknown) =>
      log.warn({ reason: messageOf(error) }, "old copies of the store could not be removed"),
    );
    cancel = clock.after(dayMs, look);
  };
  look();
  return async () => cancel();
}

/** Removes copies that are too many or too old, and drafts that nobody finishes. */
export async function removeOldCopies(copies: string, now: number): Promise<void> {
  const names = await readdir(copies).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  });
  const kept: { readonly path: string; readonly at: number }[] = [];
  for (const name of names) {
    const path = join(copies, name);
    const at = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => null, // another process removed it
    );
    if (at === null) continue;
    if (copyPattern.test(name)) kept.push({ path, at });
    else if (draftPattern.test(name) && at < now - draftLifetimeMs) await rm(path, { force: true });
  }
  kept.sort((one, other) => other.at - one.at);
  for (const [place, { path, at }] of kept.entries()) {
    if (place >= maxCopies || at < now - copyLifetimeMs) await rm(path, { force: true });
  }
}
