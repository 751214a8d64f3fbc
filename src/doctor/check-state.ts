import type { Stats } from "node:fs";
import { access, constants, lstat, readdir, readFile, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isErrno } from "../core/errors.ts";
import { isInOtherUse } from "../platform/private-folders.ts";
import type { InspectedStore } from "../storage/inspect.ts";
import type { Finding } from "../wire/doctor.ts";
import { failure, ok, shellWord, warning } from "./finding.ts";

const mebibyte = 1024 * 1024;
/** A day of busy agents writes less. */
const littleBytes = 1024 * mebibyte;
/** SQLite, transcripts and recordings fail soon. */
const nothingBytes = 100 * mebibyte;
/** What a key file holds, as `platform/secret-box` writes it. */
const keyBytes = 32;

/** Owner and permissions of the state folder and of what lies in it. A fix is one command for each. */
export async function checkFolders(places: {
  readonly home: string;
  readonly runDir: string;
}): Promise<readonly Finding[]> {
  const check = "state folder";
  const home = await look(places.home, stat);
  if (home === null) return [await checkMissing(check, places.home)];
  if (!home.isDirectory()) {
    const word = shellWord(places.home);
    return [failure(check, `${places.home} is no folder.`, `mv ${word} ${word}.before`)];
  }
  if ((home.mode & 0o077) !== 0 && (await isInOtherUse(places.home).catch(() => false))) {
    const message = `Others may enter ${places.home}, and what is in it is not Postern's: it is not taken for a state folder.`;
    return [failure(check, message, "export POSTERN_HOME=~/.postern")];
  }
  const files = await readdir(places.home, { withFileTypes: true }).catch(() => []); // told by its owner or mode
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
  return found.length > 0 ? found : [ok(check, `${places.home} is yours alone, with all that is secret in it.`)];
}

async function checkMissing(check: string, home: string): Promise<Finding> {
  if ((await look(home)) !== null)
    return failure(check, `${home} is a link to what is not there.`, `ls -l ${shellWord(home)}`);
  const above = await folderAbove(home);
  const mayMake = await access(above, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  if (mayMake) return ok(check, `${home} is not there yet; the first command makes it.`);
  const fix = `sudo install -d -m 700 -o ${process.geteuid?.() ?? 0} ${shellWord(home)}`;
  return failure(check, `${home} is not there, and cannot be made: ${above} is closed to you.`, fix);
}

/** The nearest that exists. */
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
    return [failure(check, `${path} is closed to you (${octal(there.mode)}).`, `chmod ${right} ${shellWord(path)}`)];
  }
  if ((there.mode & forbidden) === 0) return [];
  const message = `Other users can reach ${path} (${octal(there.mode)}).`;
  return [failure(check, message, `chmod ${right} ${shellWord(path)}`)];
}

/** A key that cannot be read leaves the store without what was sealed with it. */
async function checkKey(path: string): Promise<readonly Finding[]> {
  const bytes = await readFile(path, "utf8").then(
    (text) => Buffer.from(text.trim(), "base64url"),
    () => null, // missing, or closed, which its mode tells
  );
  if (bytes === null || bytes.length === keyBytes) return [];
  const message = `${path} holds no key, so nothing that was sealed with it opens; put it back from a backup, or begin with a new one.`;
  return [failure("key", message, `mv ${shellWord(path)} ${shellWord(path)}.damaged`)];
}

/** Room on the disk of the state folder, or of the nearest folder above that exists. */
export async function checkDisk(
  home: string,
  freeBytesOf: (path: string) => Promise<number> = freeBytes,
): Promise<readonly Finding[]> {
  const free = await freeBytesOf(home);
  const message = `${Math.floor(free / mebibyte).toLocaleString("en-US")} MiB are free on the disk of ${home}`;
  const fix = `du -sh ${shellWord(home)}/*`;
  if (free < nothingBytes) return [failure("disk", `${message}: too little to work.`, fix)];
  return free < littleBytes ? [warning("disk", `${message}.`, fix)] : [ok("disk", `${message}.`)];
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

/** Whether the store can be opened by this version. */
export function checkStore(
  store: Pick<InspectedStore, "state" | "place" | "reason">,
  { isFile }: { readonly isFile: boolean },
): readonly Finding[] {
  const { state, place, reason } = store;
  switch (state) {
    case "missing":
      return [ok("store", `There is no store at ${place} yet; the first command makes it.`)];
    case "current":
      return [ok("store", `The store at ${place} opens and has this version's tables.`)];
    case "older":
      return [
        warning(
          "store",
          `The store at ${place} is of an older Postern; the next start brings it forward.`,
          "postern serve",
        ),
      ];
    case "newer":
      return [
        failure(
          "store",
          `The store at ${place} was written by a newer Postern, which has to run it.`,
          "npm install --global postern@latest",
        ),
      ];
    case "damaged": {
      const fix = isFile ? `mv ${shellWord(place)} ${shellWord(place)}.damaged` : "postern doctor --json";
      const what = isFile
        ? "put it back from a backup, or begin with a new one"
        : "see that the server runs and lets you in";
      return [
        failure(
          "store",
          `The store at ${place} cannot be read: ${reason ?? "no reason is told"}; ${what}.`,
          isFile ? fix : null,
        ),
      ];
    }
  }
}

/** Two machines, or a network's time service, may differ by this much without harm. */
const toleranceMs = 60_000;

/** A clock that is behind what was already written down: links and tokens then live too long, and order is lost. */
export function checkClock(nowMs: number, newest: readonly (number | null)[]): readonly Finding[] {
  const behindMs = Math.max(0, ...newest.flatMap((at) => (at === null ? [] : [at - nowMs])));
  if (behindMs <= toleranceMs)
    return [ok("clock", `The clock says ${new Date(nowMs).toISOString()}, later than all that is stored.`)];
  const fix = process.platform === "darwin" ? "sudo sntp -sS time.apple.com" : "sudo timedatectl set-ntp true";
  const minutes = Math.ceil(behindMs / 60_000);
  return [
    failure(
      "clock",
      `The clock says ${new Date(nowMs).toISOString()}, ${minutes} min before something that is stored already.`,
      fix,
    ),
  ];
}
