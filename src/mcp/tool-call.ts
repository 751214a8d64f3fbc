import type { Principal } from "../accounts/index.ts";
import type { Tool } from "../wire/tool.ts";

/** Tells the client how a call stands. */
export type ReportProgress = (progress: {
  /** Seconds since it began. */
  readonly progress: number;
  /** Seconds that it takes at most, when it says so. */
  readonly total?: number;
  readonly message: string;
}) => Promise<void>;

/** One call of a tool. */
export interface ToolCall {
  readonly tool: Tool<Principal>;
  /** As the client sent them. */
  readonly args: unknown;
  readonly principal: Principal;
  readonly signal: AbortSignal;
  /** Null when the client did not ask to be told. */
  readonly progress: ReportProgress | null;
}
