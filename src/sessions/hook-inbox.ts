import { type FSWatcher, watch } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { Clock } from "../core/clock.ts";
import { oneAtATime } from "../core/coalesce.ts";
import { openRegularFile } from "../platform/regular-file.ts";

/** Follows a session's inbox file from its beginning. */
export interface HookInbox {
  /** Resolves when every line in the file at the time of the call has been passed on. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

// File watching reports immediately; the sweep covers file systems that do not support it.
const sweepMs = 500;
const chunkBytes = 256 * 1024;
// The hook script cuts long strings, so a longer line does not come from that script.
const maxLineLength = 4 * 1024 * 1024;
// A line has a few KB, so this is enough for a hundred thousand tool calls.
const maxInboxBytes = 1024 ** 3;

/**
 * Hands every line of the file to `onLine`, one after another, as they are appended. The file may not exist yet; its folder
 * must. The whole file is read again after a restart: state is computed from it, not stored separately.
 */
export function createHookInbox(deps: {
  readonly path: string;
  readonly clock: Clock;
  readonly onLine: (line: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Nothing beyond this is read, because the agent's children can also write to the file. */
  readonly maxBytes?: number;
}): HookInbox {
  const { maxBytes = maxInboxBytes } = deps;
  const decoder = new StringDecoder("utf8");
  const buffer = Buffer.allocUnsafe(chunkBytes);
  let file: FileHandle | null = null;
  let offset = 0;
  let rest = "";
  let skipping = false;
  let full = false;
  let closed = false;
  let cancelSweep = (): void => undefined;

  async function readOn(): Promise<void> {
    // Null if the file does not exist yet, or was replaced by something else, which the agent's children can do.
    file ??= await openRegularFile(deps.path, { followLinks: false });
    if (file === null) return;
    while (!closed && !full) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, offset);
      if (bytesRead === 0) return;
      offset += bytesRead;
      if (offset > maxBytes) {
        full = true;
        deps.onError(new Error(`${deps.path} has more than ${maxBytes} bytes; the rest is not read.`));
      }
      const lines = (rest + decoder.write(buffer.subarray(0, bytesRead))).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (skipping) skipping = false;
        else if (line !== "") await handOver(line);
      }
      if (rest.length > maxLineLength) {
        rest = "";
        skipping = true;
      }
    }
  }

  /** A line that fails must not keep the next ones from being read. */
  async function handOver(line: string): Promise<void> {
    try {
      await deps.onLine(line);
    } catch (error) {
      deps.onError(error);
    }
  }

  const pump = oneAtATime(async () => {
    if (!closed) await readOn().catch(deps.onError);
  });

  let watcher: FSWatcher | null = null;
  try {
    watcher = watch(dirname(deps.path), () => void pump());
    watcher.on("error", deps.onError);
  } catch (error) {
    deps.onError(error); // the sweep below still finds every line
  }
  function sweep(): void {
    void pump();
    if (!closed) cancelSweep = deps.clock.after(sweepMs, sweep);
  }
  sweep();

  return {
    drain: pump,
    async close() {
      closed = true;
      cancelSweep();
      watcher?.close();
      await pump(); // waits for the read in progress
      await file?.close();
      file = null;
    },
  };
}
