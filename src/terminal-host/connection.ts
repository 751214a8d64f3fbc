import type { Socket } from "node:net";
import type { Clock } from "../core/clock.ts";
import { isPosternError, messageOf, PosternError } from "../core/errors.ts";
import { clampSize } from "../core/terminal-size.ts";
import {
  booleanField,
  type Fields,
  isFields,
  numberField,
  numberListField,
  objectField,
  parseFields,
  textField,
  textListField,
  textMapField,
} from "./fields.ts";
import type { Host } from "./host.ts";
import {
  createFrameReader,
  FRAME,
  type Frame,
  type HostHello,
  jsonFrame,
  MAX_FRAME_TO_HOST,
  type Method,
  PROTOCOL_MAJOR,
  PROTOCOL_MINOR,
  readInputFrame,
} from "./protocol.ts";
import type { SpawnSpec, TerminalExit, TerminalSize } from "./terminal-info.ts";

/** One gateway's connection. */
export interface Connection {
  sendExit(terminalId: string, exit: TerminalExit): void;
  /** The host exits because it has no terminal; further requests go to the next host. */
  sendLeaving(): void;
}

/** This host's identity, sent in every hello. */
export type HostIdentity = Pick<HostHello, "hostVersion" | "pid" | "pidStartTime">;

/** A peer that does not read its replies is disconnected at this size. */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024;

/** Acknowledging input this much later lets the echo be sent first, on its own. */
const ACKNOWLEDGE_AFTER_MS = 1;

/** Serves `socket` until it closes. Malformed input closes this connection only. */
export function serveConnection(
  socket: Socket,
  { host, identity, clock }: { readonly host: Host; readonly identity: HostIdentity; readonly clock: Clock },
): Connection {
  const acknowledged: number[] = [];
  let role: "new" | "control" | "attach" | "attached" = "new";
  const reader = createFrameReader(MAX_FRAME_TO_HOST, onFrame);
  socket.on("data", (chunk: Buffer) => {
    if (!socket.destroyed && !reader.push(chunk)) socket.destroy();
  });
  socket.on("error", () => socket.destroy()); // `close` follows

  function send(message: unknown): void {
    if (socket.destroyed) return;
    socket.write(jsonFrame(message));
    if (socket.writableLength > MAX_UNSENT_BYTES) socket.destroy();
  }

  function onFrame(frame: Frame): void {
    if (socket.destroyed) return;
    if (frame.kind === FRAME.json) onMessage(parseFields(frame.body.toString("utf8")));
    else if (frame.kind === FRAME.output) socket.destroy();
    else onInput(frame);
  }

  function onInput(frame: Frame): void {
    const input = role === "control" ? readInputFrame(frame) : undefined;
    if (input === undefined) {
      socket.destroy();
      return;
    }
    const { requestId, terminalId, data, ifOutputEndsAt } = input;
    if (ifOutputEndsAt !== undefined) {
      void reply(requestId, async () => ({ written: await host.writeIfUnchanged(terminalId, data, ifOutputEndsAt) }));
      return;
    }
    host.write(terminalId, data).then(
      () => acknowledge(requestId),
      (error: unknown) => fail(requestId, error),
    );
  }

  function acknowledge(id: number): void {
    acknowledged.push(id);
    if (acknowledged.length > 1) return;
    clock.after(ACKNOWLEDGE_AFTER_MS, () => {
      socket.cork();
      for (const one of acknowledged.splice(0)) send({ type: "reply", id: one, ok: true, result: null });
      socket.uncork();
    });
  }

  function onMessage(message: Fields | undefined): void {
    const type = message === undefined ? undefined : textField(message, "type");
    if (message !== undefined && role === "new" && type === "hello") onHello(message);
    else if (message !== undefined && (role === "control" || role === "attach") && type === "request")
      onRequest(message);
    else socket.destroy();
  }

  function onHello(hello: Fields): void {
    const asked = textField(hello, "role");
    const [low, high] = numberListField(hello, "majors") ?? [];
    if ((asked !== "control" && asked !== "attach") || low === undefined || high === undefined) {
      socket.destroy();
      return;
    }
    if (low > PROTOCOL_MAJOR || high < PROTOCOL_MAJOR) {
      socket.end(jsonFrame({ type: "refused", major: PROTOCOL_MAJOR, minor: PROTOCOL_MINOR, ...identity }));
      return;
    }
    role = asked;
    send({ type: "hello", major: PROTOCOL_MAJOR, minor: PROTOCOL_MINOR, ...identity });
  }

  function onRequest(message: Fields): void {
    const id = numberField(message, "id");
    const method = textField(message, "method");
    const params = objectField(message, "params") ?? {};
    if (id === undefined || method === undefined) {
      socket.destroy();
    } else if (role === "attach") {
      role = "attached";
      if (method === "attach") void attach(id, params);
      else socket.destroy();
    } else {
      void reply(id, () => {
        if (!isRequest(method))
          throw new PosternError(
            "terminal_host_unavailable",
            `This terminal host does not know the request ${method}.`,
          );
        return REQUESTS[method](host, params);
      });
    }
  }

  async function attach(id: number, params: Fields): Promise<void> {
    try {
      const begin = (answer: unknown): void => send({ type: "reply", id, ok: true, result: answer });
      await host.attach(readId(params), socket, { from: numberField(params, "from"), begin });
    } catch (error) {
      fail(id, error);
    }
  }

  async function reply(id: number, run: () => unknown): Promise<void> {
    try {
      const result = await run();
      send({ type: "reply", id, ok: true, result: isFields(result) || Array.isArray(result) ? result : null });
    } catch (error) {
      fail(id, error);
    }
  }

  function fail(id: number, error: unknown): void {
    if (error instanceof MalformedRequest) {
      socket.destroy();
      return;
    }
    const code = isPosternError(error) ? error.code : "terminal_host_unavailable";
    send({ type: "reply", id, ok: false, error: { code, message: messageOf(error) } });
  }

  return {
    sendExit(terminalId, exit) {
      if (role === "control") send({ type: "exit", terminalId, exit });
    },
    sendLeaving() {
      if (role === "control") send({ type: "leaving" });
    },
  };
}

const DEFAULT_GRACE_MS = 5_000;
const MAX_GRACE_MS = 60_000;

class MalformedRequest extends Error {}

/** The requests of a control connection; results are sent as JSON. */
const REQUESTS: Readonly<Record<Exclude<Method, "attach">, (host: Host, params: Fields) => unknown>> = {
  spawn: (host, params) => host.spawn(readSpec(params)),
  list: (host) => host.list(),
  resize: (host, params) => host.resize(readId(params), readSize(params)),
  snapshot: (host, params) => host.snapshot(readId(params), { plain: booleanField(params, "plain") ?? false }),
  end: (host, params) => host.end(readId(params), readGrace(params)),
  renameLease: (host, params) => host.renameLease(readId(params), need(textField(params, "leaseKey"), "leaseKey")),
  forget: (host, params) => host.forget(readId(params)),
  release: (host, params) => host.release(readId(params)),
  status: (host) => ({ ...host.status() }),
  retire: (host) => ({ leaving: host.retire() }),
};

function readId(params: Fields): string {
  return need(textField(params, "terminalId"), "terminalId");
}

function isRequest(name: string): name is keyof typeof REQUESTS {
  return Object.hasOwn(REQUESTS, name);
}

function readSize(params: Fields): TerminalSize {
  return clampSize({
    cols: need(numberField(params, "cols"), "cols"),
    rows: need(numberField(params, "rows"), "rows"),
  });
}

function readGrace(params: Fields): number {
  return Math.min(MAX_GRACE_MS, Math.max(0, numberField(params, "graceMs") ?? DEFAULT_GRACE_MS));
}

function readSpec(params: Fields): SpawnSpec {
  const [program, ...args] = need(textListField(params, "argv"), "argv");
  return {
    terminalId: readId(params),
    leaseKey: need(textField(params, "leaseKey"), "leaseKey"),
    argv: [need(program, "argv"), ...args],
    cwd: need(textField(params, "cwd"), "cwd"),
    env: need(textMapField(params, "env"), "env"),
    ...readSize(params),
    keepRecording: booleanField(params, "keepRecording"),
  };
}

function need<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new MalformedRequest(`The field ${name} is missing or has another type.`);
  return value;
}
