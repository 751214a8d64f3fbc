import { type Fields, isFields, numberField, objectField, textField, textListField } from "./fields.ts";
import type { HostStatus } from "./host.ts";
import { unavailable } from "./host-connection.ts";
import type { TerminalExit, TerminalInfo, TerminalLook, TerminalSize, TerminalSnapshot } from "./terminal-info.ts";

/** Readers of a host's answers; unknown fields are ignored. @throws PosternError `terminal_host_unavailable` */

export function readInfo(value: unknown): TerminalInfo {
  const fields = fieldsOf(value, "terminal");
  const exit = objectField(fields, "exit");
  return {
    terminalId: text(fields, "terminalId"),
    leaseKey: text(fields, "leaseKey"),
    pid: number(fields, "pid"),
    pidStartTime: text(fields, "pidStartTime"),
    cols: number(fields, "cols"),
    rows: number(fields, "rows"),
    startedAt: number(fields, "startedAt"),
    exit: exit === undefined ? null : readExit(exit),
  };
}

export function readInfos(value: unknown): readonly TerminalInfo[] {
  return need(Array.isArray(value) ? value : undefined, "terminals").map(readInfo);
}

export function readExit(value: unknown): TerminalExit {
  const fields = fieldsOf(value, "exit");
  return {
    exitCode: number(fields, "exitCode"),
    signal: textField(fields, "signal") ?? null,
    at: number(fields, "at"),
  };
}

export function readSnapshot(value: unknown): TerminalSnapshot & TerminalLook {
  const fields = fieldsOf(value, "snapshot");
  return {
    cols: number(fields, "cols"),
    rows: number(fields, "rows"),
    ansi: text(fields, "ansi"),
    lines: need(textListField(fields, "lines"), "lines"),
    bright: textListField(fields, "bright") ?? null,
    title: textField(fields, "title") ?? null,
    offset: number(fields, "offset"),
  };
}

/** Reads the answer to an attach if output continues where the reader left off; null if the answer is a screen. */
export function readContinued(value: unknown): { readonly offset: number; readonly size: TerminalSize } | null {
  const fields = fieldsOf(value, "attach");
  if (textField(fields, "ansi") !== undefined) return null;
  return { offset: number(fields, "offset"), size: { cols: number(fields, "cols"), rows: number(fields, "rows") } };
}

export function readStatus(value: unknown): HostStatus {
  const fields = fieldsOf(value, "status");
  return {
    rssBytes: number(fields, "rssBytes"),
    liveTerminals: number(fields, "liveTerminals"),
    endedTerminals: number(fields, "endedTerminals"),
  };
}

function fieldsOf(value: unknown, name: string): Fields {
  return need(isFields(value) ? value : undefined, name);
}

function text(fields: Fields, name: string): string {
  return need(textField(fields, name), name);
}

function number(fields: Fields, name: string): number {
  return need(numberField(fields, name), name);
}

function need<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw unavailable(`The terminal host's answer has no valid ${name}.`);
  return value;
}
