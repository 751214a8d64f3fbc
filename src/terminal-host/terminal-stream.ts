import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { textField } from "./fields.ts";
import { openHostConnection, unavailable } from "./host-connection.ts";
import { readExit, readSnapshot } from "./replies.ts";
import type { TerminalExit, TerminalStream } from "./terminal-info.ts";

/** Above this the connection is not read any more until the consumer took something; then the host holds back. */
const QUEUE_HIGH_BYTES = 256 * 1024;

/** Attaches to a terminal over a connection of its own. @throws PosternError `terminal_gone` | `terminal_host_unavailable` */
export async function openTerminalStream(
  { socketPath, clock }: { readonly socketPath: string; readonly clock: Clock },
  terminalId: string,
): Promise<TerminalStream> {
  const queue: Buffer[] = [];
  let queuedBytes = 0;
  let ended: { readonly error: Error | null } | undefined;
  let wake: (() => void) | undefined;
  const exit = Promise.withResolvers<TerminalExit>();
  exit.promise.catch(() => undefined); // whoever only reads the output need not look at it

  function end(error: Error | null): void {
    if (ended !== undefined) return;
    ended = { error };
    if (error !== null) exit.reject(error);
    wake?.();
  }

  const connection = await openHostConnection(
    { socketPath, clock, role: "attach" },
    {
      onOutput(data) {
        queue.push(data);
        queuedBytes += data.byteLength;
        if (queuedBytes > QUEUE_HIGH_BYTES) connection.socket.pause();
        wake?.();
      },
      onMessage(message) {
        const type = textField(message, "type");
        if (type === "exit") {
          exit.resolve(readExit(message["exit"]));
          end(null);
        } else if (type === "end") {
          end(new PosternError("reader_behind", `The reader of ${terminalId} fell behind the raw log; attach again.`));
        }
      },
      onClose: () => end(unavailable("The terminal host is gone.")),
    },
  );

  async function* output(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        for (let data = queue.shift(); data !== undefined; data = queue.shift()) {
          queuedBytes -= data.byteLength;
          if (queuedBytes <= QUEUE_HIGH_BYTES / 2) connection.socket.resume();
          yield data;
        }
        if (ended?.error) throw ended.error;
        if (ended !== undefined) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
    } finally {
      connection.close();
    }
  }

  try {
    const snapshot = readSnapshot(await connection.request("attach", { terminalId }));
    return { snapshot, output: output(), exit: exit.promise, close: () => connection.close() };
  } catch (error) {
    connection.close();
    throw error;
  }
}
