import type { Stats } from "node:fs";
import { access, constants, lstat, readdir, readFile, readlink, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isErrno } from "../core/errors.ts";
import { shellWord } from "../core/shell-word.ts";
import { isInOtherUse } from "../platform/private-folders.ts";
import type { InspectedStore } from "../storage/inspect.ts";
import type { Finding } from "../wire/doctor.ts";
import { failure, ok, warning } from "./finding.ts";

const mebibyte = 1024 * 1024;
/** Below this, the disk is low on space. Busy agents write less than this in a day. */
const lowBytes = 1024 * mebibyte;
const criticalBytes = 100 * mebibyte;
/** The size of a key, as `platform/secret-box` writes it. */
const keyBytes = 32;

/** Owner and permissions of the state folder and its files. */
export async function checkFolders(places: {
  readonly home: string;
  readonly runDir: string;
}): Promise<readonly Finding[]> {
  const check = "state folder";
  const home = await look(places.home, stat);
  if (home === null) return [await checkMissing(check, places.home)];
  if (!home.isDirectory()) {
    const word = shellWord(places.home);
    return [failure(check, `${places.home} is not a folder.`, `mv ${word} ${word}.before`)];
  }
  if ((home.mode & 0o077) !== 0 && (await isInOtherUse(places.home).catch(() => false))) {
    const message = `${places.home} is open to other users and contains files that are not Postern's, so it is not used as the state folder.`;
    return [failure(check, message, "export POSTERN_HOME=~/.postern")];
  }
  const files = await readdir(places.home, { withFileTypes: true }).catch(() => []); // reported below
  const secret = files.filter((file) => file.isFile() && /^(key|.*\.db(-wal|-shm)?)$/.test(file.name));
  const found = [
    ...(await checkMode(check, places.home, { read: stat, forbidden: 0o077, right: "700" })),
    ...(await checkMode("socket folder", places.runDir, { forbidden: 0o022, right: "700" })),
    ...(
      await Promise.all(
        secret.map(({ name }) =>
          checkMode(`file ${name}`, join(places.home, name), { forbidden: 0o077, right: "600" }),
        ),
      )
    ).flat(),
    ...(await checkKey(join(places.home, "key"))),
  ];
  return found.length > 0 ? found : [ok(check, `${places.home} and its secrets are accessible only to you.`)];
}

async function checkMissing(check: string, home: string): Promise<Finding> {
  if ((await look(home)) !== null) {
    const target = resolve(dirname(home), await readlink(home));
    return failure(check, `${home} is a broken link to ${target}.`, `mkdir -p -m 700 ${shellWord(target)}`);
  }
  const above = await folderAbove(home);
  const mayMake = await access(above, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (mayMake) return ok(check, `${home} does not exist yet. The first command creates it.`);
  const fix = `sudo install -d -m 700 -o ${process.geteuid?.() ?? 0} ${shellWord(home)}`;
  return failure(check, `${home} does not exist and cannot be created: no permission to write to ${above}.`, fix);
}

/** The nearest parent that exists. */
async function folderAbove(path: string): Promise<string> {
  const above = dirname(path);
  return above === path || (await look(above)) !== null ? above : folderAbove(above);
}

async function checkMode(
  check: string,
  path: string,
  { forbidden, right, read }: { readonly forbidden: number; readonly right: string; readonly read?: Look },
): Promise<readonly Finding[]> {
  const there = await look(path, read);
  if (there === null) return [];
  const own = process.geteuid?.() ?? there.uid;
  if (there.uid !== own) {
    return [
      failure(check, `${path} belongs to another user (${there.uid}).`, `sudo chown -R ${own} ${shellWord(path)}`),
    ];
  }
  if ((there.mode & 0o700) < (right === "700" ? 0o700 : 0o600)) {
    return [
      failure(check, `You have no access to ${path} (${octal(there.mode)}).`, `chmod ${right} ${shellWord(path)}`),
    ];
  }
  if ((there.mode & forbidden) === 0) return [];
  const message = `Other users can access ${path} (${octal(there.mode)}).`;
  return [failure(check, message, `chmod ${right} ${shellWord(path)}`)];
}

async function checkKey(path: string): Promise<readonly Finding[]> {
  const bytes = await readFile(path, "utf8").then(
    (text) => Buffer.from(text.trim(), "base64url"),
    () => null, // missing, or without permission: reported by its mode
  );
  if (bytes === null || bytes.length === keyBytes) return [];
  const message = `${path} is not a valid key, so encrypted data cannot be read. Restore the file from a backup, or move it away to create a new key.`;
  return [failure("key", message, `mv ${shellWord(path)} ${shellWord(path)}.damaged`)];
}

/** Free space on the disk of the state folder, or of its nearest parent that exists. */
export async function checkDisk(
  home: string,
  freeBytesOf: (path: string) => Promise<number> = freeBytes,
): Promise<readonly Finding[]> {
  const free = await freeBytesOf(home);
  const message = `${Math.floor(free / mebibyte).toLocaleString("en-US")} MiB free on the disk of ${home}`;
  const fix = `du -sh ${shellWord(home)}/*`;
  if (free < criticalBytes) return [failure("disk", `${message}: too little for the gateway.`, fix)];
  return free < lowBytes ? [warning("disk", `${message}.`, fix)] : [ok("disk", `${message}.`)];
}

async function freeBytes(path: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(path);
    return bavail * bsize;
  } catch (error) {
    if (path !== "/" && isErrno(error, "ENOENT", "ENOTDIR")) return freeBytes(join(path, ".."));
    throw error;
  }
}

type Look = (path: string) => Promise<Stats>;

async function look(path: string, read: Look = lstat): Promise<Stats | null> {
  try {
    return await read(path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return null;
    throw error;
  }
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}

/** Whether this version can open the database. */
export function checkStore(
  store: Pick<InspectedStore, "state" | "place" | "reason">,
  { isFile, start, upgrade }: { readonly isFile: boolean; readonly start: string; readonly upgrade: string },
): readonly Finding[] {
  const { state, place, reason } = store;
  switch (state) {
    case "missing":
      return [ok("store", `There is no database at ${place} yet. The first command creates it.`)];
    case "current":
      return [ok("store", `The database at ${place} is up to date.`)];
    case "older":
      return [
        warning("store", `The database at ${place} is from an older version. The next start upgrades it.`, start),
      ];
    case "newer":
      return [
        failure("store", `The database at ${place} is from a newer version of Postern. Upgrade Postern.`, upgrade),
      ];
    case "damaged": {
      const fix = isFile ? `mv ${shellWord(place)} ${shellWord(place)}.damaged` : "postern doctor --json";
      const what = isFile
        ? "Restore it from a backup, or move it away to start with an empty one"
        : "Check that the server is running and accepts the login";
      return [
        failure(
          "store",
          `Cannot read the database at ${place}: ${reason ?? "unknown reason"}. ${what}.`,
          isFile ? fix : null,
        ),
      ];
    }
  }
}

/** The clock difference between two machines that is harmless. */
const toleranceMs = 60_000;

/** If the clock is behind the stored times, links and tokens stay valid too long, and the order of records is lost. */
export function checkClock(nowMs: number, newest: readonly (number | null)[]): readonly Finding[] {
  const behindMs = Math.max(0, ...newest.flatMap((at) => (at === null ? [] : [at - nowMs])));
  if (behindMs <= toleranceMs)
    return [ok("clock", `The time is ${new Date(nowMs).toISOString()}, after all stored times.`)];
  const fix = process.platform === "darwin" ? "sudo sntp -sS time.apple.com" : "sudo timedatectl set-ntp true";
  const minutes = Math.ceil(behindMs / 60_000);
  return [
    failure(
      "clock",
      `The time is ${new Date(nowMs).toISOString()}, ${minutes} min before the newest stored time. Set the clock.`,
      fix,
    ),
  ];
}
