import type { Stats } from "node:fs";
import { lstat, readdir, readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
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
  const home = await look(places.home);
  if (home === null) return [ok(check, `${places.home} is not there yet; the first command makes it.`)];
  if (!home.isDirectory()) {
    const word = shellWord(places.home);
    return [failure(check, `${places.home} is no folder.`, `mv ${word} ${word}.before`)];
  }
  const files = await readdir(places.home, { withFileTypes: true }).catch(() => []); // told by its owner or mode
  const secret = files.filter((file) => file.isFile() && /^(key|.*\.db(-wal|-shm)?)$/.test(file.name));
  const found = [
    ...(await checkMode(check, places.home, { forbidden: 0o077, right: "700" })),
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

async function checkMode(
  check: string,
  path: string,
  { forbidden, right }: { readonly forbidden: number; readonly right: string },
): Promise<readonly Finding[]> {
  const there = await look(path);
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

async function look(path: string): Promise<Stats | null> {
  try {
    return await lstat(path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return null;
    throw error;
  }
}

function octal(mode: number): string {
  return (mode & 0o777).toString(8).padStart(4, "0");
}
