import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "./api-error.ts";

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
      // What a person does fails at once or happens at once. It never waits to happen later, in a situation that nobody has seen.
      mutations: { networkMode: "always", retry: false },
    },
  });
}

/**
 * Whether to read again. What the gateway refuses it refuses again. While it cannot be reached, reading is tried until it can; the note
 * about the connection says so meanwhile.
 */
export function shouldRetry(failures: number, error: Error): boolean {
  if (!(error instanceof ApiError)) return failures < maxRetries;
  return error.code === "unreachable" || (failures < maxRetries && error.status >= 500);
}

function retryDelay(failures: number): number {
  return Math.min(firstRetryMs * 2 ** failures, maxRetryMs);
}
