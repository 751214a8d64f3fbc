import { useQuery, useQueryClient } from "@tanstack/react-query";
import { z } from "zod";
import { browserSessionSchema, signInLinkSchema } from "../../src/wire/sign-in.ts";
import { useAct } from "./act.ts";
import { callApi, sendApi, whenSignedOut } from "./client.ts";
import { forgetKey } from "./key.ts";
import { queryKeys } from "./query-keys.ts";

const browserSessionsSchema = z.object({ browserSessions: z.array(browserSessionSchema) });

/** The account's signed-in browsers. */
export function useBrowserSessions() {
  return useQuery({
    queryKey: queryKeys.browserSessions,
    queryFn: async ({ signal }) =>
      (await callApi("/api/browser-sessions", browserSessionsSchema, { signal })).browserSessions,
  });
}

/** Signs another browser out. */
export function useRevokeBrowserSession() {
  const client = useQueryClient();
  return useAct({
    mutationFn: (browserSessionId: string) =>
      sendApi(`/api/browser-sessions/${encodeURIComponent(browserSessionId)}`, { method: "DELETE" }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.browserSessions }),
  });
}

/** Signs this browser out: its cookie goes, and its key is forgotten. The sign-in page forgets all that was shown. */
export function useSignOut() {
  return useAct({
    mutationFn: () => sendApi("/api/sign-out", { method: "POST" }),
    onSuccess: () => {
      // Whoever signs out leaves: what is still asked for is refused, and is no reason to come back here.
      whenSignedOut(() => undefined);
      forgetKey();
    },
  });
}

/** Makes a link for another browser. */
export function useCreateSignInLink() {
  return useAct({
    mutationFn: () => callApi("/api/sign-in-links", signInLinkSchema, { method: "POST" }),
    gcTime: 0,
  });
}
