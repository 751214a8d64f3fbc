import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
const cache = join(root, ".cache");
const folder = join(cache, "bundled-packages");

/** Bundles the packages named in `with-bundles.ts`, unless the installed versions are bundled already. */
export default async function setup(): Promise<void> {
  const lock = await readFile(join(root, "package-lock.json"));
  const stamp = createHash("sha256").update(lock).digest("hex");
  const stampFile = join(folder, "stamp");
  if (existsSync(stampFile) && (await readFile(stampFile, "utf8")) === stamp) return;
  const { bundledPackages, bundleNameOf, bundlePackages } = await import("../../tools/bundle-packages.ts");
  await mkdir(cache, { recursive: true });
  const fresh = await mkdtemp(join(cache, "bundled-packages-"));
  await bundlePackages(root, fresh);
  const names = Object.fromEntries(bundledPackages.map((name) => [name, `${bundleNameOf(name)}.js`]));
  await writeFile(join(fresh, "names.json"), JSON.stringify(names));
  await writeFile(join(fresh, "stamp"), stamp);
  await rm(folder, { recursive: true, force: true });
  await rename(fresh, folder);
}
