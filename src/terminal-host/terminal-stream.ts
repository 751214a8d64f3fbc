import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { numberField, textField } from "./fields.ts";
import { GONE, openHostConnection, unavailable } from "./host-connection.ts";
import { readContinued, readExit, readSnapshot } from "./replies.ts";
import type { TerminalExit, TerminalSize, TerminalStream } from "./terminal-info.ts";

/** Above this size, the connection is paused, and with it the host, until the consumer has read some output. */
const QUEUE_HIGH_BYTES = 256 * 1024;

interface Taker {
  resolve(result: IteratorResult<Uint8Array | TerminalSize>): void;
  reject(error: Error): void;
}

/** Attaches to a terminal over a separate connection. @throws PosternError `terminal_gone` | `terminal_host_unavailable` */
export async function openTerminalStream(
  { socketPath, clock }: { readonly socketPath: string; readonly clock: Clock },
  { terminalId, from }: { readonly terminalId: string; readonly from?: number | undefined },
): Promise<TerminalStream> {
  const queue: (Buffer | TerminalSize)[] = [];
  let queuedBytes = 0;
  let ended: { readonly error: Error | null } | undefined;
  const takers: Taker[] = [];
  const exit = Promise.withResolvers<TerminalExit>();
  exit.promise.catch(() => undefined); // so that a caller that reads only the output does not have to handle it

  function end(error: Error | null): void {
    if (ended !== undefined) return;
    ended = { error };
    if (error !== null) exit.reject(error);
    for (const taker of takers.splice(0)) settle(taker);
  }

  /** @returns false if there is nothing to deliver yet */
  function settle(taker: Taker): boolean {
    const data = queue.shift();
    if (data !== undefined) {
      if (data instanceof Buffer) queuedBytes -= data.byteLength;
      if (queuedBytes <= QUEUE_HIGH_BYTES / 2) connection.socket.resume();
      taker.resolve({ done: false, value: data });
      return true;
    }
    if (ended === undefined) return false;
    const { error } = ended;
    ended = { error: null }; // reported once
    connection.close();
    if (error === null) taker.resolve({ done: true, value: undefined });
    else taker.reject(error);
    return true;
  }

  const connection = await openHostConnection(
    { socketPath, clock, role: "attach" },
    {
      onOutput(data) {
        queue.push(data);
        queuedBytes += data.byteLength;
        const taker = takers.shift();
        if (taker !== undefined) settle(taker);
        else if (queuedBytes > QUEUE_HIGH_BYTES) connection.socket.pause();
      },
      onMessage(message) {
        const type = textField(message, "type");
        const cols = numberField(message, "cols");
        const rows = numberField(message, "rows");
        if (type === "size" && cols !== undefined && rows !== undefined) {
          queue.push({ cols, rows });
          const taker = takers.shift();
          if (taker !== undefined) settle(taker);
        } else if (type === "exit") {
          exit.resolve(readExit(message["exit"]));
          end(null);
        } else if (type === "end") {
          end(
            new PosternError(
              "reader_behind",
              `The reader of terminal ${terminalId} fell behind the raw log. Attach again.`,
            ),
          );
        }
      },
      onClose: () => end(unavailable(GONE)),
    },
  );

  // This is not a generator, because a generator's promises would delay the echo of a keystroke.
  const output: AsyncIterableIterator<Uint8Array | TerminalSize> = {
    [Symbol.asyncIterator]: () => output,
    next: () =>
      new Promise((resolve, reject) => {
        const taker = { resolve, reject };
        if (takers.length > 0 || !settle(taker)) takers.push(taker);
      }),
    return() {
      connection.close();
      queue.length = 0;
      ended = { error: null };
      return Promise.resolve({ done: true, value: undefined });
    },
  };

  try {
    const place = from === undefined ? {} : { from };
    const answer = await connection.request("attach", { terminalId, ...place });
    const close = (): void => connection.close();
    const continued = readContinued(answer);
    if (continued !== null) return { snapshot: null, ...continued, output, exit: exit.promise, close };
    const snapshot = readSnapshot(answer);
    const { cols, rows, offset } = snapshot;
    return { snapshot, offset, size: { cols, rows }, output, exit: exit.promise, close };
  } catch (error) {
    connection.close();
    throw error;
  }
}
