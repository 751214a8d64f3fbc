import { execFile } from "node:child_process";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";

const root = resolve(import.meta.dirname, "../..");
const buildTool = join(root, "tools/build-web.ts");

/** Builds the web application that the gateways of the tests serve, unless the build is newer than all that it is made of. */
export default async function setup(): Promise<void> {
  const built = await changedAt(join(root, "dist/web/index.html"));
  const sources = ["web", "src/wire"].map((folder) => newestIn(join(root, folder)));
  const others = ["package-lock.json", "tools/build-web.ts", "tools/web-config.ts"].map((file) =>
    changedAt(join(root, file)),
  );
  if (built > Math.max(...(await Promise.all([...sources, ...others])))) return;
  await promisify(execFile)(process.execPath, [buildTool], { cwd: root });
}

async function newestIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => changedAt(join(entry.parentPath, entry.name)));
  return Math.max(...(await Promise.all(files)));
}

/** 0 if the file does not exist. */
async function changedAt(path: string): Promise<number> {
  return stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}
