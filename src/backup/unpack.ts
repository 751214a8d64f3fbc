import { createHash } from "node:crypto";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PosternError } from "../core/errors.ts";
import { refuseNewer } from "../storage/migrate.ts";
import {
  type ArchivedFile,
  formatVersion,
  type Manifest,
  manifestName,
  manifestSchema,
  maxManifestBytes,
  type Part,
  partNameSchema,
  readArchive,
  unreadable,
} from "./archive.ts";

/** Where a file of a backup belongs in the state folder. */
export function pathInState(part: string): string {
  if (part === "store.db") return "postern.db";
  return part.startsWith("recordings/") ? part.replace("recordings/", "terminal-host/terminals/") : part;
}

/**
 * Writes all files of a backup into the folder `into`, laid out as a state folder, and checks them against the manifest.
 *
 * @throws PosternError `backup_unreadable` | `store_newer`
 */
export async function unpackBackup(file: string, into: string): Promise<Manifest> {
  const found: Part[] = [];
  let manifest: Manifest | null = null;
  for await (const archived of readArchive(file)) {
    if (manifest !== null) throw unreadable("it has data after its manifest");
    if (archived.name === manifestName) {
      manifest = await readManifest(archived);
      continue;
    }
    if (!partNameSchema.safeParse(archived.name).success)
      throw unreadable(`it contains the unexpected file ${JSON.stringify(archived.name)}`);
    if (found.some(({ name }) => name === archived.name)) throw unreadable(`it contains ${archived.name} twice`);
    found.push(await unpackFile(archived, join(into, pathInState(archived.name))));
  }
  if (manifest === null) throw unreadable("its manifest is missing");
  checkParts(manifest, found);
  refuseNewer(manifest.schema, "the backup");
  return manifest;
}

async function unpackFile({ name, content }: ArchivedFile, path: string): Promise<Part> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, "wx", 0o600);
  const hash = createHash("sha256");
  let sizeBytes = 0;
  try {
    for await (const chunk of content) {
      hash.update(chunk);
      sizeBytes += chunk.length;
      await file.writeFile(chunk);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { name, sizeBytes, sha256: hash.digest("hex") };
}

async function readManifest({ content, sizeBytes }: ArchivedFile): Promise<Manifest> {
  if (sizeBytes > maxManifestBytes) throw unreadable("its manifest is too large");
  const pieces: Buffer[] = [];
  for await (const piece of content) pieces.push(piece);
  let json: unknown;
  try {
    json = JSON.parse(Buffer.concat(pieces).toString("utf8"));
  } catch (error) {
    throw unreadable("its manifest is not valid JSON", error);
  }
  const version = typeof json === "object" && json !== null && "formatVersion" in json ? json.formatVersion : null;
  if (typeof version === "number" && version > formatVersion) {
    throw new PosternError(
      "store_newer",
      "The backup is from a newer version of Postern. Upgrade Postern to restore it.",
    );
  }
  const parsed = manifestSchema.safeParse(json);
  if (!parsed.success) throw unreadable("its manifest is invalid", parsed.error);
  return parsed.data;
}

function checkParts({ parts, store }: Manifest, found: readonly Part[]): void {
  for (const part of parts) {
    const same = found.find(({ name }) => name === part.name);
    if (same === undefined) throw unreadable(`${part.name} is missing`);
    if (same.sizeBytes !== part.sizeBytes || same.sha256 !== part.sha256) throw unreadable(`${part.name} was changed`);
  }
  if (found.length !== parts.length) throw unreadable("it contains files that its manifest does not list");
  const needed = store === "sqlite" ? "store.db" : "store.jsonl";
  if (!parts.some(({ name }) => name === needed)) throw unreadable(`${needed} is missing`);
}
