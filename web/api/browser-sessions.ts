import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { z } from "zod";
import { browserSessionSchema, signInLinkSchema } from "../../src/wire/sign-in.ts";
import { callApi, sendApi } from "./client.ts";
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
  return useMutation({
    mutationFn: (browserSessionId: string) =>
      sendApi(`/api/browser-sessions/${encodeURIComponent(browserSessionId)}`, { method: "DELETE" }),
    onSuccess: () => client.invalidateQueries({ queryKey: queryKeys.browserSessions }),
  });
}

/** Signs this browser out: its cookie goes, its key is forgotten, and so is all that was shown. */
export function useSignOut() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => sendApi("/api/sign-out", { method: "POST" }),
    onSuccess: () => {
      forgetKey();
      client.clear();
    },
  });
}

/** Makes a link for another browser. */
export function useCreateSignInLink() {
  return useMutation({
    mutationFn: () => callApi("/api/sign-in-links", signInLinkSchema, { method: "POST" }),
    gcTime: 0,
  });
}
