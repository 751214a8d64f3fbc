import type { PushKind, PushMessage } from "../../src/wire/push.ts";
import { agentName } from "../ui/session-state.ts";

/** A notification, as the browser shows it. */
export interface ShownNotification {
  readonly title: string;
  readonly options: {
    readonly body: string;
    /** Replaces the one with the same tag. */
    readonly tag: string;
    readonly silent: boolean;
    readonly renotify: boolean;
    readonly icon: string;
    readonly data: NotificationData;
    readonly actions: readonly { readonly action: string; readonly title: string }[];
  };
}

/** The data that a click on a notification needs. */
export interface NotificationData {
  readonly path: string;
  readonly tag: string;
  /** Single-use tokens. */
  readonly tokens: { readonly allow: string; readonly deny: string } | null;
}

const icon = "/icon-192.png";

/** Null for a message of a newer gateway that this worker does not know. */
export function notificationOf(message: PushMessage): ShownNotification | null {
  switch (message.type) {
    case "test":
      return plain({
        title: "Notifications work",
        body: "You are notified here when an agent needs you.",
        tag: "test",
      });
    case "summary":
      return plain({ title: "During quiet hours", body: summaryWords(message.counts), tag: "summary" });
    case "withdraw":
      return {
        ...plain({ title: "Answered", body: "No longer needs an answer.", tag: tagOf(message.sessionId) }, true),
      };
    case "notice":
      return ofSession(message);
    default:
      return null;
  }
}

/** The tag of a session's notification: there is one for each session. */
export function tagOf(sessionId: string): string {
  return `session ${sessionId}`;
}

/** The result of an action, which replaces its notification. */
export function resultOf(data: NotificationData, title: string, body: string): ShownNotification {
  const shown = plain({ title, body, tag: data.tag }, true);
  return { ...shown, options: { ...shown.options, data: { ...data, tokens: null } } };
}

function plain(
  { title, body, tag }: { readonly title: string; readonly body: string; readonly tag: string },
  silent = false,
): ShownNotification {
  const data = { path: "/", tag, tokens: null };
  return { title, options: { body, tag, silent, renotify: !silent, icon, data, actions: [] } };
}

function ofSession(notice: Extract<PushMessage, { readonly type: "notice" }>): ShownNotification {
  const { kind, sessionId, permissionId, silent = false, agent, title = "", request, actions } = notice;
  const who = agent === undefined ? "An agent" : agentName(agent);
  const hash = permissionId === null ? "" : `#permission-${encodeURIComponent(permissionId)}`;
  const path = `/sessions/${encodeURIComponent(sessionId)}${hash}`;
  const tag = tagOf(sessionId);
  // With actions, the text is only the request.
  const body = request?.text ?? (title === "" ? "Open the session to see more." : title);
  return {
    title: request === undefined ? `${who} ${does[kind]}` : `${who} asks to use ${request.tool}`,
    options: {
      ...{ body, tag, silent, renotify: !silent, icon },
      data: { path, tag, tokens: actions ?? null },
      actions:
        actions === undefined
          ? []
          : [
              { action: "allow", title: "Allow" },
              { action: "deny", title: "Deny" },
            ],
    },
  };
}

const does: Readonly<Record<PushKind, string>> = {
  needs_permission: "asks for permission",
  needs_answer: "needs an answer",
  finished: "has finished",
  failed: "has failed",
  limited: "has reached its usage limit",
};

const counted: Readonly<Record<PushKind, readonly [one: string, more: string]>> = {
  needs_permission: ["asks for permission", "ask for permission"],
  needs_answer: ["needs an answer", "need an answer"],
  finished: ["has finished", "have finished"],
  failed: ["has failed", "have failed"],
  limited: ["has reached a usage limit", "have reached a usage limit"],
};

function summaryWords(counts: Readonly<Partial<Record<PushKind, number>>>): string {
  const kinds = ["needs_permission", "needs_answer", "finished", "failed", "limited"] as const;
  const parts = kinds.flatMap((kind) => {
    const count = counts[kind] ?? 0;
    const [one, more] = counted[kind];
    return count === 0 ? [] : [`${count} ${count === 1 ? one : more}`];
  });
  return `Agents: ${parts.join(", ")}.`;
}
