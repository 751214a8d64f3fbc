import type { LineSource } from "./line-source.ts";
import type { LineSink, ScanPosition } from "./line-splitter.ts";

/** The beginning of a file, up to the end of a line. */
export interface ChainLink {
  readonly source: LineSource;
  readonly length: number;
}

/** Several files as one: the beginnings of the earlier ones, then all of the last. Only the last one grows. */
export function chainedSource(earlier: readonly ChainLink[], last: LineSource): LineSource {
  const links = [...earlier, { source: last, length: last.stamp.sizeBytes }];
  const starts = links.map((_, index) => links.slice(0, index).reduce((sum, { length }) => sum + length, 0));
  const sizeBytes = links.reduce((sum, { length }) => sum + length, 0);
  return {
    stamp: { ...last.stamp, sizeBytes },
    seekable: links.every(({ source }) => source.seekable),
    async lines(from, to, sink) {
      const end = Math.min(to ?? sizeBytes, sizeBytes);
      let position: ScanPosition = from;
      for (const [index, { source, length }] of links.entries()) {
        const start = starts[index] ?? 0;
        if (position.offset >= start + length && index < links.length - 1) continue;
        if (start >= end) break;
        const local = { ...position, offset: position.offset - start };
        const reached = await source.lines(local, Math.min(end - start, length), shifted(sink, start));
        const isWhole = index < links.length - 1 && end >= start + length;
        position = isWhole
          ? { offset: start + length, insideTooLong: false }
          : { ...reached, offset: reached.offset + start };
      }
      return position;
    },
    async bytes(start, length) {
      const parts: Buffer[] = [];
      for (const [index, link] of links.entries()) {
        const begin = Math.max(start, starts[index] ?? 0);
        const end = Math.min(start + length, (starts[index] ?? 0) + link.length);
        if (begin < end) parts.push(await link.source.bytes(begin - (starts[index] ?? 0), end - begin));
      }
      return Buffer.concat(parts);
    },
    async close() {
      for (const { source } of links) await source.close();
    },
  };
}

function shifted(sink: LineSink, by: number): LineSink {
  return {
    line: (bytes, offset) => sink.line(bytes, offset + by),
    skipped: (offset) => sink.skipped(offset + by),
    pause: () => sink.pause(),
  };
}
