import { connect, type Socket } from "node:net";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { booleanField, type Fields, isFields, numberField, objectField, parseFields, textField } from "./fields.ts";
import {
  CONDITIONAL_INPUT_MINOR,
  createFrameReader,
  FRAME,
  type Frame,
  type HostHello,
  type Input,
  inputFrame,
  jsonFrame,
  MAX_FRAME_TO_CLIENT,
  METHODS,
  type Method,
  PROTOCOL_MAJOR,
  PROTOCOL_MINOR,
} from "./protocol.ts";
import type { TerminalHostErrorCode } from "./terminal-info.ts";

/** A connection to a host after both hellos, from the gateway's side. */
export interface HostConnection {
  readonly hello: HostHello;
  readonly socket: Socket;
  /** @throws PosternError the host's error, or `terminal_host_unavailable` */
  request(method: Method, params: Fields, timeoutMs?: number): Promise<unknown>;
  /** Older hosts ignore the input's condition. @returns false if the condition did not hold and nothing was written */
  input(input: Input): Promise<boolean>;
  close(): void;
  /** Closes once all requests are answered. */
  closeWhenAnswered(): void;
}

/** Messages other than replies. */
interface HostConnectionEvents {
  onMessage(message: Fields): void;
  onOutput(data: Buffer): void;
  onClose(): void;
}

const HELLO_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the host's own limit for a program that does not read. */
const INPUT_TIMEOUT_MS = 90_000;
/** A host that reads nothing is treated as gone. */
const MAX_UNSENT_BYTES = 16 * 1024 * 1024;

export const GONE = "The terminal host is not running.";
const MALFORMED = "The terminal host sent a malformed message.";
/** Request ids are 32 bits on the wire. */
const MAX_ID = 0xffff_ffff;

interface Waiting {
  resolve(result: unknown): void;
  reject(error: Error): void;
  readonly dueAt: number;
}

/** A single timer checks all requests, so that a keystroke does not need its own. */
const OVERDUE_CHECK_MS = 250;

/**
 * Connects and sends a hello.
 * @throws PosternError `terminal_host_unavailable` when the host has another protocol or does not answer; with the socket's error as its
 *   cause when there is no host
 */
export async function openHostConnection(
  {
    socketPath,
    role,
    clock,
  }: { readonly socketPath: string; readonly role: "control" | "attach"; readonly clock: Clock },
  events: HostConnectionEvents,
): Promise<HostConnection> {
  const waiting = new Map<number, Waiting>();
  const greeted = Promise.withResolvers<HostHello>();
  let nextId = 1;
  let open = false;
  let watching = false;
  let closing = false;
  const socket = connect(socketPath);
  const reader = createFrameReader(MAX_FRAME_TO_CLIENT, onFrame);
  const cancelHelloTimer = clock.after(HELLO_TIMEOUT_MS, () => lose(unavailable("The terminal host does not answer.")));
  socket.on("connect", () => {
    socket.write(jsonFrame({ type: "hello", majors: [PROTOCOL_MAJOR, PROTOCOL_MAJOR], minor: PROTOCOL_MINOR, role }));
  });
  socket.on("data", (chunk: Buffer) => {
    if (!socket.destroyed && !reader.push(chunk)) lose(unavailable(MALFORMED));
  });
  socket.on("error", (error) => lose(unavailable(`Cannot reach the terminal host at ${socketPath}.`, error)));
  socket.on("close", () => lose(unavailable("The terminal host closed the connection.")));

  function onFrame({ kind, body }: Frame): void {
    if (kind === FRAME.output) {
      events.onOutput(body);
      return;
    }
    const message = parseFields(body.toString("utf8"));
    const type = message === undefined ? undefined : textField(message, "type");
    if (message === undefined || type === undefined) lose(unavailable(MALFORMED));
    else if (type === "hello") onHello(message);
    else if (type === "refused") lose(unavailable(refusal(message)));
    else if (type === "reply") onReply(message);
    else onEvent(message);
  }

  function onEvent(message: Fields): void {
    try {
      events.onMessage(message);
    } catch (error) {
      lose(unavailable(MALFORMED, error));
    }
  }

  function onHello(message: Fields): void {
    cancelHelloTimer();
    open = true;
    greeted.resolve({
      type: "hello",
      major: numberField(message, "major") ?? PROTOCOL_MAJOR,
      minor: numberField(message, "minor") ?? 0,
      hostVersion: textField(message, "hostVersion") ?? "unknown",
      pid: numberField(message, "pid") ?? 0,
      pidStartTime: textField(message, "pidStartTime") ?? "",
    });
  }

  function onReply(message: Fields): void {
    const id = numberField(message, "id") ?? 0;
    const one = waiting.get(id);
    waiting.delete(id);
    if (one === undefined) return; // timed out
    if (message["ok"] === true) one.resolve(message["result"]);
    else one.reject(replyError(objectField(message, "error") ?? {}));
    if (closing) closeWhenAnswered();
  }

  function closeWhenAnswered(): void {
    closing = true;
    if (waiting.size === 0) lose(unavailable("The connection was closed."));
  }

  function lose(error: Error): void {
    cancelHelloTimer();
    greeted.reject(error);
    socket.destroy();
    const failed = [...waiting.values()];
    waiting.clear();
    for (const one of failed) one.reject(unavailable(GONE, error));
    if (!open) return;
    open = false;
    events.onClose();
  }

  function ask(frame: (id: number) => Buffer, timeoutMs: number): Promise<unknown> {
    if (!open) return Promise.reject(unavailable(GONE));
    if (socket.writableLength > MAX_UNSENT_BYTES)
      return Promise.reject(unavailable("The terminal host does not read its socket."));
    const id = nextId;
    nextId = (nextId % MAX_ID) + 1;
    watchOverdue();
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject, dueAt: clock.now() + timeoutMs });
      socket.write(frame(id));
    });
  }

  function watchOverdue(): void {
    if (watching) return;
    watching = true;
    clock.after(OVERDUE_CHECK_MS, () => {
      watching = false;
      const now = clock.now();
      for (const [id, one] of waiting) {
        if (one.dueAt > now) continue;
        waiting.delete(id);
        one.reject(unavailable("The terminal host timed out."));
      }
      if (waiting.size > 0) watchOverdue();
    });
  }

  const hello = await greeted.promise;
  return {
    hello,
    socket,
    request(method, params, timeoutMs = REQUEST_TIMEOUT_MS) {
      if (METHODS[method] > hello.minor) {
        return Promise.reject(
          unavailable(
            `The running terminal host (${hello.hostVersion}) is too old for ${method}. Close its terminals to replace it.`,
          ),
        );
      }
      return ask((id) => jsonFrame({ type: "request", id, method, params }), timeoutMs);
    },
    async input(input) {
      const { terminalId, data } = input;
      const sent = hello.minor < CONDITIONAL_INPUT_MINOR ? { terminalId, data } : input;
      const result = await ask((id) => inputFrame(id, sent), INPUT_TIMEOUT_MS);
      return !isFields(result) || booleanField(result, "written") !== false;
    },
    close: () => lose(unavailable("The connection was closed.")),
    closeWhenAnswered,
  };
}

export function unavailable(message: string, cause?: unknown): PosternError<TerminalHostErrorCode> {
  return new PosternError("terminal_host_unavailable", message, { cause });
}

function refusal(message: Fields): string {
  const theirs = `${numberField(message, "major")}.${numberField(message, "minor")}`;
  return `The running terminal host (pid ${numberField(message, "pid")}) uses protocol ${theirs}, this gateway ${PROTOCOL_MAJOR}.${PROTOCOL_MINOR}. Close its terminals to replace it.`;
}

const CODES: ReadonlySet<string> = new Set<TerminalHostErrorCode>([
  "lease_held",
  "terminal_exists",
  "spawn_failed",
  "dir_changed",
  "terminal_gone",
  "terminal_host_unavailable",
  "input_queue_full",
  "input_stalled",
  "reader_behind",
]);

function replyError(error: Fields): PosternError {
  const code = textField(error, "code") ?? "";
  return new PosternError(
    CODES.has(code) ? code : "terminal_host_unavailable",
    textField(error, "message") ?? "The terminal host reported an error.",
  );
}
