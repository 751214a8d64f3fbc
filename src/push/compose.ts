import type { Tables } from "../storage/schema.ts";
import type { PendingPermission } from "../wire/coding.ts";
import type { PushKind, PushPreferences } from "../wire/push.ts";
import { type PlainRequest, plainRequest } from "./plain-request.ts";
import type { SeenSession } from "./ports.ts";

/** Why a browser is notified. `check`: something changed in a session whose notification is shown. */
export type Reason = Tables["push_deliveries"]["reason"];

/** What to do for a session whose state is known. Pure. */
export type Composed =
  | { readonly action: "drop" }
  /** The notification that the browser shows is still valid. */
  | { readonly action: "keep" }
  | { readonly action: "withdraw" }
  | {
      readonly action: "notify";
      readonly kind: PushKind;
      readonly permissionId: string | null;
      /** What the browser then shows, stored so that it can be withdrawn; null if it needs no answer. */
      readonly shows: string | null;
      readonly silent: boolean;
      readonly request: PlainRequest | null;
    };

/** The value of `shows` if the user is needed for something else than a permission request, such as a login. */
export const shownAttention = "attention";

/** The kinds that an event can lead to. */
export const kindsOf: Readonly<Record<Exclude<Reason, "check">, readonly PushKind[]>> = {
  permission: ["needs_permission", "needs_answer"],
  attention: ["needs_answer"],
  turn: ["finished", "failed", "limited"],
  failed: ["failed"],
  limited: ["limited"],
};

/** @param session null when the subscriber cannot see it */
export function compose(
  row: { readonly reason: Reason; readonly permissionId: string | null; readonly shown: string | null },
  session: SeenSession | null,
  preferences: Pick<PushPreferences, "kinds" | "showRequests">,
): Composed {
  const over: Composed = row.shown === null ? { action: "drop" } : { action: "withdraw" };
  if (session === null) return over;
  const wants = (kind: PushKind): boolean => preferences.kinds.includes(kind);
  const { reason, permissionId, shown } = row;
  if (reason === "permission" || reason === "check") {
    const open = session.permissions.filter((permission) => wants(permissionKind(permission)));
    const isOpen = (id: string | null) => open.find((permission) => permission.permissionId === id);
    if (reason === "check" && (isOpen(shown) !== undefined || (shown === shownAttention && needsAttention(session)))) {
      return { action: "keep" };
    }
    const asked = isOpen(permissionId) ?? open[0];
    if (asked === undefined) return over;
    return {
      action: "notify",
      kind: permissionKind(asked),
      permissionId: asked.permissionId,
      shows: asked.permissionId,
      silent: reason === "check",
      request: preferences.showRequests ? plainRequest(asked) : null,
    };
  }
  const kind = reason === "attention" ? (needsAttention(session) ? "needs_answer" : null) : endKind(reason, session);
  if (kind === null || !wants(kind)) return over;
  const shows = reason === "attention" ? shownAttention : null;
  return { action: "notify", kind, permissionId: null, shows, silent: false, request: null };
}

function permissionKind({ kind }: Pick<PendingPermission, "kind">): PushKind {
  return kind === "permission" || kind === "plan" ? "needs_permission" : "needs_answer";
}

function needsAttention({ activity }: SeenSession): boolean {
  return activity === "needs_attention" || activity === "needs_login";
}

/** Null if the agent is working again, or asks for something, which has its own notification. */
function endKind(reason: "turn" | "failed" | "limited", session: SeenSession): PushKind | null {
  const { activity, status, turnFailure, queuedPrompts } = session;
  if (status === "failed") return "failed";
  if (activity === "limited") return "limited";
  if (reason !== "turn") return null;
  const rests = activity === null || activity === "idle";
  if (!rests || (activity === "idle" && queuedPrompts > 0)) return null;
  return turnFailure === null ? "finished" : "failed";
}
