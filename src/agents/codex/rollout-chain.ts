import { basename, dirname, join } from "node:path";
import { isUuid } from "../../core/ids.ts";
import {
  fieldsAt,
  type LineSink,
  type LineSource,
  parseLine,
  type ScanPosition,
  stringAt,
} from "../../transcripts/index.ts";
import { namesIn } from "../find-transcript.ts";

/** First lines have 25 KB; much longer ones are ignored. */
const firstLineBytes = [32 * 1024, 512 * 1024];
/** Beyond this, only the newest parts are read. */
const maxLinks = 32;

/** The point at which a rollout continues another: after `endOffset` bytes of the rollout whose name ends in this id. */
interface HistoryBase {
  readonly id: string;
  readonly endOffset: number;
}

/**
 * Joins a rollout with its earlier parts. When the user goes back to an earlier prompt, Codex (0.169, measured) stops writing to the file and
 * continues in `rollout-<time>-<session>_<part>.jsonl`, whose first line has the part and the byte at which it continues. Both are one
 * transcript, without the undone part. A fork of another session stays separate.
 * @param open opens a file, or returns null. The returned source closes what it opened.
 */
export async function withEarlierParts(
  path: string,
  own: LineSource,
  open: (path: string) => Promise<LineSource | null>,
): Promise<LineSource> {
  const session = sessionOf(path);
  const links: ChainLink[] = [];
  const seen = new Set<string>();
  let base = session === null ? null : await readBase(own);
  try {
    while (base !== null && session !== null && links.length < maxLinks && !seen.has(base.id)) {
      seen.add(base.id);
      const earlier = await findPart(path, session, base.id);
      const source = earlier === null ? null : await open(earlier);
      if (source === null) break;
      links.unshift({ source, length: base.endOffset });
      if (!(await endsLine(source, base.endOffset))) {
        links.shift();
        await source.close();
        break;
      }
      base = await readBase(source);
    }
  } catch (error) {
    for (const { source } of links) await source.close();
    throw error;
  }
  return links.length === 0 ? own : chainedSource(links, own);
}

/** The session's id from a rollout's name, for any part. */
function sessionOf(path: string): string | null {
  const id = /^rollout-.*?-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:_[0-9a-f-]{36})?\.jsonl(?:\.zst)?$/i;
  return id.exec(basename(path))?.[1] ?? null;
}

async function readBase(source: LineSource): Promise<HistoryBase | null> {
  if (!source.seekable) return null; // a compressed part: earlier parts, if any, are not shown
  let head: Buffer = Buffer.alloc(0);
  let end = -1;
  for (const length of firstLineBytes) {
    head = await source.bytes(0, length);
    end = head.indexOf(0x0a);
    if (end >= 0 || head.length < length) break;
  }
  if (end < 0 || !head.subarray(0, end).includes('"history_base"')) return null;
  const line = parseLine(head.subarray(0, end));
  const base = line === null ? {} : fieldsAt(fieldsAt(line, "payload"), "history_base");
  const id = stringAt(base, "thread_id");
  const endOffset = base["end_byte_offset"];
  if (id === null || !isUuid(id) || typeof endOffset !== "number" || !Number.isSafeInteger(endOffset)) return null;
  return endOffset > 0 ? { id, endOffset } : null;
}

/** Whether a line ends right before `offset`. If not, this is another file, or the file is incomplete. */
async function endsLine(source: LineSource, offset: number): Promise<boolean> {
  return source.seekable && (await source.bytes(offset - 1, 1)).equals(Buffer.from("\n"));
}

/** The file of a part, in this rollout's folder or the folder of an earlier day. */
async function findPart(path: string, session: string, part: string): Promise<string | null> {
  const name = part === session ? `-${session}.jsonl` : `-${session}_${part}.jsonl`;
  const isPart = (candidate: string): boolean => candidate.startsWith("rollout-") && candidate.endsWith(name);
  const day = dirname(path);
  const here = (await namesIn(day)).find(isPart);
  if (here !== undefined) return join(day, here);
  const root = join(day, "../../..");
  for (const year of await foldersIn(root)) {
    for (const month of await foldersIn(join(root, year))) {
      for (const date of await foldersIn(join(root, year, month))) {
        const found = (await namesIn(join(root, year, month, date))).find(isPart);
        if (found !== undefined) return join(root, year, month, date, found);
      }
    }
  }
  return null;
}

/** The numbered folders, newest first. */
async function foldersIn(folder: string): Promise<readonly string[]> {
  return (await namesIn(folder)).filter((name) => /^\d{2,4}$/.test(name)).toSorted((a, b) => Number(b) - Number(a));
}

/** The start of a file, up to the end of a line. */
interface ChainLink {
  readonly source: LineSource;
  readonly length: number;
}

/** Joins several files into one: the starts of the earlier files, then all of the last file. Only the last file grows. */
function chainedSource(earlier: readonly ChainLink[], last: LineSource): LineSource {
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
