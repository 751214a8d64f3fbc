import type { HookEvent, ScreenDialog, ToolCall } from "../agents/index.ts";
import { isoTime } from "../core/clock.ts";
import type { Activity, PendingPermission } from "../wire/coding.ts";

/** A permission request that waits for an answer, with the identity of its tool call. */
export interface OpenPermission extends PendingPermission, Pick<ToolCall, "callKey" | "subagent"> {
  /** Where the call happens, as the agent reports it. */
  readonly cwd?: string | null | undefined;
}

/** A screen without a composer that has stopped changing: the agent's own dialog or message, which waits for a person. */
export interface StandingScreen {
  /** The visible text, bounded. */
  readonly screen: string;
  /** The dialog on it, when the agent's template knows it. */
  readonly dialog: OpenDialog | null;
}

/** A dialog of the agent's own, in its terminal. */
export interface OpenDialog extends ScreenDialog {
  /** The same for the same dialog with the same text. */
  readonly dialogId: string;
  /** Epoch milliseconds. */
  readonly seenAt: number;
}

/** What is known about a live agent from its hooks, its transcript and its own state files. */
export interface ActivityState {
  readonly activity: Activity;
  /** Whether the agent reported the start of its session, or painted its composer. */
  readonly started: boolean;
  /** Whether the session's own turn runs; a sub-agent's question or work may outlast it. */
  readonly turnRuns: boolean;
  /** Whether only sub-agents are working, so that the agent still accepts a prompt. */
  readonly inBackground: boolean;
  /** What the screen shows while the activity is `needs_attention`, otherwise null. */
  readonly standing: StandingScreen | null;
  /** Permissions that wait for an answer, oldest first. */
  readonly permissions: readonly OpenPermission[];
  /** Calls that Postern allowed and that are still running: the end of one does not count as the answer to another request. */
  readonly allowedCalls: readonly string[];
  /** Number of prompts that the agent accepted, from any source. A turn that ends belongs to the newest prompt. */
  readonly promptsTaken: number;
  /** Counts turns that ended, for any reason. */
  readonly turnsEnded: number;
}

/** The state of an agent that was just spawned. */
export const initialActivity: ActivityState = {
  activity: "starting",
  started: false,
  turnRuns: false,
  inBackground: false,
  standing: null,
  permissions: [],
  allowedCalls: [],
  promptsTaken: 0,
  turnsEnded: 0,
};

/** What changes the state besides the agent's hooks. */
export type Observation =
  | HookEvent
  /** The screen shows the composer, ready for a prompt. */
  | { readonly kind: "composer_painted" }
  /** The screen has stopped changing without a composer, and nothing shows that a turn is running. */
  | ({ readonly kind: "screen_stands" } & StandingScreen)
  /** The screen that had stopped changing now shows something else. */
  | { readonly kind: "screen_moved" }
  /** The transcript says that the running turn ended without a hook (Esc, a denial, an API error). */
  | { readonly kind: "turn_over" }
  /** The transcript shows a prompt that no hook reported: one of ours, or another (null). */
  | { readonly kind: "prompt_seen"; readonly prompt: string | null }
  /** The transcript, or the agent itself, shows a running turn that no hook reported. */
  | { readonly kind: "turn_seen" }
  /** The agent itself shows that its sub-agents continue after its turn has ended. */
  | { readonly kind: "background_seen" }
  /** The agent itself shows an open dialog that no hook reported. */
  | { readonly kind: "dialog_seen"; readonly activity: "needs_permission" | "needs_answer" }
  /** The agent itself shows no open dialog: the question was answered in the terminal. */
  | { readonly kind: "dialog_closed"; readonly activity: "working" | "idle" }
  /** The dialog of a permission is on the screen, although other reports said that it was answered. */
  | { readonly kind: "permission_seen"; readonly permission: OpenPermission }
  /** A hook passed on our decision. */
  | { readonly kind: "permission_answered"; readonly permissionId: string; readonly decision: "allow" | "deny" };

/** Whether no turn runs and no question is open, so that a prompt can be sent, even if the vendor is likely to refuse it. */
export function isResting({ activity, inBackground }: Pick<ActivityState, "activity" | "inBackground">): boolean {
  if (activity === "working") return inBackground;
  return activity === "idle" || activity === "limited" || activity === "needs_login";
}

/** Whether the agent has not reported the start of its session yet, for example because its own dialog is in the way. */
export function isBooting({ activity, started }: Pick<ActivityState, "activity" | "started">): boolean {
  return activity === "starting" || (activity === "needs_attention" && !started);
}

// Beyond this number, the oldest are dropped: an agent has a handful open at a time, and a forged inbox must not use up memory.
const maxPermissions = 50;

/** The next state after one observation. Pure; `at` is epoch milliseconds, `permissionId` is the id of the permission that this event requests. */
export function nextActivity(
  state: ActivityState,
  event: Observation,
  context: { readonly at: number; readonly permissionId: string },
): ActivityState {
  const next = transition(state, event, context);
  return next.activity === "needs_attention" || next.standing === null ? next : { ...next, standing: null };
}

function transition(
  state: ActivityState,
  event: Observation,
  context: { readonly at: number; readonly permissionId: string },
): ActivityState {
  switch (event.kind) {
    case "session_start":
      // An open dialog stays: only the screen shows when it closes.
      return { ...state, started: true, activity: state.activity === "starting" ? "idle" : state.activity };
    case "turn_seen":
      return inMode("working", { ...state, started: true, turnRuns: true });
    case "background_seen":
      return state.activity === "idle" ? { ...state, activity: "working", inBackground: true } : state;
    case "dialog_seen":
      return { ...state, started: true, activity: event.activity, inBackground: false };
    case "composer_painted":
      return isBooting(state) || state.activity === "needs_attention"
        ? { ...state, started: true, activity: "idle" }
        : state;
    case "screen_stands": {
      const { screen, dialog } = event;
      const waits = isBooting(state) || isResting(state) || state.activity === "needs_attention";
      return waits ? { ...state, activity: "needs_attention", standing: { screen, dialog } } : state;
    }
    case "screen_moved":
      return state.activity === "needs_attention" ? { ...state, activity: state.started ? "idle" : "starting" } : state;
    case "prompt_submitted":
    case "prompt_seen":
      return inMode("working", {
        ...state,
        started: true,
        turnRuns: true,
        permissions: ofSubagents(state.permissions),
        allowedCalls: [],
        promptsTaken: state.promptsTaken + 1,
      });
    case "tool_started":
      return inMode("working", { ...state, turnRuns: true });
    case "tool_ended":
      return afterTool(withoutEnded(state, event.callKey));
    case "permission_answered":
      return withoutAnswered(state, event);
    case "permission_seen":
      return inMode(state.turnRuns ? "working" : "idle", {
        ...state,
        permissions: [...state.permissions, event.permission].slice(-maxPermissions),
      });
    case "dialog_closed":
      return event.activity === "idle"
        ? turnOver({ ...state, permissions: [] })
        : { ...inMode("working", { ...state, permissions: [] }), inBackground: !state.turnRuns };
    case "permission_asked":
      return inMode("working", {
        ...state,
        turnRuns: state.turnRuns || event.subagent === null,
        permissions: [...state.permissions, openPermission(event, context)].slice(-maxPermissions),
      });
    case "turn_failed":
      return afterFailure(turnOver(state), event.needs);
    case "turn_ended":
      return turnOver(state, event.inBackground);
    case "turn_over":
      return turnOver(state);
    case "session_end":
      return state;
  }
}

function openPermission(
  { asks, tool, input, callKey, subagent, cwd }: Extract<HookEvent, { kind: "permission_asked" }>,
  { at, permissionId }: { readonly at: number; readonly permissionId: string },
): OpenPermission {
  return { permissionId, kind: asks, tool, input, askedAt: isoTime(at), answerable: false, callKey, subagent, cwd };
}

/** An open question takes precedence over everything else. */
function inMode(activity: "working" | "idle", before: ActivityState): ActivityState {
  const state = { ...before, inBackground: false };
  if (state.permissions.length === 0) return { ...state, activity };
  // Permissions for tools take precedence: anyone with access can answer them, while other questions need someone who knows the task.
  const permission = state.permissions.some(({ kind }) => kind === "permission");
  return { ...state, activity: permission ? "needs_permission" : "needs_answer" };
}

function needsAnswer({ activity }: ActivityState): boolean {
  return activity === "needs_permission" || activity === "needs_answer";
}

/**
 * The end of a call does not mean that a turn is running, because a call can outlast its turn (measured): a sub-agent's call, or a Codex command
 * that kept running while its turn was steered.
 */
function afterTool(state: ActivityState): ActivityState {
  if (state.turnRuns) return inMode("working", state);
  return needsAnswer(state) ? inMode("idle", state) : state;
}

function turnOver(state: ActivityState, inBackground = false): ActivityState {
  const over = inMode("idle", {
    ...state,
    turnRuns: false,
    permissions: ofSubagents(state.permissions),
    turnsEnded: state.turnsEnded + (state.turnRuns ? 1 : 0),
  });
  return inBackground && over.activity === "idle" ? { ...over, activity: "working", inBackground } : over;
}

/** After a turn failed because of a missing login or a rate limit, the next one will fail as well. */
function afterFailure(state: ActivityState, needs: "login" | "limit_reset" | undefined): ActivityState {
  if (state.activity !== "idle" || needs === undefined) return state;
  return { ...state, activity: needs === "login" ? "needs_login" : "limited" };
}

/** A sub-agent's question outlives the turn that started it. */
function ofSubagents(permissions: readonly OpenPermission[]): readonly OpenPermission[] {
  return permissions.filter(({ subagent }) => subagent !== null);
}

/** A call that has run was allowed. Of several identical calls, only one counts as answered; the others still wait for an answer. */
function withoutEnded(state: ActivityState, callKey: string): ActivityState {
  const allowed = state.allowedCalls.indexOf(callKey);
  if (allowed !== -1) return { ...state, allowedCalls: state.allowedCalls.toSpliced(allowed, 1) };
  const answered = state.permissions.find((permission) => permission.callKey === callKey);
  return { ...state, permissions: state.permissions.filter((permission) => permission !== answered) };
}

/** No hook reports a denial, so the answer itself changes the state. An answer to a question that is not open changes nothing. */
function withoutAnswered(
  state: ActivityState,
  { permissionId, decision }: Extract<Observation, { kind: "permission_answered" }>,
): ActivityState {
  const answered = state.permissions.find((permission) => permission.permissionId === permissionId);
  if (answered === undefined) return state;
  const allowedCalls = decision === "allow" ? [...state.allowedCalls, answered.callKey] : state.allowedCalls;
  return inMode(state.turnRuns ? "working" : "idle", {
    ...state,
    permissions: state.permissions.filter((permission) => permission !== answered),
    allowedCalls: allowedCalls.slice(-maxPermissions),
  });
}
