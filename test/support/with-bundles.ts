import { join } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * What Node is started with so that the source runs with bundles of its large packages, as it does in the package: to find and read
 * their 400 small modules takes a third of a start, and the tests make hundreds of starts. Without the bundles, which
 * `bundles-setup.ts` makes, it changes nothing.
 */
export const withBundles: readonly string[] = [
  "--import",
  pathToFileURL(join(import.meta.dirname, "import-bundles.mjs")).href,
];
