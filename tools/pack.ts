import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import buildPages from "../test/support/web-setup.ts";
import { installDeadlineMs, runNpm } from "./npm.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { packageCache, packageSchema } from "./package-install.ts";

const root = resolve(import.meta.dirname, "..");

/** The sources of the package. */
const sources = [
  ...["bin", "src", "web", "tools"],
  ...["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json"],
  ...["README.md", "LICENSE", "CHANGELOG.md"],
] as const;

/** How many packages are cached. */
const keptPackages = 3;

/** The package of a copy of this checkout, and the same with a later version number. */
export interface PackedPackage {
  readonly tarball: string;
  readonly version: string;
  readonly later: { readonly tarball: string; readonly version: string };
}

/** Packs the checkout; for the same source, a second call returns the files of the first. */
export async function packPostern(say: (sentence: string) => void): Promise<PackedPackage> {
  const { version } = packageSchema.parse(JSON.parse(await readFile(join(root, "package.json"), "utf8")));
  const laterVersion = version.replace(/\d+$/, (patch) => String(Number(patch) + 1));
  const folder = join(packageCache, `packed-${await sourceHash()}`);
  const onWait = (): void => say("Another process packs Postern; waiting for it …");
  await oneAtATime(join(packageCache, "pack.lock"), { deadlineMs: installDeadlineMs, onWait }, async () => {
    if (!existsSync(folder)) await pack(folder, { laterVersion, say });
  });
  return {
    tarball: join(folder, `postern-${version}.tgz`),
    version,
    later: { tarball: join(folder, `postern-${laterVersion}.tgz`), version: laterVersion },
  };
}

async function pack(
  folder: string,
  { laterVersion, say }: { readonly laterVersion: string; readonly say: (sentence: string) => void },
): Promise<void> {
  say("Packing Postern …");
  await removeOld();
  const made = `${folder}.new`;
  const checkout = join(made, "checkout");
  await rm(made, { recursive: true, force: true });
  await mkdir(checkout, { recursive: true });
  for (const name of sources) await cp(join(root, name), join(checkout, name), { recursive: true });
  await symlink(join(root, "node_modules"), join(checkout, "node_modules"));
  // As `prepack` does it, but for the types, which are checked elsewhere, and the pages, which tests of pages have built as well.
  await buildPages();
  await promisify(execFile)(process.execPath, [join(checkout, "tools/build.ts"), "--no-web", "--no-check"]);
  await cp(join(root, "dist", "web"), join(checkout, "dist", "web"), { recursive: true });
  const words = ["pack", "--silent", "--ignore-scripts", `--pack-destination=${made}`] as const;
  await runNpm(words, { cwd: checkout });
  const text = await readFile(join(checkout, "package.json"), "utf8");
  const file = join(checkout, "package.json");
  await writeFile(file, JSON.stringify({ ...packageSchema.parse(JSON.parse(text)), version: laterVersion }, null, 2));
  await runNpm(words, { cwd: checkout });
  await rm(checkout, { recursive: true });
  await rename(made, folder);
}

async function sourceHash(): Promise<string> {
  const hash = createHash("sha256").update(process.version);
  for (const name of sources) {
    const path = join(root, name);
    const isFolder = (await stat(path)).isDirectory();
    const files = isFolder
      ? (await readdir(path, { recursive: true, withFileTypes: true })).filter((it) => it.isFile())
      : [];
    const paths = isFolder ? files.map((file) => join(file.parentPath, file.name)).toSorted() : [path];
    for (const one of paths)
      hash
        .update(one)
        .update("\0")
        .update(await readFile(one))
        .update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}

/** Removes unfinished and old packages. */
async function removeOld(): Promise<void> {
  const names = (await readdir(packageCache)).filter((name) => name.startsWith("packed-"));
  const ageOf = async (name: string): Promise<number> => (await stat(join(packageCache, name))).mtimeMs;
  const aged = await Promise.all(
    names.map(async (name) => ({ name, at: name.endsWith(".new") ? 0 : await ageOf(name) })),
  );
  const kept = aged
    .filter(({ at }) => at > 0)
    .toSorted((a, b) => b.at - a.at)
    .slice(0, keptPackages - 1);
  for (const one of aged) {
    if (!kept.includes(one)) await rm(join(packageCache, one.name), { recursive: true, force: true });
  }
}
