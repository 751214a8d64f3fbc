/** Lines longer than this are skipped and counted: no agent writes them, and one must not fill the memory. */
export const maxLineBytes = 32 * 1024 * 1024;

const NEWLINE = 0x0a;

/** Gets the lines of a transcript in order. */
export interface LineSink {
  /** One line without its newline, and the offset of its first byte. The bytes are only valid during the call or until `pause`. */
  line(bytes: Buffer, offset: number): void;
  /** The line at `offset` was not read: it is over the limit, or the archive is damaged there. */
  skipped(offset: number): void;
  /** The bytes of all lines so far are about to be overwritten. */
  pause(): void;
}

/** Where a scan stands: the offset after the last complete line, and whether what follows belongs to a line over the limit. */
export interface ScanPosition {
  readonly offset: number;
  readonly insideTooLong: boolean;
}

/** Cuts chunks into lines. What is left of the last line waits, up to the limit, for the next chunk. */
export interface LineSplitter {
  push(chunk: Buffer): void;
  position(): ScanPosition;
}

/** A splitter that goes on where `from` stands. */
export function createLineSplitter(sink: LineSink, from: ScanPosition): LineSplitter {
  let lineStart = from.offset;
  let insideTooLong = from.insideTooLong;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;

  function keep(rest: Buffer): void {
    if (rest.length === 0) return;
    if (insideTooLong || waitingBytes + rest.length > maxLineBytes) {
      lineStart += waitingBytes + rest.length;
      waiting = [];
      waitingBytes = 0;
      insideTooLong = true;
      return;
    }
    waiting.push(Buffer.from(rest)); // a copy: the chunk is the reader's and will be overwritten
    waitingBytes += rest.length;
  }

  function endLine(part: Buffer): void {
    const bytes = waitingBytes + part.length;
    if (insideTooLong || bytes > maxLineBytes) sink.skipped(lineStart);
    else sink.line(waitingBytes === 0 ? part : Buffer.concat([...waiting, part], bytes), lineStart);
    lineStart += bytes + 1;
    insideTooLong = false;
    waiting = [];
    waitingBytes = 0;
  }

  return {
    push(chunk) {
      let at = 0;
      for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, at)) {
        endLine(chunk.subarray(at, end));
        at = end + 1;
      }
      keep(chunk.subarray(at));
      sink.pause();
    },
    position: () => ({ offset: lineStart, insideTooLong }),
  };
}
