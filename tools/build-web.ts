// `npm run build:web [folder]`: builds the web application for a gateway, and prints the sizes that a browser loads.
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";
import { webConfig } from "./web-config.ts";

const out = resolve(process.argv[2] ?? join(import.meta.dirname, "../dist/web"));
/** The limit for what is loaded before a terminal is opened. */
const maxFirstLoadBytes = 250_000;

// React's development build is two thirds larger and slower; a variable can select it (a test does).
process.env["NODE_ENV"] = "production";

// Built next to its place and then moved there, so that no gateway reads half a build.
mkdirSync(dirname(out), { recursive: true });
const fresh = mkdtempSync(join(dirname(out), `.${basename(out)}-`));
try {
  await buildInto(fresh);
  await buildWorker(fresh);
  compressIn(fresh);
  const bytes = report(fresh);
  if (bytes > maxFirstLoadBytes)
    throw new Error(`The first load is ${bytes} bytes of JavaScript, over ${maxFirstLoadBytes}.`);
  rmSync(out, { recursive: true, force: true });
  renameSync(fresh, out);
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

async function buildInto(outDir: string): Promise<void> {
  await build({
    ...webConfig,
    logLevel: "warn",
    build: {
      outDir,
      emptyOutDir: false,
      target: "es2024",
      // Inline data and inline scripts have no place under the pages' policy.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
      chunkSizeWarningLimit: 1_000,
    },
  });
}

/** The service worker, one file in the root: browsers allow it no pages above its own folder. */
async function buildWorker(outDir: string): Promise<void> {
  await build({
    ...webConfig,
    logLevel: "warn",
    publicDir: false,
    build: {
      outDir,
      emptyOutDir: false,
      target: "es2024",
      lib: {
        entry: join(webConfig.root, "worker/main.ts"),
        formats: ["iife"],
        name: "worker",
        fileName: () => "worker.js",
      },
      reportCompressedSize: false,
    },
  });
}

/** A `.br` and a `.gz` for every file that gets smaller, so that the gateway compresses nothing. */
function compressIn(dir: string): void {
  for (const file of filesIn(dir)) {
    if (file.endsWith(".png") || file === "index.html") continue;
    const content = readFileSync(join(dir, file));
    writeFileSync(join(dir, `${file}.gz`), gzipSync(content, { level: 9 }));
    writeFileSync(join(dir, `${file}.br`), brotli(content));
  }
}

function brotli(content: Buffer): Buffer {
  return brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } });
}

function filesIn(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1));
}

/** Prints the files that a browser loads. @returns the first load's JavaScript in bytes, compressed with gzip */
function report(dir: string): number {
  const html = readFileSync(join(dir, "index.html"), "utf8");
  const linked = new Set([...html.matchAll(/(?:src|href)="\/([^"]+)"/g)].flatMap(([, file = ""]) => [file]));
  const rows = filesIn(dir)
    .filter((file) => /\.(js|css)$/.test(file))
    .map((file) => ({
      file,
      first: linked.has(file),
      gzip: readFileSync(join(dir, `${file}.gz`)).length,
      brotli: readFileSync(join(dir, `${file}.br`)).length,
    }))
    .toSorted((a, b) => Number(b.first) - Number(a.first) || b.gzip - a.gzip);
  for (const row of rows) {
    console.log(
      `${row.first ? "first " : "later "} ${kilobytes(row.gzip)} gzip ${kilobytes(row.brotli)} br  ${row.file}`,
    );
  }
  const first = rows.filter((row) => row.first && row.file.endsWith(".js"));
  const gzip = first.reduce((sum, row) => sum + row.gzip, 0);
  const br = first.reduce((sum, row) => sum + row.brotli, 0);
  console.log(`first load of JavaScript: ${kilobytes(gzip).trim()} gzip, ${kilobytes(br).trim()} br`);
  return gzip;
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} KB`.padStart(9);
}
