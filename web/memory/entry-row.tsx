import { MessagesSquare, NotebookPen } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { LogEntry } from "../../src/wire/logs.ts";
import { Badge } from "../ui/badge.tsx";
import { shortPath } from "../ui/session-state.ts";
import { exactTime, shortDate } from "../ui/time.tsx";
import { plainName } from "../ui/untrusted.tsx";
import { SessionLink } from "./links.tsx";

/** What to call an entry. Untrusted: it comes from a log. */
export function entryTitle({ title, source }: Pick<LogEntry, "title" | "source">): string {
  if (title !== null && title.trim() !== "") return plainName(title);
  return source === "session" ? "Session" : "Note";
}

/** An entry in a list: when, what about, from where; of a search, where it was found. */
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

/** How far an entry is; nothing for what is as it shall be. */
export function EntryStatus({ status }: Pick<LogEntry, "status">) {
  if (status === "pending") return <Badge tone="lamp">Processing</Badge>;
  return status === "failed" ? <Badge tone="danger">Failed</Badge> : null;
}
