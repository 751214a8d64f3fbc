import type { Principal } from "../accounts/index.ts";
import type { Chats } from "../chats/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { StreamMessage, StreamOptions } from "../events/index.ts";
import type { Attachment } from "../wire/attachments.ts";
import type { PermissionRulesPreview, PreviewPermissionRulesInput } from "../wire/permission-rules.ts";
import type { Problem } from "../wire/problem.ts";
import type { Tool } from "../wire/tool.ts";
import type { Channel } from "./channel.ts";

/** Dependencies of chats. */
export interface ChatDeps {
  readonly channel: Channel;
  /** The state of this channel. */
  readonly chats: Chats;
  /** The table of tools. */
  readonly tools: readonly Tool<Principal>[];
  /** The caller for every chat. Read at each call, so that chats lose access when the account does. */
  readonly principal: () => Promise<Principal>;
  readonly events: (options: StreamOptions) => AsyncGenerator<StreamMessage, void>;
  /** Stores a file for a prompt. @throws PosternError `attachment_too_large` | `attachment_type_refused` | `session_not_found` */
  readonly attach: (
    file: { readonly name: string; readonly mediaType: null; readonly sessionId: string | null },
    body: AsyncIterable<Uint8Array>,
    principal: Principal,
  ) => Promise<Attachment>;
  /** The standing rules that an answer would add. */
  readonly previewRules: (input: PreviewPermissionRulesInput, principal: Principal) => Promise<PermissionRulesPreview>;
  /** Registered folders in which agents can work. */
  readonly folders: () => Promise<readonly string[]>;
  /** The real path of a directory in which agents can work. @throws PosternError `dir_not_allowed` | `dir_not_found` | `invalid_request` */
  readonly allowedDir: (dir: string) => Promise<string>;
  /** An error with the same message as in the API. */
  readonly problemOf: (error: unknown, requestId: string) => Problem;
  /** A session's URL in the web application. */
  readonly sessionUrl: (sessionId: string) => string;
  /** Users who can use it. All others get no reply. */
  readonly allowedUserIds: ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: Log;
}
