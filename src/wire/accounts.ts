import { z } from "zod";
import { scopeSchema } from "./access.ts";
import { textSchema } from "./text.ts";

/** An account that can sign in. The owner holds every scope; other accounts hold the scopes they were granted, never `admin`. */
export const accountSchema = z
  .object({
    accountId: z.string(),
    name: z.string(),
    isOwner: z.boolean(),
    scopes: z.array(scopeSchema),
    createdAt: z.string(),
  })
  .meta({ id: "Account" });

/** `POST /api/accounts` */
export const addAccountInputSchema = z
  .strictObject({
    name: textSchema(100).describe("Must be unique."),
    scopes: z.array(scopeSchema.exclude(["admin"])).min(1),
  })
  .meta({ id: "AddAccountInput" });

/** The response: the account, and a link that signs in its first browser. */
export const addedAccountSchema = accountSchema
  .extend({ signInLink: z.object({ url: z.string(), expiresAt: z.string() }) })
  .meta({ id: "AddedAccount" });

/** A passkey, stored by a browser, a phone or a security key. */
export const passkeySchema = z
  .object({
    passkeyId: z.string(),
    name: z.string(),
    createdAt: z.string(),
    lastUsedAt: z.string().nullable(),
    backedUp: z.boolean().describe("Whether it is synced to more than one device."),
  })
  .meta({ id: "Passkey" });

/**
 * A WebAuthn ceremony: the options for the browser's `navigator.credentials`.
 * @see https://www.w3.org/TR/webauthn-3/#sctn-parseCreationOptionsFromJSON
 */
export const passkeyCeremonySchema = z
  .object({
    ceremonyId: z.string().describe("Send it with the response. Single use, expires after five minutes."),
    options: z.record(z.string(), z.unknown()).describe("Input of `PublicKeyCredential.parse…OptionsFromJSON`."),
  })
  .meta({ id: "PasskeyCeremony" });

/** The browser's response, from `PublicKeyCredential.toJSON`. */
export const passkeyAnswerSchema = z
  .strictObject({ ceremonyId: z.string().min(1).max(100), credential: z.record(z.string(), z.unknown()) })
  .meta({ id: "PasskeyAnswer" });

/** `POST /api/passkeys`: the browser's registration response, and a name for the passkey. */
export const addPasskeyInputSchema = passkeyAnswerSchema
  .extend({ name: textSchema(100) })
  .meta({ id: "AddPasskeyInput" });

/** Groups of actions to filter the audit log by. */
export const auditKinds = {
  sign_in: [
    "sign_in_link_created",
    "signed_in",
    "sign_in_refused",
    "signed_out",
    "browser_revoked",
    "passkey_added",
    "passkey_removed",
  ],
  account: ["account_added", "account_removed"],
  token: ["token_created", "token_revoked"],
  app: ["app_allowed", "app_denied", "app_disconnected", "app_token_issued", "app_token_reused"],
  client: ["client_registered", "client_added", "client_removed"],
  agent: [
    "agent_configured",
    "agent_removed",
    "agent_login_started",
    "agent_login_cancelled",
    "agent_login_ended",
    "agent_install_started",
    "agent_install_cancelled",
    "agent_install_ended",
  ],
  memory: ["log_deleted", "session_logs_deleted"],
  notification: ["notifications_on", "notifications_off", "notification_answered"],
  share: ["share_created", "share_revoked", "share_opened"],
  permission: ["permission_rule_added", "permission_rule_removed", "permission_rule_used"],
  folder: ["folder_profile_changed", "folder_proposal_approved", "folder_cloned"],
  publish: ["git_committed", "git_updated", "git_pushed", "git_pull_request_opened", "git_merged"],
  comparison: ["comparison_kept"],
} as const;

/** Actions recorded in the audit log. */
export const auditActions = Object.values(auditKinds).flat();
export const auditActionSchema = z.enum(auditActions);
export const auditKindSchema = z.enum([
  "sign_in",
  "account",
  "token",
  "app",
  "client",
  "agent",
  "memory",
  "notification",
  "share",
  "permission",
  "folder",
  "publish",
  "comparison",
]);

/** An entry of the audit log. */
export const auditEntrySchema = z
  .object({
    auditId: z.string(),
    at: z.string(),
    account: z
      .object({ accountId: z.string(), name: z.string() })
      .nullable()
      .describe("Null if the caller was not authenticated."),
    action: auditActionSchema,
    subject: z.string().nullable().describe("Id of the affected object."),
    details: z.record(z.string(), z.unknown()).describe("Additional context. Never contains secrets."),
    address: z.string().nullable().describe("Client address. Null for the command line."),
    userAgent: z.string().nullable(),
  })
  .meta({ id: "AuditEntry" });

/** `GET /api/audit` */
export const auditQuerySchema = z.strictObject({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  before: z.string().max(100).optional().describe("The `auditId` of the last entry on the previous page."),
  kind: auditKindSchema.optional().describe("Filter by kind."),
});
export const auditPageSchema = z
  .object({ entries: z.array(auditEntrySchema), hasMore: z.boolean() })
  .meta({ id: "AuditPage" });

export type AccountRecord = z.infer<typeof accountSchema>;
export type AddAccountInput = z.infer<typeof addAccountInputSchema>;
export type AddedAccount = z.infer<typeof addedAccountSchema>;
export type Passkey = z.infer<typeof passkeySchema>;
export type PasskeyCeremony = z.infer<typeof passkeyCeremonySchema>;
export type PasskeyAnswer = z.infer<typeof passkeyAnswerSchema>;
export type AddPasskeyInput = z.infer<typeof addPasskeyInputSchema>;
export type AuditAction = z.infer<typeof auditActionSchema>;
export type AuditKind = z.infer<typeof auditKindSchema>;
export type AuditEntry = z.infer<typeof auditEntrySchema>;
export type AuditQuery = z.infer<typeof auditQuerySchema>;
export type AuditPage = z.infer<typeof auditPageSchema>;
