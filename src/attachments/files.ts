import { createHash } from "node:crypto";
import { open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import { maxAttachmentBytes } from "../wire/attachments.ts";
import type { AttachmentStore } from "./attachment-store.ts";
import { attachmentError } from "./errors.ts";

/**
 * Writes an upload as it arrives, readable only for this user. @throws PosternError `attachment_too_large` as soon as it exceeds the limit
 */
export async function writeBody(
  path: string,
  body: AsyncIterable<Uint8Array>,
): Promise<{ readonly sizeBytes: number; readonly sha256: string }> {
  const hash = createHash("sha256");
  const file = await open(path, "wx", 0o600);
  let sizeBytes = 0;
  try {
    for await (const piece of body) {
      sizeBytes += piece.byteLength;
      if (sizeBytes > maxAttachmentBytes) throw tooLarge();
      hash.update(piece);
      await file.writeFile(piece);
    }
    await file.chmod(0o600);
    await file.sync();
  } finally {
    await file.close();
  }
  return { sizeBytes, sha256: hash.digest("hex") };
}

export function tooLarge() {
  return attachmentError(
    "attachment_too_large",
    `The file is larger than ${maxAttachmentBytes / 1024 / 1024} MB. Send a smaller one, or copy it into the agent's folder.`,
  );
}

// Another gateway may be stopping on the same folder, with an upload in progress.
const strayForMs = 3_600_000;

/** Removes folders without a row, left by uploads and deletions that a crash interrupted. Keeps those of uploads in progress. */
export async function removeStrays(
  root: string,
  {
    store,
    now,
    arriving,
  }: { readonly store: Pick<AttachmentStore, "among">; readonly now: number; readonly arriving: ReadonlySet<string> },
): Promise<void> {
  const names = await readdir(root).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return []; // nothing was ever uploaded
    throw error;
  });
  const ids = names.filter(isUuid);
  for (let at = 0; at < ids.length; at += idsAtOnce) {
    const some = ids.slice(at, at + idsAtOnce);
    const known = new Set((await store.among(some)).map((row) => row.attachment_id));
    for (const id of some.filter((other) => !known.has(other) && !arriving.has(other))) {
      const folder = join(root, id);
      const changedAt = await stat(folder).then(
        ({ mtimeMs }) => mtimeMs,
        () => now, // removed in the meantime
      );
      if (now - changedAt > strayForMs && !arriving.has(id)) await rm(folder, { recursive: true, force: true });
    }
  }
}

/** IDs in one query. */
const idsAtOnce = 500;
