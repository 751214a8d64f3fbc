import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { bundledPackages, bundleNameOf, bundlePackages } from "./bundle-packages.ts";

const root = resolve(import.meta.dirname, "..");
// `node tools/build.ts [folder] [--no-web] [--no-check]`: without the web application, and without
// checking types, for a quick build of the gateway.
const { values, positionals } = parseArgs({
  options: { "no-web": { type: "boolean", default: false }, "no-check": { type: "boolean", default: false } },
  allowPositionals: true,
});
const out = resolve(positionals[0] ?? join(root, "dist"));

// Files that were removed from the source must not stay in the package.
rmSync(out, { recursive: true, force: true });
const checking = values["no-check"] ? ["--noCheck"] : [];
execFileSync(
  join(root, "node_modules/.bin/tsc"),
  ["-p", join(root, "tsconfig.build.json"), "--outDir", out, ...checking],
  { stdio: ["ignore", 2, 2] }, // errors go to standard error
);
// Scripts that agents run are copied unchanged.
for (const file of globSync("**/*.{mjs,sh}", { cwd: join(root, "src") })) {
  copyFileSync(join(root, "src", file), join(out, file));
  chmodSync(join(out, file), statSync(join(root, "src", file)).mode);
}
await bundlePackages(root, join(out, "packages"));
for (const file of globSync("**/*.js", { cwd: out, exclude: ["packages/**"] })) usePackages(join(out, file));
const manual = execFileSync(process.execPath, [join(root, "src/main.ts"), "manual"], { stdio: ["ignore", "pipe", 2] });
writeFileSync(join(out, "postern.1"), manual);
if (!values["no-web"])
  execFileSync(process.execPath, [join(root, "tools/build-web.ts"), join(out, "web")], { stdio: ["ignore", 2, 2] });

/** Makes a file import the bundles instead of the packages. */
function usePackages(path: string): void {
  const text = readFileSync(path, "utf8");
  const changed = text.replaceAll(/(from |import\()"([^"]+)"/g, (whole, before: string, name: string) => {
    if (!bundledPackages.some((one) => one === name)) return whole;
    const file = relative(dirname(path), join(out, "packages", `${bundleNameOf(name)}.js`));
    return `${before}"${file.startsWith(".") ? file : `./${file}`}"`;
  });
  if (changed !== text) writeFileSync(path, changed);
}
