import { z } from "zod";
import { type Scope, scopeSchema } from "../../src/wire/access.ts";
import type { AuditAction, AuditEntry, AuditKind } from "../../src/wire/accounts.ts";

/** The parts of a sentence about an entry, with the name of its subject. */
export interface AuditWords {
  readonly who: string;
  readonly did: string;
  /** Untrusted. */
  readonly name: string | null;
  readonly after: string;
  readonly scopes: readonly Scope[];
  readonly more: readonly string[];
  /** Worth investigating. */
  readonly alarming: boolean;
}

export const kindWords: Readonly<Record<AuditKind, string>> = {
  sign_in: "Sign-in",
  account: "Accounts",
  token: "Tokens",
  app: "Connected apps",
  client: "Known clients",
  agent: "Agents",
  memory: "Memory",
  notification: "Notifications",
  share: "Shared links",
  permission: "Standing rules",
  folder: "Folders",
  publish: "Commits and pushes",
  comparison: "Comparisons",
};

/** The words before and after the name, and the actor if no account is known. */
const phrases: Readonly<Record<AuditAction, readonly [did: string, after?: string, unknown?: string]>> = {
  sign_in_link_created: ["created a sign-in link for"],
  signed_in: ["signed in"],
  sign_in_refused: ["tried to sign in", " and was refused"],
  signed_out: ["signed out"],
  browser_revoked: ["signed out another browser"],
  passkey_added: ["added the passkey"],
  passkey_removed: ["removed the passkey"],
  account_added: ["added the account"],
  account_removed: ["removed the account"],
  token_created: ["created the token"],
  token_revoked: ["revoked the token"],
  app_allowed: ["approved"],
  app_denied: ["denied access to"],
  app_disconnected: ["disconnected"],
  app_token_issued: ["issued a token to", "", "The gateway"],
  app_token_reused: ["revoked all tokens of", ", because one of them was used twice", "The gateway"],
  client_registered: ["registered as", "", "An app"],
  client_added: ["added the client"],
  client_removed: ["removed the client"],
  agent_configured: ["set up the agent"],
  agent_removed: ["removed the agent"],
  agent_login_started: ["started logging in to"],
  agent_login_cancelled: ["cancelled the login to"],
  agent_login_ended: ["finished logging in to"],
  agent_install_started: ["started installing", " from npm"],
  agent_install_cancelled: ["cancelled the installation of"],
  agent_install_ended: ["finished installing"],
  log_deleted: ["deleted a memory entry"],
  session_logs_deleted: ["deleted a session from memory"],
  notifications_on: ["turned on notifications in"],
  notifications_off: ["turned off notifications in a browser"],
  notification_answered: ["answered a permission request from a notification"],
  share_created: ["shared a session with a link"],
  share_revoked: ["revoked a shared link"],
  share_opened: ["opened a shared link", "", "Someone with the link"],
  permission_rule_added: ["added the standing rule"],
  permission_rule_removed: ["removed the standing rule"],
  permission_rule_used: ["answered by the standing rule"],
  folder_profile_changed: ["changed the profile of"],
  folder_proposal_approved: ["approved the profile that is proposed in"],
  folder_cloned: ["cloned a repository to"],
  git_committed: ["committed in a session"],
  git_updated: ["updated a session's branch"],
  git_pushed: ["pushed a session's branch"],
  git_pull_request_opened: ["opened a pull request from a session"],
  git_merged: ["merged a session's pull request"],
  comparison_kept: ["kept one session of a comparison"],
};

const alarming: ReadonlySet<AuditAction> = new Set(["sign_in_refused", "app_token_reused"]);
/** Actions without a recorded name. */
const nameless: ReadonlySet<AuditAction> = new Set([
  ...(["signed_in", "sign_in_refused", "signed_out", "browser_revoked"] as const),
  // Only a hash of the id is stored.
  ...(["log_deleted", "session_logs_deleted"] as const),
  ...(["notifications_off", "notification_answered"] as const),
  ...(["share_created", "share_revoked", "share_opened"] as const),
  ...(["git_committed", "git_updated", "git_pushed", "git_pull_request_opened", "git_merged"] as const),
  "comparison_kept",
]);

const text = z.string().trim().min(1).optional().catch(undefined);
const detailsSchema = z.object({
  name: text,
  by: text,
  reason: text,
  host: z.string().nullish().catch(undefined),
  userAgent: text,
  expiresAt: text,
  scopes: z.array(z.unknown()).catch([]),
  folders: z.array(z.string()).nullish().catch(undefined),
});
const known: ReadonlySet<string> = new Set([...Object.keys(detailsSchema.shape), "clientId"]);

export function auditWords({ action, account, subject, details }: AuditEntry): AuditWords {
  const { name, by, reason, host, userAgent, expiresAt, scopes, folders } = detailsSchema.parse(details);
  const [did, after = "", unknown = "Unknown"] = phrases[action];
  const others = Object.entries(details).flatMap(([key, value]) =>
    !known.has(key) && (typeof value === "string" || typeof value === "number") ? [`${key}: ${value}`] : [],
  );
  return {
    who: account === null ? unknown : account.name,
    did: by === undefined ? did : `${did} ${ways[by] ?? `by ${by}`}`,
    name: nameless.has(action) ? null : (name ?? subject),
    after,
    scopes: scopes.flatMap((scope) => scopeSchema.safeParse(scope).data ?? []),
    more: [
      ...(reason === undefined ? [] : [reason]),
      ...(host === undefined ? [] : [letInTo(host)]),
      ...(userAgent === undefined ? [] : [browserName(userAgent)]),
      ...(expiresAt === undefined ? [] : [`until ${expiresAt.slice(0, 10)}`]),
      ...(folders == null || folders.length === 0 ? [] : [`only in ${folders.join(", ")}`]),
      ...others,
    ],
    alarming: alarming.has(action),
  };
}

const ways: Readonly<Record<string, string>> = { link: "with a link", passkey: "with a passkey" };

/** The browser and its address, or the command line. */
export function fromWhere({ address, userAgent }: Pick<AuditEntry, "address" | "userAgent">): readonly string[] {
  if (address === null || address === "local") return ["Command line"];
  const place = /^(127\.|::1$|::ffff:127\.)/.test(address) ? `${address}, this machine` : address;
  return userAgent === null || userAgent === "" ? [place] : [browserName(userAgent), place];
}

/** Where an approved app runs: `host` is the host of its redirect address; null for a device. */
export function letInTo(host: string | null): string {
  if (host === null) return "On a device, with a code";
  if (host.endsWith(":")) return `A program on your device (${host})`;
  return isThisMachine(host) ? `A program on the browser’s machine (${host})` : `At ${host}`;
}

/** The host of a client id that is a metadata URL; null for others. */
export function documentHost(clientId: string): string | null {
  return /^https?:\/\//.test(clientId) && URL.canParse(clientId) ? new URL(clientId).host : null;
}

function isThisMachine(host: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\])(:\d+)?$/.test(host);
}

/** Browser and system, from the user agent. */
export function browserName(userAgent: string): string {
  const browser = first(userAgent, [
    [/\bEdgA?\/|\bEdgiOS\//, "Edge"],
    [/\bOPR\//, "Opera"],
    [/\bSamsungBrowser\//, "Samsung Internet"],
    [/\bFirefox\/|\bFxiOS\//, "Firefox"],
    [/\bHeadlessChrome\//, "Chrome (headless)"],
    [/\bChrome\/|\bCriOS\//, "Chrome"],
    [/\bSafari\//, "Safari"],
  ]);
  const system = first(userAgent, [
    [/\biPhone\b/, "iPhone"],
    [/\biPad\b/, "iPad"],
    [/\bAndroid\b/, "Android"],
    [/\bWindows\b/, "Windows"],
    [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
    [/\bCrOS\b/, "ChromeOS"],
    [/\bLinux\b/, "Linux"],
  ]);
  if (browser === null) return system ?? (userAgent === "" ? "Unknown browser" : userAgent.slice(0, 60));
  return system === null ? browser : `${browser} on ${system}`;
}

function first(userAgent: string, names: readonly (readonly [RegExp, string])[]): string | null {
  return names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? null;
}
