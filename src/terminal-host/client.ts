import type { Clock } from "../core/clock.ts";
import { hasCode, isErrno, messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { booleanField, type Fields, isFields, objectField, textField } from "./fields.ts";
import type { HostStatus } from "./host.ts";
import { type HostConnection, openHostConnection, unavailable } from "./host-connection.ts";
import { METHODS, type Method } from "./protocol.ts";
import { createRecordingReader } from "./recording-reader.ts";
import { readExit, readInfo, readInfos, readSnapshot, readStatus } from "./replies.ts";
import { type HostOptions, startHost } from "./start-host.ts";
import type { SpawnSpec, TerminalExit, TerminalHostClient, TerminalInfo } from "./terminal-info.ts";
import { openTerminalStream } from "./terminal-stream.ts";

/** Where the host is and how to start it; limits that are not set have defaults. */
export interface TerminalHostOptions extends Partial<Omit<HostOptions, "socketPath" | "stateDir">> {
  /** Its Unix socket, at most 107 bytes, in a folder of mode 0700. */
  readonly socketPath: string;
  /** Its folder (0700), which holds lock, log, records and raw logs. Each folder has at most one host. */
  readonly stateDir: string;
  /** The node that runs it; this process's by default. */
  readonly nodePath?: string;
  readonly log: Log;
  readonly clock: Clock;
}

/** The client, with the data that `doctor` and tests read from the host. */
export interface ConnectedTerminalHost extends TerminalHostClient {
  /** The connected host, or null while there is none. */
  host(): { readonly pid: number; readonly pidStartTime: string; readonly version: string } | null;
  status(): Promise<HostStatus>;
  /** Closes, and stops a host that this client started if it has no terminal. Never throws. */
  closeUnused(): Promise<void>;
}

type ExitListener = (ended: { readonly terminalId: string; readonly exit: TerminalExit } | null) => void;

const MAX_SOCKET_PATH_BYTES = 107;
/** A host starts in a few hundred milliseconds, plus up to three seconds if it has to end the programs of a dead host. */
const START_TIMEOUT_MS = 15_000;
const START_AGAIN_MS = 4_000;
const RETRY_MS = 25;
/** Time for SIGKILL and the last output, in addition to the grace period of `end`. */
const END_EXTRA_MS = 15_000;

/**
 * Connects to the terminal host of `stateDir`, starting it when there is none. When the host dies, its terminals are lost: listeners
 * are called with null, and a new host is started immediately, which ends the dead host's programs and handles later calls.
 * @throws PosternError `terminal_host_unavailable`
 */
export async function connectTerminalHost(options: TerminalHostOptions): Promise<ConnectedTerminalHost> {
  const { socketPath, stateDir, log, clock, nodePath = process.execPath, ...settings } = options;
  if (Buffer.byteLength(socketPath) > MAX_SOCKET_PATH_BYTES) {
    throw unavailable(
      `The socket path ${socketPath} is longer than ${MAX_SOCKET_PATH_BYTES} bytes. Choose a shorter POSTERN_HOME.`,
    );
  }
  const listeners = new Set<ExitListener>();
  /** Hosts of another version that exited because they had no terminal; a host of our version replaces them. */
  const left = new WeakSet<HostConnection>();
  /** Pids of the hosts that this client started. A host that finds another one running exits immediately. */
  const started = new Set<number | undefined>();
  let connection: HostConnection | undefined;
  let connecting: Promise<HostConnection> | undefined;
  let closed = false;

  function connected(): Promise<HostConnection> {
    if (closed) return Promise.reject(unavailable("The client was closed."));
    if (connection !== undefined) return Promise.resolve(connection);
    connecting ??= reach().finally(() => {
      connecting = undefined;
    });
    return connecting;
  }

  async function reach(): Promise<HostConnection> {
    const giveUpAt = clock.now() + START_TIMEOUT_MS;
    let startAt = clock.now();
    for (;;) {
      const opened = await tryOpen();
      if (opened !== undefined && !(await retires(opened))) {
        if (closed) opened.close();
        else connection = opened;
        return opened;
      }
      const now = clock.now();
      if (closed || now >= giveUpAt)
        throw unavailable(`The terminal host does not answer. See host.log in ${stateDir}.`);
      if (now >= startAt) {
        startAt = now + START_AGAIN_MS;
        started.add(startHost(nodePath, { socketPath, stateDir, ...settings }));
      }
      await clock.sleep(RETRY_MS);
    }
  }

  /** A host of another version keeps running, with its code, until its last terminal closes. */
  async function retires(opened: HostConnection): Promise<boolean> {
    const { hostVersion, minor } = opened.hello;
    if (options.version === undefined || hostVersion === options.version || minor < METHODS.retire) return false;
    try {
      const answer = await opened.request("retire", {});
      const leaving = isFields(answer) && booleanField(answer, "leaving") === true;
      log.info({ hostVersion, leaving }, "the terminal host is of another version");
      if (leaving) opened.close();
      return leaving || left.has(opened);
    } catch (error) {
      log.warn({ error: messageOf(error) }, "the terminal host exited while it was asked to");
      opened.close();
      return true;
    }
  }

  /** A host exits only if it has no terminal, so one that has exited did not spawn this terminal. */
  async function spawn(spec: SpawnSpec): Promise<TerminalInfo> {
    const asked = await connected();
    try {
      return readInfo(await asked.request("spawn", { ...spec }));
    } catch (error) {
      if (!left.has(asked)) throw error;
      return readInfo(await (await connected()).request("spawn", { ...spec }));
    }
  }

  /** Repeats a request without side effects when the host died during it. */
  async function ask(method: Method, params: Fields): Promise<unknown> {
    const asked = await connected();
    try {
      return await asked.request(method, params);
    } catch (error) {
      if (!hasCode(error, "terminal_host_unavailable") || connection === asked) throw error;
      return (await connected()).request(method, params);
    }
  }

  async function tryOpen(): Promise<HostConnection | undefined> {
    let opened: HostConnection | undefined;
    let isLost = false;
    try {
      opened = await openHostConnection(
        { socketPath, clock, role: "control" },
        {
          onMessage: (message) => onMessage(opened, message),
          onOutput: () => undefined,
          onClose() {
            isLost = true;
            if (opened !== undefined && opened === connection) onClose();
          },
        },
      );
      return isLost ? undefined : opened;
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined;
      if (isErrno(cause, "ENOENT", "ECONNREFUSED", "ECONNRESET", "EPIPE")) return undefined; // no host, or one that is exiting
      throw error;
    }
  }

  function onMessage(from: HostConnection | undefined, message: Fields): void {
    if (from !== undefined && textField(message, "type") === "leaving") return onLeaving(from);
    const terminalId = textField(message, "terminalId");
    const exit = objectField(message, "exit");
    if (textField(message, "type") !== "exit" || terminalId === undefined || exit === undefined) return;
    notify({ terminalId, exit: readExit(exit) });
  }

  /** The host is exiting, but still answers earlier requests. */
  function onLeaving(from: HostConnection): void {
    left.add(from);
    const isOurs = connection === from;
    if (isOurs) connection = undefined;
    from.closeWhenAnswered();
    if (!isOurs) return;
    log.info({ socketPath }, "a terminal host of another version exits; starting ours");
    reconnect();
  }

  function onClose(): void {
    connection = undefined;
    if (closed) return;
    log.warn({ socketPath }, "the terminal host exited; starting another");
    notify(null);
    reconnect();
  }

  function reconnect(): void {
    connected().catch((error: unknown) => log.error({ error: messageOf(error) }, "cannot start a terminal host"));
  }

  function notify(ended: Parameters<ExitListener>[0]): void {
    for (const listener of listeners) {
      try {
        listener(ended);
      } catch (error) {
        log.error({ error: messageOf(error) }, "a listener for terminal exits failed");
      }
    }
  }

  async function close(): Promise<void> {
    closed = true;
    connection?.close();
    connection = undefined;
    listeners.clear();
  }

  /** Another gateway may be using the host. When that gateway is notified of the exit, it starts its own host. */
  async function closeUnused(): Promise<void> {
    const host = connection;
    connection = undefined; // so that its end does not count as a loss
    await close();
    if (host === undefined) return;
    try {
      const mayLeave = started.has(host.hello.pid) && readInfos(await host.request("list", {})).length === 0;
      if (mayLeave) await host.request("retire", {});
    } catch (error) {
      log.warn({ error: messageOf(error) }, "an unused terminal host was not stopped");
    } finally {
      host.close();
    }
  }

  await connected();
  return {
    spawn,
    list: async () => readInfos(await ask("list", {})),
    async write(terminalId, data) {
      await (connection ?? (await connected())).input({ terminalId, data: bytesOf(data) });
    },
    async writeIfUnchanged(terminalId, data, { offset }) {
      return (connection ?? (await connected())).input({ terminalId, data: bytesOf(data), ifOutputEndsAt: offset });
    },
    async resize(terminalId, size) {
      await (await connected()).request("resize", { terminalId, ...size });
    },
    snapshot: async (terminalId) => readSnapshot(await ask("snapshot", { terminalId })),
    look: async (terminalId) => readSnapshot(await ask("snapshot", { terminalId, plain: true })),
    async end(terminalId, { graceMs = 5_000 } = {}) {
      return readExit(await (await connected()).request("end", { terminalId, graceMs }, graceMs + END_EXTRA_MS));
    },
    async renameLease(terminalId, leaseKey) {
      await (await connected()).request("renameLease", { terminalId, leaseKey });
    },
    async release(terminalId) {
      const host = await connected();
      const method = host.hello.minor < METHODS.release ? "forget" : "release"; // an older host keeps no recordings
      await host.request(method, { terminalId });
    },
    async forget(terminalId) {
      await (await connected()).request("forget", { terminalId });
    },
    recording: createRecordingReader(stateDir, clock),
    async attach(terminalId, { from } = {}) {
      await connected();
      return openTerminalStream({ socketPath, clock }, { terminalId, from });
    },
    onExit(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    host() {
      if (connection === undefined) return null;
      const { pid, pidStartTime, hostVersion } = connection.hello;
      return { pid, pidStartTime, version: hostVersion };
    },
    status: async () => readStatus(await ask("status", {})),
    close,
    closeUnused,
  };
}

function bytesOf(data: string | Uint8Array): Uint8Array {
  return typeof data === "string" ? Buffer.from(data) : data;
}

/**
 * Asks the host behind `socketPath` for its status, without starting one.
 * @returns null when none runs
 * @throws PosternError `terminal_host_unavailable` when a host runs and cannot be used
 */
export async function probeTerminalHost(socketPath: string, clock: Clock) {
  const ignore = (): void => undefined;
  const events = { onMessage: ignore, onOutput: ignore, onClose: ignore };
  try {
    const connection = await openHostConnection({ socketPath, clock, role: "control" }, events);
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
