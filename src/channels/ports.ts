import type { Principal } from "../accounts/index.ts";
import type { Chats } from "../chats/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { StreamMessage, StreamOptions } from "../events/index.ts";
import type { Problem } from "../wire/problem.ts";
import type { Tool } from "../wire/tool.ts";
import type { Channel } from "./channel.ts";

/** What chats need of the house. */
export interface ChatDeps {
  readonly channel: Channel;
  /** The state of this channel. */
  readonly chats: Chats;
  /** The one table. */
  readonly tools: readonly Tool<Principal>[];
  /** As whom every chat acts. Asked for at each call, so that what the account loses is lost here too. */
  readonly principal: () => Promise<Principal>;
  readonly events: (options: StreamOptions) => AsyncGenerator<StreamMessage, void>;
  /** Registered folders in which agents may work. */
  readonly folders: () => Promise<readonly string[]>;
  /** The real path of a directory in which agents may work. @throws PosternError `dir_not_allowed` | `dir_not_found` | `invalid_request` */
  readonly allowedDir: (dir: string) => Promise<string>;
  /** An error in the words of every other face. */
  readonly problemOf: (error: unknown, requestId: string) => Problem;
  /** Where a session is seen in a browser. */
  readonly sessionUrl: (sessionId: string) => string;
  /** Who may use it. All others get nothing. */
  readonly allowedUserIds: ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: Log;
}
