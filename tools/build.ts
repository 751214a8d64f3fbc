import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, globSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "..");
const out = resolve(process.argv[2] ?? join(root, "dist"));

// What is no longer in the source must not stay in the package.
rmSync(out, { recursive: true, force: true });
execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", join(root, "tsconfig.build.json"), "--outDir", out], {
  stdio: ["ignore", 2, 2], // whoever runs this reads errors on standard error
});
// Scripts that agents run are shipped as they are.
for (const file of globSync("**/*.{mjs,sh}", { cwd: join(root, "src") })) {
  copyFileSync(join(root, "src", file), join(out, file));
  chmodSync(join(out, file), statSync(join(root, "src", file)).mode);
}
