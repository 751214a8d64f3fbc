import type { AttachedFile } from "../agents/index.ts";
import type { Attachments, NewAttachment, StoredAttachment } from "../attachments/index.ts";
import { hasCode, PosternError } from "../core/errors.ts";
import { isImageType } from "../core/image-types.ts";
import type { Attachment } from "../wire/attachments.ts";
import { type Caller, callerKey, ownsKey } from "../wire/caller.ts";
import type { SessionLocator } from "./locate.ts";

/** Attachments for callers. Callers that see a session see its attachments; unused ones are visible only to those who uploaded them. Only their account can remove them. */
export interface SessionAttachments {
  /** @throws PosternError `session_not_found`, and the errors of `Attachments.add` */
  add(
    file: Pick<NewAttachment, "name" | "mediaType"> & { readonly sessionId: string | null },
    body: AsyncIterable<Uint8Array>,
    caller: Caller,
  ): Promise<Attachment>;
  /** @throws PosternError `attachment_not_found` */
  find(attachmentId: string, caller: Caller): Promise<StoredAttachment>;
  /** @throws PosternError `attachment_not_found` | `attachment_in_use` */
  remove(attachmentId: string, caller: Caller): Promise<void>;
}

export function createSessionAttachments({
  attachments,
  locator,
}: {
  readonly attachments: Pick<Attachments, "add" | "findAny" | "remove">;
  readonly locator: Pick<SessionLocator, "locate">;
}): SessionAttachments {
  async function find(attachmentId: string, caller: Caller): Promise<StoredAttachment> {
    const found = await attachments.findAny(attachmentId);
    if (found.sessionId !== null) await requireVisible(found.sessionId, { attachmentId, caller });
    else if (!ownsKey(caller, found.addedBy)) throw gone(attachmentId);
    return found;
  }

  async function requireVisible(
    sessionId: string,
    { attachmentId, caller }: { readonly attachmentId: string; readonly caller: Caller },
  ): Promise<void> {
    try {
      await locator.locate(sessionId, caller);
    } catch (error) {
      if (hasCode(error, "session_not_found")) throw gone(attachmentId);
      throw error;
    }
  }

  return {
    async add({ sessionId, ...file }, body, caller) {
      const session = sessionId === null ? null : await locator.locate(sessionId, caller);
      const sessionIds = session && [session.record.sessionId, ...session.record.aliases];
      return attachments.add({ ...file, accountId: caller.accountId, addedBy: callerKey(caller), sessionIds }, body);
    },
    find,
    async remove(attachmentId, caller) {
      await find(attachmentId, caller);
      await attachments.remove(attachmentId, caller.accountId);
    },
  };
}

function gone(attachmentId: string): PosternError {
  return new PosternError("attachment_not_found", `Attachment ${attachmentId} was not found. Upload it again.`);
}

export function toAttachedFile({ path, mediaType }: StoredAttachment): AttachedFile {
  return { path, isImage: isImageType(mediaType) };
}
