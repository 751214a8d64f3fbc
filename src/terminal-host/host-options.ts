import { numberField, parseFields, textField } from "./fields.ts";

/** What a host process is started with, as one JSON argument. */
export interface HostOptions {
  readonly socketPath: string;
  readonly stateDir: string;
  readonly version: string;
  /** Without terminals and connections the host leaves after this. */
  readonly idleExitMs: number;
  /** Bound of each terminal's raw log; at least {@link MIN_RAW_LOG_BYTES}. */
  readonly rawLogMaxBytes: number;
  /** Bound of what is kept of terminals that are gone, and of their number. */
  readonly recordingsMaxBytes: number;
  readonly recordingsMaxCount: number;
}

/** Ten minutes: longer than a gateway's upgrade takes. */
export const DEFAULT_IDLE_EXIT_MS = 10 * 60_000;
export const DEFAULT_RAW_LOG_MAX_BYTES = 64 * 1024 * 1024;
/**
 * The log must take one more read of output and the segment that begins with it, after the program was told to wait for the screen
 * model: in a smaller one the model's place would be dropped, and its screen emptied.
 */
const MIN_RAW_LOG_BYTES = 1024 * 1024;
export const DEFAULT_RECORDINGS_MAX_BYTES = 1024 * 1024 * 1024;
export const DEFAULT_RECORDINGS_MAX_COUNT = 500;

/** Reads the argument; undefined when it does not fit. */
export function parseHostOptions(text: string): HostOptions | undefined {
  const fields = parseFields(text);
  if (fields === undefined) return undefined;
  const socketPath = textField(fields, "socketPath");
  const stateDir = textField(fields, "stateDir");
  if (socketPath === undefined || stateDir === undefined) return undefined;
  return {
    socketPath,
    stateDir,
    version: textField(fields, "version") ?? "unknown",
    idleExitMs: numberField(fields, "idleExitMs") ?? DEFAULT_IDLE_EXIT_MS,
    rawLogMaxBytes: Math.max(numberField(fields, "rawLogMaxBytes") ?? DEFAULT_RAW_LOG_MAX_BYTES, MIN_RAW_LOG_BYTES),
    recordingsMaxBytes: numberField(fields, "recordingsMaxBytes") ?? DEFAULT_RECORDINGS_MAX_BYTES,
    recordingsMaxCount: numberField(fields, "recordingsMaxCount") ?? DEFAULT_RECORDINGS_MAX_COUNT,
  };
}
