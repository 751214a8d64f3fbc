import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useSyncExternalStore } from "react";
import { useNavigate } from "react-router";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import { useSessionEvents } from "../api/live-events.ts";
import { queryKeys } from "../api/query.ts";
import { noFilters, useLiveSessions } from "../api/sessions.ts";
import { notifiedAccount } from "../push/notified-account.ts";
import { onPageTitle, pageTitle } from "../ui/page.tsx";
import { needsYou, noteworthy, sessionTitle } from "../ui/session-state.ts";
import { preferences } from "./preferences.ts";

/** Shows how many sessions need the user in the title and on the app icon, and sends notifications if allowed. */
export function useAttention(enabled: boolean): void {
  const waiting = useLiveSessions(noFilters, { enabled }).data?.filter(needsYou).length ?? 0;
  const title = useSyncExternalStore(onPageTitle, pageTitle);
  useEffect(() => {
    const named = title === "" ? "Postern" : `${title} · Postern`;
    document.title = waiting === 0 ? named : `(${waiting}) ${named}`;
  }, [waiting, title]);
  useEffect(() => {
    if (!enabled || !("setAppBadge" in navigator)) return;
    // Fails if the page is not installed and has no icon.
    void (waiting === 0 ? navigator.clearAppBadge() : navigator.setAppBadge(waiting)).catch(() => undefined);
  }, [waiting, enabled]);

  const client = useQueryClient();
  const navigate = useNavigate();
  useSessionEvents(
    useCallback(
      (event: SessionEvent) => {
        const words = noteworthy(event);
        if (words === null || document.visibilityState === "visible") return;
        if (!preferences().notifications || notifiedAccount() !== null) return;
        const known = client.getQueryData<readonly SessionSummary[]>([...queryKeys.sessionLists, "live", noFilters]);
        const session = known?.find(({ sessionId }) => sessionId === event.sessionId);
        notify(words, {
          body: session === undefined ? event.dir : sessionTitle(session),
          tag: event.sessionId,
          onClick: () => void navigate(`/sessions/${encodeURIComponent(event.sessionId)}`),
        });
      },
      [client, navigate],
    ),
  );
}

/** Shows a system notification. @returns false if the browser cannot */
export function notify(
  title: string,
  { body, tag, onClick }: { readonly body: string; readonly tag: string; readonly onClick: () => void },
): boolean {
  if (!("Notification" in window) || Notification.permission !== "granted") return false;
  try {
    const notification = new Notification(title, { body, tag, icon: "/icon-192.png" });
    notification.addEventListener("click", () => {
      window.focus();
      onClick();
      notification.close();
    });
    return true;
  } catch {
    return false; // phones show notifications of a service worker only
  }
}
