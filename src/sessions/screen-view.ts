import { dialogIdOf, isAbout, type ScreenDialog } from "../agents/index.ts";
import { type ActivityState, isBooting, isResting, type Observation, type OpenPermission } from "./activity.ts";

/** What one look at a terminal found. */
export interface ScreenLook {
  /** Whether the composer is painted. */
  readonly composer: boolean;
  /** The visible text, bounded; empty while nothing is shown. */
  readonly text: string;
  readonly title: string | null;
  /** Whether it shows that the agent is starting or loading. */
  readonly starting: boolean;
  /** The dialog on it, when the agent's template knows it. */
  readonly dialog: ScreenDialog | null;
}

/** What a live session knows about its screen. */
export interface ScreenView {
  /** Whether the composer was seen. Then an idle agent's screen matters only while a prompt waits. */
  readonly sawComposer: boolean;
  /** The dialog on the screen when the last check for a permission request was made. */
  readonly asked: ScreenDialog | null;
  /** What the screen shows instead of the composer, and since when. */
  readonly shown: ShownText | null;
  /** How long the screen has been empty since the agent's start, as of the look at `emptyAt`. */
  readonly emptyMs: number;
  readonly emptyAt: number;
}

interface ShownText {
  readonly text: string;
  /** Since when the screen is unchanged while the process uses no CPU; epoch milliseconds. */
  readonly since: number;
  /** When it was first seen, whether or not the process has used the CPU since. */
  readonly from: number;
  /** Number of looks in a row, up to the last one, in which the process used the CPU. */
  readonly computed: number;
  /** Whether it was already reported as unchanged. Until its text changes, CPU use no longer matters. */
  readonly stood: boolean;
}

/** The screen of an agent that was just spawned, or found alive by a gateway that has just started. */
export function newScreen(origin: "launched" | "found", now: number): ScreenView {
  // A person who is using the agent's own menus while the gateway starts needs no notification.
  return { sawComposer: origin === "found", asked: null, shown: null, emptyMs: 0, emptyAt: now };
}

// An agent may wait a minute for a lock that a killed process left (measured), and then start.
export const emptyStartMs = 90_000;
// A first start that could not reach a registry showed an empty screen for 108 s (measured).
export const longestEmptyMs = 300_000;
// Looks happen about every second. During a longer pause, the machine and the agent slept.
const longestPauseMs = 10_000;
// A dialog that the template knows needs only a short wait: it may still be painting.
const knownDialogMs = 400;
// Spinners and clocks change at least every second; users must be notified within five.
const unknownScreenMs = 4_000;
// A start that took 1 s on a quiet machine took 15 s at a load of ten for each processor (measured).
const longestLoadingMs = 90_000;
// A program that the agent started can use the CPU forever while the agent shows a dialog.
const longestChildrenMs = 20_000;
// After this time, the process's CPU use is also checked, which costs more than a look.
const askProcessMs = 2_000;

/**
 * Whether to check if the process uses the CPU now: on a slow machine a screen can be unchanged because the agent is still busy, while
 * an agent that waits for a user sleeps. `with_children` includes processes that the agent started.
 */
export function asksProcess(view: ScreenView, look: ScreenLook, now: number): "no" | "alone" | "with_children" {
  const shown = shownBy(view, look, now);
  if (shown === null || look.dialog !== null || shown.stood || isLoading(look, shown, now)) return "no";
  if (now - shown.since < askProcessMs) return "no";
  return now - shown.from < longestChildrenMs ? "with_children" : "alone";
}

/** What the screen shows after this look, given the previous state; null for a composer or an empty screen. */
function shownBy(
  { shown }: ScreenView,
  { composer, text: screen, title, dialog }: ScreenLook,
  now: number,
): ShownText | null {
  if (composer || screen === "") return null;
  // A known dialog stays the same when another choice is selected.
  const text = dialog === null ? `${title ?? ""}\n${screen}` : dialogIdOf(dialog);
  return shown?.text === text ? shown : { text, since: now, from: now, computed: 0, stood: false };
}

/** What else is known at the time of a look. */
export interface ScreenContext {
  readonly activity: ActivityState;
  /** Whether a prompt waits for the composer. */
  readonly pending: boolean;
  /** Whether the process uses the CPU, if {@link asksProcess} required the check. */
  readonly computes: boolean;
  readonly readyBy: "composer" | "session_start";
  readonly now: number;
}

/** Whether a look can show something that is not known yet. False during a turn. */
export function screenMatters(view: ScreenView, activity: ActivityState, pending: boolean): boolean {
  if (isBooting(activity) || activity.activity === "needs_attention") return true;
  return isResting(activity) && (pending || !view.sawComposer);
}

/**
 * The new information from a look: the composer is visible, or a dialog or message covers it and has stopped changing. An agent that has
 * painted nothing for a long time during startup may hang: `mayHang`. Pure.
 */
export function screenChanges(
  before: ScreenView,
  look: ScreenLook,
  context: ScreenContext,
): { readonly view: ScreenView; readonly changes: readonly Observation[]; readonly mayHang: boolean } {
  const { activity, now } = context;
  const booting = isBooting(activity);
  const attention = activity.activity === "needs_attention";
  const { view, stands, mayHang } = afterLook(before, look, { ...context, booting });
  if (stands) {
    const { text: screen, dialog: shown } = look;
    const dialog = shown && { ...shown, dialogId: dialogIdOf(shown), seenAt: view.shown?.since ?? now };
    const { standing } = activity;
    const known = standing?.screen === screen && standing.dialog?.dialogId === dialog?.dialogId;
    return { view, changes: known ? [] : [{ kind: "screen_stands", screen, dialog }], mayHang };
  }
  if (look.composer && (activity.started || context.readyBy === "composer")) {
    return { view, changes: booting || attention ? [{ kind: "composer_painted" }] : [], mayHang };
  }
  return { view, changes: attention ? [{ kind: "screen_moved" }] : [], mayHang };
}

function afterLook(
  before: ScreenView,
  look: ScreenLook,
  { now, computes, booting }: ScreenContext & { readonly booting: boolean },
): { readonly view: ScreenView; readonly stands: boolean; readonly mayHang: boolean } {
  const shown = shownBy(before, look, now);
  if (look.composer) return { view: { ...before, shown, sawComposer: true }, stands: false, mayHang: false };
  if (shown === null) {
    if (!booting) return { view: { ...before, shown }, stands: false, mayHang: false };
    const emptyMs = before.emptyMs + Math.min(now - before.emptyAt, longestPauseMs);
    return { view: { ...before, shown, emptyMs, emptyAt: now }, stands: false, mayHang: emptyMs >= emptyStartMs };
  }
  const view = { ...before, emptyMs: 0 };
  const moving = { view: { ...view, shown }, stands: false, mayHang: false };
  const { dialog } = look;
  if (dialog !== null) {
    // A hook also reports a permission, but on a loaded machine only after its dialog has appeared.
    const needed = dialog.choices.some(({ decides }) => decides !== undefined) ? unknownScreenMs : knownDialogMs;
    return { ...moving, stands: now - shown.since >= needed };
  }
  if (now - shown.since < askProcessMs || isLoading(look, shown, now)) return moving;
  // CPU use at one look can be a short burst; at two in a row, the agent is busy.
  const still =
    shown.stood || !computes
      ? shown
      : { ...shown, since: shown.computed > 0 ? now : shown.since, computed: shown.computed > 0 ? 0 : 1 };
  const stands = now - still.since >= unknownScreenMs;
  return { view: { ...view, shown: { ...still, stood: still.stood || stands } }, stands, mayHang: false };
}

/** The permission that this dialog is about; null if it can be about several. */
export function askedAmong<T extends Pick<OpenPermission, "kind" | "input">>(
  dialog: ScreenDialog | null,
  permissions: readonly T[],
): T | null {
  if (dialog === null) return null;
  const meant = permissions.filter(({ kind, input }) => kind === "permission" && isAbout(dialog, input));
  return meant.length === 1 ? (meant[0] ?? null) : null;
}

/** Whether the screen shows that the agent is starting or loading, and has not done so for too long. */
function isLoading({ starting }: ScreenLook, { from }: ShownText, now: number): boolean {
  return starting && now - from < longestLoadingMs;
}
