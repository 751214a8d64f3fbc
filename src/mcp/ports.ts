import type { Principal } from "../accounts/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { StreamMessage, StreamOptions } from "../events/index.ts";
import type { ReadInput, ReadOutput } from "../wire/coding.ts";
import type { Problem } from "../wire/problem.ts";
import type { ListInput, ListOutput } from "../wire/session-lists.ts";
import type { Tool } from "../wire/tool.ts";

/** The sessions, as resources show them. */
export interface McpSessions {
  list(input: ListInput, principal: Principal): Promise<ListOutput>;
  /** @throws PosternError `session_not_found` also when the caller may not see it */
  read(input: ReadInput, principal: Principal, signal: AbortSignal): Promise<ReadOutput>;
}

export interface McpDeps {
  readonly version: string;
  readonly tools: readonly Tool<Principal>[];
  readonly sessions: McpSessions;
  /** What happens to sessions, as it happens. */
  readonly events: (options: StreamOptions) => AsyncGenerator<StreamMessage, void>;
  /** An error in the words of every other face. `requestId` names the log's line when nothing else may be said. */
  readonly problemOf: (error: unknown, requestId: string) => Problem;
  /** Whether the account lets the app in, whatever became of its last access token. */
  readonly isConnected: (accountId: string, appId: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<McpLimits>;
}

/** Bounds of what clients of the 2025 specifications may keep open. */
export interface McpLimits {
  /** Of all callers together. */
  readonly maxSessions: number;
  readonly maxSessionsOfCaller: number;
  /** A session that was not used for so long, and that holds no stream open, is ended. */
  readonly idleMs: number;
  /** How long a call runs on whose connection broke and whose client did not come back. */
  readonly abandonMs: number;
  /** Messages kept to be sent again to a client that comes back, of a session and of all. */
  readonly maxKeptMessages: number;
  readonly maxKeptBytes: number;
  readonly maxKeptBytesOfAll: number;
  /** How often a call that takes long says how it stands. */
  readonly progressMs: number;
  /** Of a session, or of a stream of the newer specification. */
  readonly maxSubscriptions: number;
  /** Streams of the newer specification that are listened to, of all callers together. */
  readonly maxListening: number;
}

/** A request to `/mcp`. */
export interface McpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Headers;
  /** Of a POST, parsed; undefined when it had none. */
  readonly body: unknown;
  readonly principal: Principal;
  /** Aborted when the client goes away, may no longer come in, or the gateway stops; its reason is a PosternError. */
  readonly signal: AbortSignal;
}

/** The face for clients of the Model Context Protocol. */
export interface Mcp {
  /**
   * Answers a request; an answer of type `text/event-stream` lasts until its body ends.
   * @throws PosternError `insufficient_scope` for a tool that the caller may not use, before anything was done; `rate_limited`
   */
  handle(request: McpRequest): Promise<Response>;
  /** Ends every session and stream. Idempotent. */
  close(): Promise<void>;
}
