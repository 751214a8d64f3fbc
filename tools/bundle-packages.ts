import { rolldown } from "rolldown";

/**
 * Packages that every start loads, with hundreds of small modules. Each becomes a single file, which makes a start a third
 * faster (`npm run bench -- gateway-start`).
 */
export const bundledPackages = ["fastify", "fastify-type-provider-zod", "kysely", "kysely/migration", "zod"] as const;

/** Writes one file for each package into `dir`, and shared parts into further files; license notices are kept. */
export async function bundlePackages(root: string, dir: string): Promise<void> {
  const input = Object.fromEntries(bundledPackages.map((name) => [bundleNameOf(name), name]));
  const bundle = await rolldown({ input, cwd: root, platform: "node", logLevel: "warn" });
  await bundle.write({ dir, format: "esm", entryFileNames: "[name].js", comments: { legal: true, jsdoc: false } });
  await bundle.close();
}

/** The name of a package's file, without `.js`. */
export function bundleNameOf(name: string): string {
  return name.replaceAll(/[@/]/g, "-");
}
