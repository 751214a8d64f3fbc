import { once } from "node:events";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { dirname } from "node:path";
import { type HookDecision, parseTaken, parseWanted } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import { watchSocket } from "../core/socket-watch.ts";

/**
 * Serves the hooks of live agents, which wait for a permission decision, over a Unix socket.
 *
 * Any process of the same user, including an agent's children, can connect, so nothing that arrives is trusted. The socket only passes
 * decisions on: a hook sends the hash of its line in the inbox and waits. Nothing sent to the socket can make a decision, and
 * the hash binds a decision to the bytes that the person saw.
 */
export interface PermissionHooks {
  /** The socket that hooks connect to. */
  readonly socketPath: string;
  /** A permission is open: hooks that ask for it wait. `onChange` is called when the first hook connects and when the last one leaves. */
  expect(permissionId: string, onChange: () => void): void;
  isWaiting(permissionId: string): boolean;
  /** Sends the decision to the waiting hooks. Resolves with whether one of them confirmed that it passed the decision on. */
  decide(permissionId: string, decision: HookDecision): Promise<boolean>;
  /**
   * No decision will come from here: hooks that wait or connect later give no decision, and the agent shows its own dialog. A decision that
   * was already sent stands.
   */
  forget(permissionId: string): void;
  /** Waiting hooks retry for a while, in case another gateway starts. */
  close(): Promise<void>;
}

const maxConnections = 256;
// Each question has one hook. Additional connections only receive the same answer.
const maxForOne = 4;
// A question shows up in the inbox before its hook asks, and is read within a second.
const unexpectedMs = 10_000;
const maxUnexpected = 64;
const sayWithinMs = 2_000;
const takenWithinMs = 3_000;
const maxForgotten = 1_000;

/** Listens for hooks. @throws the system's error when the socket cannot be made */
export async function openPermissionHooks(deps: {
  readonly socketPath: string;
  readonly clock: Clock;
  readonly log: Log;
}): Promise<PermissionHooks> {
  const { socketPath, clock, log } = deps;
  const expected = new Map<string, () => void>();
  const waiting = new Map<string, Set<Socket>>();
  /** Connections whose permission is not known yet, oldest first, each with the function that ends its wait. */
  const unexpected = new Map<Socket, () => void>();
  const forgotten = new Set<string>();
  /** Connections that were sent a decision: they are closed when they have confirmed it, or time is up. */
  const decided = new WeakSet<Socket>();
  const all = new Set<Socket>();

  async function open(): Promise<Server> {
    const opened = createServer((socket) => serve(socket));
    opened.maxConnections = maxConnections;
    opened.on("error", (error) => log.warn({ error: messageOf(error) }, "the socket of the permission hooks failed"));
    await listen(opened, socketPath);
    return opened;
  }
  // This gateway holds the folder's lock, so an existing socket belongs to a gateway that is gone.
  rmSync(socketPath, { force: true });
  let server = await open();
  const stopWatching = watchSocket(socketPath, {
    clock,
    log,
    async listen() {
      server.close(); // closed now: later it would remove the new socket at the same path. Waiting hooks stay connected.
      server = await open();
    },
  });

  function serve(socket: Socket): void {
    all.add(socket);
    const cancelSilence = clock.after(sayWithinMs, () => socket.destroy());
    let permissionId: string | null = null;
    socket.on("error", () => socket.destroy()); // the hook is gone; `close` follows
    socket.once("close", () => {
      cancelSilence();
      all.delete(socket);
      unexpected.get(socket)?.();
      unexpected.delete(socket);
      if (permissionId !== null) leave(permissionId, socket);
    });
    readFirstLine(socket, (line) => {
      cancelSilence();
      permissionId = parseWanted(line);
      if (permissionId === null) socket.destroy();
      else enter(permissionId, socket);
    });
  }

  function enter(permissionId: string, socket: Socket): void {
    const others = waiting.get(permissionId) ?? new Set();
    if (forgotten.has(permissionId)) return dismiss(socket);
    if (others.size >= maxForOne) return void socket.destroy();
    waiting.set(permissionId, others.add(socket));
    if (expected.has(permissionId)) return expected.get(permissionId)?.();
    for (const oldest of unexpected.keys()) {
      if (unexpected.size < maxUnexpected) break;
      dismiss(oldest);
      unexpected.get(oldest)?.();
      unexpected.delete(oldest);
    }
    unexpected.set(
      socket,
      clock.after(unexpectedMs, () => dismiss(socket)),
    );
  }

  function leave(permissionId: string, socket: Socket): void {
    const others = waiting.get(permissionId);
    if (others?.delete(socket) !== true || others.size > 0) return;
    waiting.delete(permissionId);
    expected.get(permissionId)?.();
  }

  return {
    socketPath,
    expect(permissionId, onChange) {
      expected.set(permissionId, onChange);
      const there = waiting.get(permissionId);
      if (there === undefined) return;
      for (const socket of there) {
        unexpected.get(socket)?.();
        unexpected.delete(socket);
      }
      onChange();
    },
    isWaiting: (permissionId) => waiting.has(permissionId),
    decide(permissionId, decision) {
      const sockets = [...(waiting.get(permissionId) ?? [])];
      for (const socket of sockets) decided.add(socket);
      return firstTrue(sockets.map((socket) => send(socket, decision, clock)));
    },
    forget(permissionId) {
      expected.delete(permissionId);
      forgotten.add(permissionId);
      for (const oldest of forgotten) {
        if (forgotten.size <= maxForgotten) break;
        forgotten.delete(oldest);
      }
      // An agent may report that its question was answered before its hook confirms our decision.
      for (const socket of waiting.get(permissionId) ?? []) if (!decided.has(socket)) dismiss(socket);
    },
    async close() {
      await stopWatching();
      const closed = server.listening ? once(server, "close") : Promise.resolve();
      server.close();
      for (const socket of all) socket.destroy();
      await closed;
    },
  };
}

async function listen(server: Server, socketPath: string): Promise<void> {
  mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 });
  const umaskBefore = process.umask(0o177); // so that no other user can connect, not even for a moment
  server.listen(socketPath); // binds before it returns
  process.umask(umaskBefore);
  await once(server, "listening");
  chmodSync(socketPath, 0o600);
}

const maxLineLength = 4_096;

/** Passes on the first line. Everything after it is dropped; a connection that never ends the line is closed. */
function readFirstLine(socket: Socket, onLine: (line: string) => void): void {
  let text = "";
  socket.setEncoding("utf8");
  const onData = (chunk: string): void => {
    text += chunk;
    const end = text.indexOf("\n");
    if (end === -1 && text.length <= maxLineLength) return;
    socket.off("data", onData);
    if (end === -1) socket.destroy();
    else onLine(text.slice(0, end));
    socket.resume(); // otherwise its close is not reported
  };
  socket.on("data", onData);
}

/** The hook gives no decision. */
function dismiss(socket: Socket): void {
  socket.end(`${JSON.stringify({ decision: null })}\n`);
}

/** Resolves with true as soon as one of the answers does; with false if none does. */
function firstTrue(answers: readonly Promise<boolean>[]): Promise<boolean> {
  const trueOnes = answers.map((answer) =>
    answer.then((yes) => (yes ? true : Promise.reject(new Error("not this one")))),
  );
  return Promise.any(trueOnes).catch(() => false); // none of them
}

/** @returns whether the hook confirmed that it passed the decision on */
function send(socket: Socket, decision: HookDecision, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (taken: boolean): void => {
      cancel();
      resolve(taken);
      socket.destroy();
    };
    const cancel = clock.after(takenWithinMs, () => finish(false));
    socket.once("close", () => finish(false));
    readFirstLine(socket, (line) => finish(parseTaken(line)));
    socket.write(`${JSON.stringify(decision)}\n`);
  });
}
