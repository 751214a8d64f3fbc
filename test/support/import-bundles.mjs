import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";

// See `with-bundles.ts`.
const folder = new URL("../../.cache/bundled-packages/", import.meta.url);
const namesFile = new URL("names.json", folder);
const packages = new URL("../../node_modules/", import.meta.url).href;
/** What vitest imports, it imports for a test or for what a test needs. */
const runners = ["vitest/", "vite/"].map((name) => packages + name);

if (existsSync(namesFile)) {
  const files = Object.entries(JSON.parse(readFileSync(namesFile, "utf8")));
  const bundles = new Map(files.map(([name, file]) => [import.meta.resolve(name), new URL(file, folder).href]));
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const url = bundles.get(found.url);
      if (url === undefined || !isOurs(context.parentURL ?? "")) return found;
      return { url, format: "module", shortCircuit: true };
    },
  });
}

/** As in the package, only its own files get the bundles. */
function isOurs(parent) {
  return !parent.includes("/node_modules/") || runners.some((runner) => parent.startsWith(runner));
}
