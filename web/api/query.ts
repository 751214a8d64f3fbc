import {
  QueryClient,
  type QueryKey,
  type UseMutationOptions,
  type UseMutationResult,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useRef } from "react";
import { ApiError } from "./api-error.ts";
import { sendApi } from "./client.ts";

/** Names of what the cache holds. A session's own things begin with {@link queryKeys.session}. */
export const queryKeys = {
  me: ["me"],
  /** Everything that lists sessions. */
  sessionLists: ["sessions"],
  session: (sessionId: string) => ["session", sessionId],
  sessionDirs: ["session-dirs"],
  agents: ["agents"],
  /** Begins with the one above: what changes the one changes the other. */
  agentSetups: ["agents", "setup"],
  folders: ["folders"],
  tokens: ["tokens"],
  browserSessions: ["browser-sessions"],
  passkeys: ["passkeys"],
  apps: ["apps"],
  clients: ["clients"],
  accounts: ["accounts"],
  audit: ["audit"],
  /** Everything that is remembered. */
  memory: ["memory"],
  branches: (dir: string) => ["branches", dir],
  completion: (path: string) => ["completion", path],
} as const;

/** What a person does on a page, by a request. While one is under way a second press does nothing: a double-click acts once. */
export function useAct<Answer, Given = void>(
  options: UseMutationOptions<Answer, Error, Given>,
): UseMutationResult<Answer, Error, Given> {
  const running = useRef(false);
  const { mutationFn } = options;
  const act = useMutation<Answer, Error, Given>({
    ...options,
    ...(mutationFn === undefined
      ? {}
      : {
          mutationFn: async (given, context) => {
            try {
              return await mutationFn(given, context);
            } finally {
              running.current = false;
            }
          },
        }),
  });
  const { mutate: begin } = act;
  const mutate: typeof begin = useCallback(
    (...given) => {
      if (running.current) return;
      running.current = true;
      begin(...given);
    },
    [begin],
  );
  return { ...act, mutate };
}

/** Deletes `<path>/<id>`; then what the cache holds under `keys` is read again. */
export function useRemove(path: string, ...keys: readonly QueryKey[]) {
  const client = useQueryClient();
  const refresh = () => Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
  return useAct({
    mutationFn: (id: string) => sendApi(`${path}/${encodeURIComponent(id)}`, { method: "DELETE" }),
    onSuccess: refresh,
    // It may have been gone already. Not waited for: reading is tried until the gateway is back, and would hold back the error.
    onError: () => void refresh(),
  });
}

const maxRetries = 2;
const firstRetryMs = 1_000;
/** A gateway that restarts is back within seconds. */
const maxRetryMs = 5_000;

/** The cache of what pages read, and how their requests are made. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // A gateway on this machine answers without a network, so the browser's own idea of being offline says nothing.
      queries: { networkMode: "always", retry: shouldRetry, retryDelay, staleTime: 5_000 },
      // What a person does fails at once or happens at once. It never waits to happen later, when the situation may be another.
      mutations: { networkMode: "always", retry: false },
    },
  });
}

/**
 * Whether to read again. What the gateway refuses it refuses again. While it cannot be reached, reading is tried until it can; the note
 * about the connection says so meanwhile.
 */
function shouldRetry(failures: number, error: Error): boolean {
  if (!(error instanceof ApiError)) return failures < maxRetries;
  return error.code === "unreachable" || (failures < maxRetries && error.status >= 500);
}

function retryDelay(failures: number): number {
  return Math.min(firstRetryMs * 2 ** failures, maxRetryMs);
}
