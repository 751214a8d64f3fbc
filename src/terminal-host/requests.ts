import { PosternError } from "../core/errors.ts";
import { clampSize } from "../core/terminal-size.ts";
import { booleanField, type Fields, numberField, textField, textListField, textMapField } from "./fields.ts";
import type { Host } from "./host.ts";
import type { Method } from "./protocol.ts";
import type { SpawnSpec } from "./terminal-info.ts";

const DEFAULT_GRACE_MS = 5_000;
const MAX_GRACE_MS = 60_000;

/** A request whose fields do not fit. */
export class MalformedRequest extends Error {}

/** Runs one request of a control connection; its result travels as JSON. */
export const REQUESTS: Readonly<Record<Exclude<Method, "attach">, (host: Host, params: Fields) => unknown>> = {
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

/** The terminal that a request names. */
export function readId(params: Fields): string {
  return need(textField(params, "terminalId"), "terminalId");
}

/** Whether `name` is a request of {@link REQUESTS}. */
export function isRequest(name: string | undefined): name is keyof typeof REQUESTS {
  return name !== undefined && Object.hasOwn(REQUESTS, name);
}

/** The answer to a request that this host is too old to know. */
export function unknownRequest(name: string): PosternError {
  return new PosternError("terminal_host_unavailable", `This terminal host does not know the request ${name}.`);
}

function readSize(params: Fields): { readonly cols: number; readonly rows: number } {
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
  if (value === undefined) throw new MalformedRequest(`The field ${name} is missing or of another type.`);
  return value;
}
