import type { Principal } from "../accounts/index.ts";
import type { Clock } from "../core/clock.ts";
import type { Log } from "../core/log.ts";
import type { StreamMessage, StreamOptions } from "../events/index.ts";
import type { ReadInput, ReadOutput } from "../wire/coding.ts";
import type { Problem } from "../wire/problem.ts";
import type { ListInput, ListOutput } from "../wire/session-lists.ts";
import type { Tool } from "../wire/tool.ts";

/** Sessions for MCP resources. */
export interface McpSessions {
  list(input: ListInput, principal: Principal): Promise<ListOutput>;
  /** @throws PosternError `session_not_found`, even if it exists but is not visible to the caller */
  read(input: ReadInput, principal: Principal, signal: AbortSignal): Promise<ReadOutput>;
}

export interface McpDeps {
  readonly version: string;
  readonly tools: readonly Tool<Principal>[];
  readonly sessions: McpSessions;
  /** Session events. */
  readonly events: (options: StreamOptions) => AsyncGenerator<StreamMessage, void>;
  /** The problem document of an error. `requestId` identifies the log line. */
  readonly problemOf: (error: unknown, requestId: string) => Problem;
  /** Whether the app is still authorized, even if its access token has expired. */
  readonly isConnected: (accountId: string, appId: string) => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits?: Partial<McpLimits>;
}

/** Limits for MCP clients. */
export interface McpLimits {
  /** Maximum sessions of all callers together. */
  readonly maxSessions: number;
  readonly maxSessionsOfCaller: number;
  /** Idle sessions without open streams end after this time. */
  readonly idleMs: number;
  /** How long a call continues after its client disconnects. */
  readonly abandonMs: number;
  /** Messages kept for clients that reconnect, per session and in total. */
  readonly maxKeptMessages: number;
  readonly maxKeptBytes: number;
  readonly maxKeptBytesOfAll: number;
  /** Interval of progress reports. */
  readonly progressMs: number;
  /** Per session, or per stream of the newer specification. */
  readonly maxSubscriptions: number;
  /** Streams of the newer specification, for all callers together. */
  readonly maxListening: number;
}

/** A request to `/mcp`. */
export interface McpRequest {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Headers;
  /** Parsed body of a POST; undefined if empty. */
  readonly body: unknown;
  readonly principal: Principal;
  /** Aborted with a PosternError when the client disconnects or loses access, or the gateway stops. */
  readonly signal: AbortSignal;
}

export interface Mcp {
  /**
   * Handles a request; a `text/event-stream` response lasts until its body ends.
   * @throws PosternError `insufficient_scope` before the tool runs; `rate_limited`
   */
  handle(request: McpRequest): Promise<Response>;
  /** Ends every session and stream. Idempotent. */
  close(): Promise<void>;
}
