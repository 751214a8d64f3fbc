import { rolldown } from "rolldown";

/**
 * Packages that every start loads, and that consist of hundreds of small modules: each one becomes a single file, which takes a third
 * of a start away (`npm run bench -- gateway-start`).
 */
export const bundledPackages = ["fastify", "fastify-type-provider-zod", "kysely", "kysely/migration", "zod"] as const;

/** Writes one file for each package into `dir`, and what they share into further ones; their licenses' notices stay in them. */
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
