import { memo } from "react";
import { type SessionsAsked, sessionPageSize, useSessionPage } from "../api/sessions.ts";
import { ErrorNotice } from "../ui/notice.tsx";
import { Rows } from "../ui/rows.tsx";
import { useSight } from "../ui/sight.ts";
import { SessionRow } from "./session-row.tsx";

/** About as high as a row is on a desktop; pages that were shown are as high as they were. */
const rowPx = 59;
const pagePx = sessionPageSize * rowPx;

/** The long list of sessions. Only the pages near what is in sight are read and painted. */
export function SessionList({
  title,
  asked,
  total,
  without,
  counted,
}: {
  readonly title: string;
  readonly asked: SessionsAsked;
  readonly total: number;
  /** Those that are shown elsewhere. */
  readonly without: ReadonlySet<string>;
  /** Shows how many there are. */
  readonly counted: boolean;
}) {
  const pages = Math.ceil(total / sessionPageSize);
  const lastPx = (total - (pages - 1) * sessionPageSize) * rowPx;
  const { list, first, last, abovePx, belowPx } = useSight({ parts: pages, partPx: pagePx, lastPx });
  return (
    <section aria-label={title} className="mb-6">
      <h2 className="label-caps mb-1.5 px-1">
        {title} {counted && <span className="font-normal">{total}</span>}
      </h2>
      {/* Pages come and go in exchange for as much room: a browser that takes one for its place to hold on to would jump by a page. */}
      <div ref={list} className="overflow-hidden rounded-xl border border-line bg-panel [overflow-anchor:none]">
        <Room px={abovePx} />
        {Array.from({ length: last - first + 1 }, (_, at) => first + at).map((page) => (
          <div key={page} data-part={page} className="border-line not-last:border-b">
            <SessionsOfPage title={title} asked={asked} page={page} without={without} />
          </div>
        ))}
        <Room px={belowPx} />
      </div>
    </section>
  );
}

/** Stands for pages that are not rendered. */
function Room({ px }: { readonly px: number }) {
  return <div style={{ height: px }} {...(px > 0 && { "data-more": true })} />;
}

const SessionsOfPage = memo(function SessionsOfPage({
  title,
  asked,
  page,
  without,
}: {
  readonly title: string;
  readonly asked: SessionsAsked;
  readonly page: number;
  readonly without: ReadonlySet<string>;
}) {
  const { data, error, refetch } = useSessionPage(asked, page);
  if (data === undefined) {
    return error === null ? (
      <div role="status" aria-label="Loading more sessions" data-more style={{ height: pagePx }} className="bg-panel" />
    ) : (
      <ErrorNotice error={error} onRetry={() => void refetch()} />
    );
  }
  const rows = data.listed.filter(({ session }) => !without.has(session.sessionId));
  if (rows.length === 0) return null;
  return (
    <Rows label={page === 0 ? title : `${title}, page ${page + 1}`} bare>
      {rows.map((row) => (
        <SessionRow key={row.session.sessionId} {...row} />
      ))}
    </Rows>
  );
});
