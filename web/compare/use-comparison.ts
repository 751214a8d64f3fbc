import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import { type ComparisonRead, comparisonReadSchema } from "../../src/wire/comparisons.ts";
import type { SessionEvent } from "../../src/wire/events.ts";
import { reading } from "../api/client.ts";
import { useSessionEvents } from "../api/live-events.ts";

/** Each read compares files and reads transcripts. */
const refreshMs = 1_500;

export function comparisonKey(comparisonId: string) {
  return ["comparison", comparisonId];
}

/** A comparison, read again after events of its sessions. */
export function useComparison(comparisonId: string) {
  const client = useQueryClient();
  const query = useQuery({
    queryKey: comparisonKey(comparisonId),
    queryFn: ({ signal }) => reading.getComparison({ comparisonId }, { signal, output: comparisonReadSchema }),
  });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const listener = useCallback(
    ({ sessionId }: SessionEvent): void => {
      const sessions = client.getQueryData<ComparisonRead>(comparisonKey(comparisonId))?.sessions ?? [];
      // A session that continues another one is not known yet.
      const isOurs = sessions.some((session) => session.sessionId === sessionId || session.activity === "starting");
      if (!isOurs || timer.current !== undefined) return;
      timer.current = setTimeout(() => {
        timer.current = undefined;
        void client.invalidateQueries({ queryKey: comparisonKey(comparisonId) });
      }, refreshMs);
    },
    [client, comparisonId],
  );
  useSessionEvents(listener);
  return query;
}
