import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { isErrno } from "../core/errors.ts";

/** A file of the web application as it lies in its build. */
export interface WebFile {
  readonly type: string;
  readonly etag: string;
  /** Its name depends on its content: it never changes. */
  readonly immutable: boolean;
  readonly plain: Buffer;
  /** Null where it would not be smaller. */
  readonly brotli: Buffer | null;
  readonly gzip: Buffer | null;
}

/** The built web application, in memory. */
export interface WebBuild {
  /** The page, around the place of the nonce. */
  readonly page: (nonce: string) => string;
  /** By the path of their address. Nothing that is not in here is ever served. */
  readonly files: ReadonlyMap<string, WebFile>;
}

const types: Readonly<Record<string, string>> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
};

/** Where `npm run build:web` puts it. Beside this file's folder in the package, in `dist` of a checkout. */
export const webBuildFolder = join(
  import.meta.dirname,
  import.meta.filename.endsWith(".ts") ? "../../dist/web" : "../web",
);

/** Reads the whole build, a megabyte or two. Null when there is none. */
export async function readWebBuild(folder: string): Promise<WebBuild | null> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const contents = new Map<string, Buffer>();
    for (const path of paths) contents.set(path.slice(folder.length + 1), await readFile(path));
    const html = contents.get("index.html")?.toString("utf8");
    if (html === undefined) return null;
    return { page: (nonce) => html.replaceAll("__NONCE__", nonce), files: filesOf(contents) };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}

function filesOf(contents: ReadonlyMap<string, Buffer>): ReadonlyMap<string, WebFile> {
  const files = new Map<string, WebFile>();
  for (const [name, plain] of contents) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    files.set(`/${name}`, {
      type,
      etag: `"${createHash("sha256").update(plain).digest("base64url").slice(0, 27)}"`,
      immutable: name.startsWith("assets/"),
      plain,
      brotli: smaller(contents.get(`${name}.br`), plain),
      gzip: smaller(contents.get(`${name}.gz`), plain),
    });
  }
  return files;
}

function smaller(compressed: Buffer | undefined, plain: Buffer): Buffer | null {
  return compressed !== undefined && compressed.length < plain.length ? compressed : null;
}
