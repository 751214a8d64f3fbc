import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod";

// `npm ci` refuses a lock file without an entry for every optional package, including those of other platforms. `npm install` leaves out
// packages that its registry (often a mirror) does not have. Run this afterwards: it adds the missing entries.

const entrySchema = z.looseObject({
  version: z.string().optional(),
  dev: z.boolean().optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
});
/** The relevant part of a lock file. */
export const lockSchema = z.looseObject({ packages: z.record(z.string(), entrySchema) });
type Lock = z.infer<typeof lockSchema>;

/** An optional package without an entry. */
export interface MissingPackage {
  /** Its path, for example `node_modules/@biomejs/cli-darwin-x64`. */
  readonly path: string;
  readonly version: string;
  readonly dev: boolean;
}

/** All optional packages with an exact version and no entry. */
export function missingPackages(lock: Lock): readonly MissingPackage[] {
  return Object.entries(lock.packages).flatMap(([parent, { optionalDependencies, dev }]) =>
    Object.entries(optionalDependencies ?? {})
      .filter(([name]) => lock.packages[`${parent}/node_modules/${name}`] === undefined)
      .map(([name, version]) => ({ path: `node_modules/${name}`, version, dev: dev === true }))
      .filter(({ path, version }) => lock.packages[path] === undefined && /^\d+\.\d+\.\d+/.test(version)),
  );
}

const systems = ["aix", "android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "win32"];
const processors = ["arm64", "x64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x"];

/** The entry that makes npm skip the package on other platforms than the one in its name. */
function entryOf({ path, version, dev }: MissingPackage): z.infer<typeof entrySchema> {
  const words = path.split(/[^a-z0-9]+/);
  const os = words.includes("wasm32") ? [] : systems.filter((system) => words.includes(system));
  const cpu = words.includes("wasm32") ? ["wasm32"] : processors.filter((processor) => words.includes(processor));
  const libc = words.includes("musl") ? ["musl"] : words.includes("gnu") ? ["glibc"] : [];
  return {
    version,
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(dev ? { dev } : {}),
    ...(libc.length > 0 && os.includes("linux") ? { libc } : {}),
    optional: true,
    ...(os.length > 0 ? { os } : {}),
  };
}

/** A record keeps the order of its keys, as npm wrote them. */
const recordSchema = z.record(z.string(), z.unknown());

function complete(path: string): number {
  const text = recordSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  const missing = missingPackages(lockSchema.parse(text));
  const added = missing.map((each): [string, unknown] => [each.path, entryOf(each)]);
  const entries = [...Object.entries(recordSchema.parse(text["packages"])), ...added];
  const packages = Object.fromEntries(entries.toSorted(([a], [b]) => a.localeCompare(b, "en")));
  writeFileSync(path, `${JSON.stringify({ ...text, packages }, null, 2)}\n`);
  return missing.length;
}

if (process.argv[1] === import.meta.filename) {
  const path = resolve(process.argv[2] ?? "package-lock.json");
  console.log(`${complete(path)} packages of other platforms added to ${path}.`);
}
