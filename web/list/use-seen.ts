import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { seenSchema } from "../../src/wire/session-notes.ts";
import { messageOf } from "../api/api-error.ts";
import { acting } from "../api/client.ts";
import { queryKeys } from "../api/query.ts";
import { showToast } from "./toasts.tsx";

/** While an agent works, its session changes all the time. */
const minIntervalMs = 5_000;

/** Marks the open session as read, now and when it changes, while the page is visible. */
export function useSeen({
  sessionId,
  unread,
  updatedAt,
}: Pick<SessionSummary, "sessionId" | "unread" | "updatedAt">): void {
  const client = useQueryClient();
  const lastMs = useRef(Number.NEGATIVE_INFINITY);
  const failed = useRef(false);
  const markedAt = useRef<string | null>(null);
  useEffect(() => {
    if (!unread || markedAt.current === updatedAt) return;
    const see = async (): Promise<void> => {
      if (document.visibilityState !== "visible") return;
      lastMs.current = performance.now();
      try {
        await acting.seeSession({ sessionId }, { output: seenSchema });
        failed.current = false;
        markedAt.current = updatedAt;
        void client.invalidateQueries({ queryKey: queryKeys.sessionLists });
      } catch (error) {
        // Tried once; the next change tries again.
        if (!failed.current)
          showToast({ tone: "danger", text: `Cannot mark this session as read: ${messageOf(error)}` });
        failed.current = true;
      }
    };
    const timer = setTimeout(() => void see(), Math.max(0, lastMs.current + minIntervalMs - performance.now()));
    const onVisible = (): void => void see();
    document.addEventListener("visibilitychange", onVisible);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [client, sessionId, unread, updatedAt]);
}
