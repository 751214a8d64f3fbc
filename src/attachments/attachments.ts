import { mkdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Kysely } from "kysely";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { createGate } from "../core/gate.ts";
import { newUuid } from "../core/ids.ts";
import { createKeyedLock } from "../core/single-flight.ts";
import type { Tables } from "../storage/schema.ts";
import { type Attachment, maxSessionAttachmentBytes } from "../wire/attachments.ts";
import {
  type AttachmentRow,
  type AttachmentStore,
  type AttachmentUser,
  attachmentOf,
  createAttachmentStore,
  sessionFull,
} from "./attachment-store.ts";
import { checkContent, fileNameFor, refuseName, refuseOtherType } from "./check-content.ts";
import { attachmentError, attachmentNotFound } from "./errors.ts";
import { removeStrays, writeBody } from "./files.ts";

/** A file to add. */
export interface NewAttachment {
  readonly accountId: string;
  /** The caller's key. */
  readonly addedBy: string;
  /** Every id of the session that it is for; null for a new session. */
  readonly sessionIds: readonly string[] | null;
  /** The name from the caller. */
  readonly name: string;
  /** The type that the caller gave it, without parameters; null if unknown. */
  readonly mediaType: string | null;
}

/** An attachment with its file. */
export interface StoredAttachment extends Attachment {
  /** Absolute. */
  readonly path: string;
  /** The session that uses it, by its id at that time; null until a prompt uses it. */
  readonly sessionId: string | null;
  /** The key of the caller who uploaded it; null if unknown. */
  readonly addedBy: string | null;
}

/** Files for prompts, in the folder `attachments` of the state folder. */
export interface Attachments extends Pick<AttachmentStore, "claim" | "release"> {
  /**
   * Stores a file, as it arrives. Nothing is kept of a refused file.
   * @throws PosternError `attachment_too_large` | `attachment_type_refused` | `invalid_request` (its name) | `rate_limited`
   */
  add(file: NewAttachment, body: AsyncIterable<Uint8Array>): Promise<Attachment>;
  /** The user's attachments of these ids, in this order. @throws PosternError `attachment_not_found` */
  find(attachmentIds: readonly string[], user: AttachmentUser): Promise<readonly StoredAttachment[]>;
  /** An attachment of any account, for a caller who can see its session. @throws PosternError `attachment_not_found` */
  findAny(attachmentId: string): Promise<StoredAttachment & { readonly accountId: string }>;
  /** The attachments of these prompts, in the order of each. */
  ofPrompts(promptIds: readonly string[]): Promise<ReadonlyMap<string, readonly StoredAttachment[]>>;
  /** The attachments in `attachmentIds` that belong to the session with these ids. */
  ofSession(sessionIds: readonly string[], attachmentIds: readonly string[]): Promise<readonly StoredAttachment[]>;
  /** @throws PosternError `attachment_not_found` | `attachment_in_use` */
  remove(attachmentId: string, accountId: string): Promise<void>;
  /** Removes the attachments of a session, which has these ids. @returns how many there were */
  forget(sessionIds: readonly string[]): Promise<number>;
  /** Removes files that no prompt has used within a day, and leftovers of crashes. */
  sweep(): Promise<void>;
}

// Limits for unsent attachments of an account: a prompt can have 20 files of 20 MB, and a session 100 MB.
const maxUnusedBytes = 200 * 1024 * 1024;
const maxUnused = 200;
/** Each upload holds a connection and, at its end, 20 MB of memory while its content is checked. Further ones are refused. */
const uploads = { perAccount: 6, checkedAtOnce: 2, waiting: 100 };

export function createAttachments(deps: {
  readonly db: Kysely<Tables>;
  readonly clock: Clock;
  /** The state folder. */
  readonly home: string;
}): Attachments {
  const root = join(deps.home, "attachments");
  const store = createAttachmentStore(deps);
  const lock = createKeyedLock();
  const checks = createGate({ atOnce: uploads.checkedAtOnce, waiting: uploads.waiting });
  const running = new Map<string, number>();
  /** The ids of files that are being uploaded. */
  const arriving = new Set<string>();

  function withPath(row: AttachmentRow): StoredAttachment {
    return {
      ...attachmentOf(row),
      path: join(root, row.attachment_id, row.file_name),
      sessionId: row.session_id,
      addedBy: row.added_by,
    };
  }

  async function removeFiles(attachmentIds: readonly string[]): Promise<void> {
    for (const id of attachmentIds) await rm(join(root, id), { recursive: true, force: true });
  }

  async function refuseOverLimits({ accountId, sessionIds }: NewAttachment, sizeBytes: number): Promise<void> {
    const unused = await store.unusedOf(accountId);
    if (unused.count >= maxUnused || unused.sizeBytes + sizeBytes > maxUnusedBytes) {
      throw attachmentError(
        "attachment_too_large",
        "Your account has too many files that no prompt uses. Delete some of them, or wait: they are deleted after a day.",
      );
    }
    if (sessionIds !== null && (await store.sizeOfSession(sessionIds)) + sizeBytes > maxSessionAttachmentBytes) {
      throw sessionFull();
    }
  }

  async function receive(file: NewAttachment, body: AsyncIterable<Uint8Array>): Promise<Attachment> {
    const attachmentId = newUuid();
    const folder = join(root, attachmentId);
    arriving.add(attachmentId);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, "arriving");
      const { sizeBytes, sha256 } = await writeBody(path, body);
      const type = await checks.run(async () => checkContent(await readFile(path), file.name));
      refuseOtherType(file, type);
      const fileName = fileNameFor(file.name, type);
      await rename(path, join(folder, fileName));
      const row: AttachmentRow = {
        attachment_id: attachmentId,
        account_id: file.accountId,
        session_id: null,
        name: file.name,
        file_name: fileName,
        media_type: type,
        size_bytes: sizeBytes,
        sha256,
        created_at: deps.clock.now(),
        added_by: file.addedBy,
      };
      // One after another, so that two uploads cannot both use the last free space.
      await lock.run(file.accountId, async () => {
        await refuseOverLimits(file, sizeBytes);
        await store.insert(row);
      });
      return attachmentOf(row);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    } finally {
      arriving.delete(attachmentId);
    }
  }

  return {
    claim: store.claim,
    release: store.release,

    async add(file, body) {
      refuseName(file.name);
      const { accountId } = file;
      const others = running.get(accountId) ?? 0;
      if (others >= uploads.perAccount) {
        throw new PosternError(
          "rate_limited",
          `The maximum of ${uploads.perAccount} uploads is already running. Try again.`,
        );
      }
      running.set(accountId, others + 1);
      try {
        await refuseOverLimits(file, 1);
        return await receive(file, body);
      } finally {
        const left = (running.get(accountId) ?? 1) - 1;
        if (left === 0) running.delete(accountId);
        else running.set(accountId, left);
      }
    },

    async find(attachmentIds, { accountId, owns }) {
      const rows = new Map((await store.among(attachmentIds, accountId)).map((row) => [row.attachment_id, row]));
      return attachmentIds.map((id) => {
        const row = rows.get(id);
        if (row === undefined || (row.session_id === null && !owns(row.added_by))) throw attachmentNotFound(id);
        return withPath(row);
      });
    },

    async findAny(attachmentId) {
      const [row] = await store.among([attachmentId]);
      if (row === undefined) throw attachmentNotFound(attachmentId);
      return { ...withPath(row), accountId: row.account_id };
    },

    async ofPrompts(promptIds) {
      const rows = await store.ofPrompts(promptIds);
      return new Map([...rows].map(([promptId, of]) => [promptId, of.map(withPath)]));
    },

    async ofSession(sessionIds, attachmentIds) {
      const rows = await store.among(attachmentIds);
      return rows.filter((row) => row.session_id !== null && sessionIds.includes(row.session_id)).map(withPath);
    },

    async remove(attachmentId, accountId) {
      await store.remove(attachmentId, accountId);
      await removeFiles([attachmentId]);
    },

    async forget(sessionIds) {
      const removed = await store.removeOfSession(sessionIds);
      await removeFiles(removed);
      return removed.length;
    },

    async sweep() {
      await removeFiles(await store.removeUnused());
      await removeStrays(root, { store, now: deps.clock.now(), arriving });
    },
  };
}
