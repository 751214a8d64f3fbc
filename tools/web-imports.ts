import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

/** Pure functions that gateway, terminal host and browser share. */
const alsoAllowed = "src/core/utf8.ts";

/**
 * The rule for `web/`: it runs in a browser, so it imports its own files, `src/wire`, the client package, {@link alsoAllowed} and packages, and nothing from Node. Read from the
 * text, because the parser for `src/` does not support JSX.
 *
 * @returns the violations, one line each, and how many files and imports were read
 */
export function checkWebImports(root: string): {
  readonly modules: number;
  readonly imports: number;
  readonly problems: readonly string[];
} {
  const files = globSync("web/**/*.{ts,tsx}", { cwd: root }).toSorted();
  const imports = files.flatMap((file) =>
    importsIn(readFileSync(join(root, file), "utf8")).map((specifier) => ({ file, specifier })),
  );
  const problems = imports
    .filter(({ file, specifier }) => !allowed(file, specifier))
    .map(
      ({ file, specifier }) =>
        `${file} imports ${specifier} (web-imports): web/ may import src/client, src/wire, ${alsoAllowed}, packages and its own files.`,
    );
  return { modules: files.length, imports: imports.length, problems };
}

function allowed(file: string, specifier: string): boolean {
  const isTest = /\.test\.tsx?$/;
  // A test runs in Node, and may reach into `test/support`.
  if (isTest.test(file)) return true;
  if (!specifier.startsWith(".")) return !specifier.startsWith("node:") && !specifier.startsWith("/");
  const target = normalize(join(dirname(file), specifier));
  return (
    target === "src/client/index.ts" ||
    target.startsWith("src/wire/") ||
    target === alsoAllowed ||
    (target.startsWith("web/") && !isTest.test(target))
  );
}

function importsIn(text: string): readonly string[] {
  const written = text.matchAll(/^(?:import|export|\})\s(?:[^"';]*\sfrom\s)?"([^"]+)";?$|\bimport\("([^"]+)"\)/gm);
  return [...written].flatMap(([, statement, call]) => statement ?? call ?? []);
}
