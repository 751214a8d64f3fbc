import {
  QueryClient,
  type QueryKey,
  type UseMutationOptions,
  type UseMutationResult,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useRef } from "react";
import { PosternClientError } from "../../src/client/index.ts";

/** Query keys. The keys of a session begin with {@link queryKeys.session}. */
export const queryKeys = {
  me: ["me"],
  sessionLists: ["sessions"],
  session: (sessionId: string) => ["session", sessionId],
  sessionDirs: ["session-dirs"],
  labels: ["labels"],
  agents: ["agents"],
  /** Begins with `agents`, so that both queries are invalidated together. */
  agentSetups: ["agents", "setup"],
  folders: ["folders"],
  tokens: ["tokens"],
  browserSessions: ["browser-sessions"],
  passkeys: ["passkeys"],
  pushSubscriptions: ["push", "subscriptions"],
  pushPreferences: ["push", "preferences"],
  apps: ["apps"],
  clients: ["clients"],
  accounts: ["accounts"],
  audit: ["audit"],
  permissionRules: ["permission-rules"],
  memory: ["memory"],
  branches: (dir: string) => ["branches", dir],
  gitStatus: (sessionId: string) => ["git-status", sessionId],
  pullRequest: (sessionId: string) => ["pull-request", sessionId],
  completion: (path: string) => ["completion", path],
} as const;

/** A mutation that ignores further calls while one is pending: a double-click acts once. */
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

/** Reads from the API with `read`. */
export function useRead<Answer>(
  queryKey: QueryKey,
  read: (call: { readonly signal: AbortSignal }) => Promise<Answer>,
  options: { readonly enabled?: boolean; readonly staleTime?: number; readonly retry?: boolean } = {},
) {
  return useQuery({ ...options, queryKey, queryFn: ({ signal }) => read({ signal }) });
}

/** A mutation that invalidates `queryKey` on success. `gcTime: 0` keeps a secret in the response out of the cache. */
export function useChange<Answer, Given = void>(
  queryKey: QueryKey,
  mutationFn: (given: Given) => Promise<Answer>,
  options: { readonly gcTime?: number } = {},
) {
  const client = useQueryClient();
  return useAct({ ...options, mutationFn, onSuccess: () => client.invalidateQueries({ queryKey }) });
}

/** Removes something by its id, then invalidates `keys`. */
export function useRemove(remove: (id: string) => Promise<unknown>, ...keys: readonly QueryKey[]) {
  const client = useQueryClient();
  const refresh = () => Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
  return useAct({
    mutationFn: remove,
    onSuccess: refresh,
    // It may already be gone. Not awaited: reads retry until the gateway is back, and would delay the error.
    onError: () => void refresh(),
  });
}

const maxRetries = 2;
const firstRetryMs = 1_000;
/** A gateway restarts within seconds. */
const maxRetryMs = 5_000;

export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      // A local gateway answers without a network, so the browser's offline state is irrelevant.
      queries: { networkMode: "always", retry: shouldRetry, retryDelay, staleTime: 5_000 },
      // A mutation is never postponed, because the situation may have changed by then.
      mutations: { networkMode: "always", retry: false },
    },
  });
}

/** Refusals are final. While the gateway is unreachable, reads retry without end, and the connection note is shown. */
function shouldRetry(failures: number, error: Error): boolean {
  if (!(error instanceof PosternClientError)) return failures < maxRetries;
  return error.status === 0 || (failures < maxRetries && error.status >= 500);
}

function retryDelay(failures: number): number {
  return Math.min(firstRetryMs * 2 ** failures, maxRetryMs);
}
