import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../core/clock.ts";
import { isErrno, messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { copySqliteStore } from "./sqlite.ts";

const maxCopies = 3;

/** Bounds how long deleted data survives in a copy. */
const copyLifetimeMs = 30 * 24 * 3_600_000;

const dayMs = 24 * 3_600_000;
const copyPattern = /^postern\.db\.before-\d{4}-[a-z0-9-]+$/;
const draftPattern = /^postern\.db\.before-.*\.tmp(-journal)?$/;
/** A copy takes seconds per gigabyte; older drafts were abandoned. */
const draftLifetimeMs = dayMs;

/**
 * Copies the store into the folder `copies` before an upgrade, named by its newest migration. Keeps the newest {@link maxCopies}, at
 * most for {@link copyLifetimeMs}.
 *
 * @param applied the migrations that the store has
 * @returns the copy; null if another process upgraded the store in the meantime
 * @throws PosternError `store_unavailable`
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
    await rm(draft, { force: true }).catch(() => undefined); // it was not created then
    throw new PosternError(
      "store_unavailable",
      `Cannot upgrade the store at ${path}, because a copy of it cannot be made in ${copies}: ${messageOf(error)}. Nothing was changed.`,
      { cause: error },
    );
  }
}

/** Removes old copies now and every day. @returns a function that stops it */
export function pruneCopiesDaily(
  copies: string,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): () => Promise<void> {
  let cancel = (): void => undefined;
  const look = (): void => {
    removeOldCopies(copies, clock.now()).catch((error: unknown) =>
      log.warn({ reason: messageOf(error) }, "cannot remove old copies of the store"),
    );
    cancel = clock.after(dayMs, look);
  };
  look();
  return async () => cancel();
}

/** Removes surplus and old copies, and abandoned drafts. */
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
