import { MessagesSquare, NotebookPen } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { LogEntry } from "../../src/wire/logs.ts";
import { Badge } from "../ui/badge.tsx";
import { shortPath } from "../ui/session-state.ts";
import { exactTime, shortDate } from "../ui/time.tsx";
import { plainName } from "../ui/untrusted.tsx";
import { SessionLink } from "./links.tsx";

/** Untrusted: it comes from a log. */
export function entryTitle({ title, source }: Pick<LogEntry, "title" | "source">): string {
  if (title !== null && title.trim() !== "") return plainName(title);
  return source === "session" ? "Session" : "Note";
}

export function EntryRow({ entry, found }: { readonly entry: LogEntry; readonly found?: ReactNode }) {
  const { logId, source, sessionId, observedAt, dir } = entry;
  const Icon = source === "session" ? MessagesSquare : NotebookPen;
  const time = new Date(observedAt).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  return (
    <li className="relative flex items-start gap-3 px-4 py-2.5 hover:bg-hover has-[a[data-log-link]:focus-visible]:bg-hover">
      <Icon aria-hidden className="mt-0.5 size-4 shrink-0 text-ink-faint" />
      <div className="min-w-0 flex-1">
        <Link
          to={`/memory/${encodeURIComponent(logId)}`}
          data-log-link
          className="block font-medium -outline-offset-2 before:absolute before:inset-0"
        >
          <bdi className="block truncate">{entryTitle(entry)}</bdi>
        </Link>
        <p className="flex min-w-0 flex-wrap items-center gap-x-2 text-xs text-ink-faint">
          {sessionId === null ? (
            <span>{source === "session" ? "Session" : "Note"}</span>
          ) : (
            <SessionLink
              sessionId={sessionId}
              className="relative underline decoration-line-strong underline-offset-2 hover:text-ink"
              label={`Open session “${entryTitle(entry)}”`}
            >
              Session
            </SessionLink>
          )}
          {dir !== null && (
            <>
              <span aria-hidden>·</span>
              <span className="truncate" title={plainName(dir)}>
                {plainName(shortPath(dir))}
              </span>
            </>
          )}
        </p>
        {found !== undefined && <p className="mt-1 line-clamp-3 text-xs text-ink-soft">{found}</p>}
        {entry.failure !== null && <p className="mt-1 text-xs text-danger">{plainName(entry.failure)}</p>}
      </div>
      <div className="flex shrink-0 flex-col items-end gap-0.5 text-2xs text-ink-faint">
        <time
          dateTime={observedAt}
          title={exactTime(observedAt)}
          className="leading-5.5 whitespace-nowrap tabular-nums"
        >
          {found === undefined ? time : shortDate(observedAt)}
        </time>
        <EntryStatus status={entry.status} />
      </div>
    </li>
  );
}

/** The status of an entry; renders nothing for a ready one. */
export function EntryStatus({ status }: Pick<LogEntry, "status">) {
  if (status === "pending") return <Badge tone="lamp">Processing</Badge>;
  return status === "failed" ? <Badge tone="danger">Failed</Badge> : null;
}

export function MarkedText({ text, query }: { readonly text: string; readonly query: string }) {
  return markedPieces(text, query).map((piece, index) =>
    piece.marked ? (
      <mark key={index} className="rounded-sm bg-lamp-soft px-0.5 text-lamp">
        {piece.text}
      </mark>
    ) : (
      piece.text
    ),
  );
}

interface TextPiece {
  readonly text: string;
  readonly marked: boolean;
}

const word = /[\p{L}\p{N}\p{M}]+/gu;
/** Scripts without spaces: a run of their letters contains several words. */
const unspaced = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Script=Thai}/u;

/** Marks the query's words much as the gateway matches them: ignoring case and accents, the last word as a prefix. */
export function markedPieces(text: string, query: string): readonly TextPiece[] {
  const wanted = [...query.matchAll(word)].map(([found]) => folded(found));
  const last = wanted.at(-1);
  const pieces: TextPiece[] = [];
  let at = 0;
  const take = (end: number, marked: boolean): void => {
    if (end > at) pieces.push({ text: text.slice(at, end), marked });
    at = Math.max(at, end);
  };
  for (const { 0: found, index } of text.matchAll(word)) {
    const one = folded(found);
    const length = lengthMarked(one, found, { wanted, last });
    if (length === null) continue;
    take(index + length.from, false);
    take(index + length.to, true);
  }
  take(text.length, false);
  return pieces;
}

function lengthMarked(
  one: string,
  found: string,
  { wanted, last }: { readonly wanted: readonly string[]; readonly last: string | undefined },
): { readonly from: number; readonly to: number } | null {
  if (wanted.includes(one)) return { from: 0, to: found.length };
  if (last !== undefined && one.startsWith(last)) return { from: 0, to: Math.min(last.length, found.length) };
  const part = unspaced.test(found) ? wanted.find((each) => found.includes(each)) : undefined;
  return part === undefined ? null : { from: found.indexOf(part), to: found.indexOf(part) + part.length };
}

function folded(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/[\u0300-\u036f]/g, "")
    .toLowerCase();
}
