export type { AttachmentClaim } from "./attachment-store.ts";
export {
  type Attachments,
  createAttachments,
  type NewAttachment,
  type StoredAttachment,
} from "./attachments.ts";
