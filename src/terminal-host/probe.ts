import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import type { HostStatus } from "./host.ts";
import { openHostConnection } from "./host-connection.ts";
import { readStatus } from "./replies.ts";

/** A host that answered. */
export interface ProbedHost {
  readonly pid: number;
  readonly pidStartTime: string;
  readonly version: string;
  readonly status: HostStatus;
}

/**
 * Asks the host behind `socketPath` how it is, and starts none.
 * @returns null when none is there
 * @throws PosternError `terminal_host_unavailable` when one is there and cannot be used
 */
export async function probeTerminalHost(socketPath: string, clock: Clock): Promise<ProbedHost | null> {
  const nothing = (): void => undefined;
  try {
    const connection = await openHostConnection(
      { socketPath, clock, role: "control" },
      { onMessage: nothing, onOutput: nothing, onClose: nothing },
    );
    try {
      const { pid, pidStartTime, hostVersion: version } = connection.hello;
      return { pid, pidStartTime, version, status: readStatus(await connection.request("status", {})) };
    } finally {
      connection.close();
    }
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined;
    if (isErrno(cause, "ENOENT", "ENOTDIR", "ECONNREFUSED", "ECONNRESET", "EPIPE")) return null;
    throw error;
  }
}
