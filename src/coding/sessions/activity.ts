import { isDeepStrictEqual } from "node:util";
import { isoTime } from "../../core/clock.ts";
import type { Activity, PendingPermission } from "../../wire/coding.ts";
import type { HookEvent } from "../agents/template.ts";

/** What is known of a live agent from its hooks, its transcript and its own state files. */
export interface ActivityState {
  readonly activity: Activity;
  /** Whether the agent said that its session has begun. */
  readonly started: boolean;
  /** Permissions that wait for an answer, oldest first. */
  readonly permissions: readonly PendingPermission[];
  /** Counts prompts that the agent took, from anyone; a turn that ends is the turn of the newest. */
  readonly promptsTaken: number;
  /** Counts turns that ended, whichever way. */
  readonly turnsEnded: number;
}

/** The state of an agent that was just spawned. */
export const initialActivity: ActivityState = {
  activity: "starting",
  started: false,
  permissions: [],
  promptsTaken: 0,
  turnsEnded: 0,
};

/** What moves the state beside the agent's hooks. */
export type Observation =
  | HookEvent
  /** The screen shows the composer, ready for a prompt. */
  | { readonly kind: "composer_painted" }
  /** The transcript says that the running turn ended without a hook (Esc, a denial, an API error). */
  | { readonly kind: "turn_over" }
  /** The transcript shows a prompt that no hook reported. */
  | { readonly kind: "prompt_seen" };

// Oldest go first: an agent asks a handful at a time, and a forged inbox must not fill the memory.
const maxPermissions = 50;

/** The next state after one observation. Pure; `at` is epoch milliseconds, `permissionId` names a permission that this event asks for. */
export function nextActivity(
  state: ActivityState,
  event: Observation,
  context: { readonly at: number; readonly permissionId: string },
): ActivityState {
  switch (event.kind) {
    case "session_start":
      return { ...state, started: true, activity: state.activity === "starting" ? "idle" : state.activity };
    case "composer_painted":
      return state.activity === "starting" ? { ...state, activity: "idle" } : state;
    case "prompt_submitted":
    case "prompt_seen":
      return { ...state, started: true, activity: "working", permissions: [], promptsTaken: state.promptsTaken + 1 };
    case "tool_started":
      return working(state);
    case "tool_ended":
      return working({ ...state, permissions: withoutAnswered(state.permissions, event) });
    case "permission_asked":
      return {
        ...state,
        activity: "needs_permission",
        permissions: [
          ...state.permissions,
          { permissionId: context.permissionId, tool: event.tool, input: event.input, askedAt: isoTime(context.at) },
        ].slice(-maxPermissions),
      };
    case "turn_ended":
    case "turn_failed":
    case "turn_over":
    case "waiting_for_input":
      return turnOver(state);
    case "session_end":
      return state;
  }
}

function working(state: ActivityState): ActivityState {
  if (state.permissions.length > 0) return { ...state, activity: "needs_permission" };
  return { ...state, activity: "working" };
}

function turnOver(state: ActivityState): ActivityState {
  const running = state.activity !== "idle" && state.activity !== "starting";
  return { ...state, activity: "idle", permissions: [], turnsEnded: state.turnsEnded + (running ? 1 : 0) };
}

/** A tool that ran was allowed: its question is answered. Others stand, so that no prompt is pasted into them. */
function withoutAnswered(
  permissions: readonly PendingPermission[],
  ended: { readonly tool: string; readonly input: unknown },
): readonly PendingPermission[] {
  const sameTool = permissions.filter((permission) => permission.tool === ended.tool);
  const answered = sameTool.find((permission) => isDeepStrictEqual(permission.input, ended.input)) ?? sameTool[0];
  return permissions.filter((permission) => permission !== answered);
}
