import { Trash2 } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useParams } from "react-router";
import type { LogDeletion, LogDetail } from "../../src/wire/logs.ts";
import type { Turn } from "../../src/wire/turn.ts";
import { isGone } from "../api/api-error.ts";
import { useForgetting, useLog } from "../api/logs.ts";
import { useMay } from "../api/sign-in.ts";
import { counted } from "../session/session-words.ts";
import { TurnView } from "../session/turn-view.tsx";
import { Button, buttonClass } from "../ui/button.tsx";
import { EmptyState, ErrorNotice, LoadingRows, Notice } from "../ui/notice.tsx";
import { BackLink, Page } from "../ui/page.tsx";
import { agentName, shortPath } from "../ui/session-state.ts";
import { exactTime } from "../ui/time.tsx";
import { plainName, visibleText } from "../ui/untrusted.tsx";
import { DeleteLogDialog, derivedWords } from "./delete-log-dialog.tsx";
import { EntryFacts } from "./entry-facts.tsx";
import { EntryStatus, entryTitle } from "./entry-row.tsx";
import { SessionLink } from "./links.tsx";

export function LogPage() {
  const { logId = "" } = useParams();
  return <OneLog key={logId} logId={logId} />;
}

/** A deleted entry must not stay in the cache. */
function OneLog({ logId }: { readonly logId: string }) {
  const [left, setLeft] = useState<LogDeletion | "gone" | null>(null);
  const onGone = useCallback(() => setLeft("gone"), []);
  useForgetting(left !== null);
  if (left === "gone") return <GonePage />;
  if (left !== null) return <DeletedPage deletion={left} />;
  return <Entry logId={logId} onDeleted={setLeft} onGone={onGone} />;
}

function Entry(props: {
  readonly logId: string;
  readonly onDeleted: (deletion: LogDeletion) => void;
  readonly onGone: () => void;
}) {
  const { logId, onDeleted, onGone } = props;
  const { data: log, error, refetch } = useLog(logId);
  const gone = isGone(error);
  useEffect(() => {
    if (gone) onGone();
  }, [gone, onGone]);
  const mayWrite = useMay("logs:write");
  const [deleting, setDeleting] = useState(false);
  // Shown instead of anything that is still cached.
  if (gone) return <GonePage />;
  if (log === undefined) {
    return (
      <Page title="Memory" back={<BackLink to="/memory" label="Memory" />}>
        {error === null && <LoadingRows label="Loading entry" />}
        <ErrorNotice error={error} onRetry={() => void refetch()} />
      </Page>
    );
  }
  return (
    <Page
      back={<BackLink to="/memory" label="Memory" />}
      title={entryTitle(log)}
      description={<Origin log={log} />}
      actions={
        mayWrite && (
          <Button icon={Trash2} onClick={() => setDeleting(true)}>
            Delete…
          </Button>
        )
      }
    >
      <Condition log={log} />
      <div className="grid gap-x-8 gap-y-6 lg:grid-cols-[minmax(0,1fr)_22rem] lg:items-start">
        <Part title="Extracted facts" className="lg:col-start-2 lg:row-start-1">
          {log.facts.length > 0 ? (
            <EntryFacts facts={log.facts} />
          ) : (
            <p className="text-sm text-ink-faint">
              {log.status === "pending" ? "Processing…" : "None. You can find it by searching its text."}
            </p>
          )}
        </Part>
        <Part title="Text" className="lg:col-start-1 lg:row-start-1">
          <EntryContent log={log} />
        </Part>
      </div>
      {deleting && (
        <DeleteLogDialog
          logId={logId}
          ofSession={log.source === "session"}
          onClose={() => setDeleting(false)}
          onDeleted={onDeleted}
          onGone={onGone}
        />
      )}
    </Page>
  );
}

function GonePage() {
  return (
    <Page title="Memory" back={<BackLink to="/memory" label="Memory" />}>
      <EmptyState title="Entry not found">It was deleted, or you don’t have access.</EmptyState>
    </Page>
  );
}

function Origin({ log }: { readonly log: LogDetail }) {
  const { observedAt, sessionId, dir, episode, source } = log;
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <time dateTime={observedAt}>{exactTime(observedAt)}</time>
      <span aria-hidden>·</span>
      {sessionId === null ? (
        <span>{source === "session" ? "a session" : "a note"}</span>
      ) : (
        <SessionLink sessionId={sessionId}>Open session</SessionLink>
      )}
      {dir !== null && (
        <>
          <span aria-hidden>·</span>
          <span title={plainName(dir)}>{plainName(shortPath(dir))}</span>
        </>
      )}
      {episode !== null && (
        <>
          <span aria-hidden>·</span>
          <span>{counted(episode.characters, "character")}</span>
        </>
      )}
      <EntryStatus status={log.status} />
    </span>
  );
}

function Condition({ log: { status, failure } }: { readonly log: LogDetail }) {
  if (status === "ready") return null;
  return (
    <div role="status" className="mb-4">
      {status === "pending" ? (
        <Notice tone="lamp">Processing: extracted facts appear in a moment.</Notice>
      ) : (
        <Notice tone="danger">Extracting facts failed. {failure === null ? "" : plainName(failure)}</Notice>
      )}
    </div>
  );
}

function Part({ title, className, children }: Readonly<{ title: string; className: string; children: ReactNode }>) {
  return (
    <section aria-label={title} className={`min-w-0 ${className}`}>
      <h2 className="mb-2 text-sm font-semibold">{title}</h2>
      {children}
    </section>
  );
}

function DeletedPage({ deletion }: { readonly deletion: LogDeletion }) {
  const said = useRef<HTMLDivElement>(null);
  useEffect(() => said.current?.focus(), []);
  const rows = derivedWords(deletion.deleted);
  return (
    <Page title="Deleted">
      <div
        ref={said}
        tabIndex={-1}
        role="status"
        className="rounded-xl border border-line bg-panel px-5 py-4 focus:outline-none"
      >
        <p>{deletion.message}</p>
        <dl className="mt-4 flex flex-wrap gap-x-8 gap-y-3">
          {[
            { count: deletion.deleted.episode ? 1 : 0, what: deletion.deleted.episode ? "episode" : "episodes" },
            ...rows,
          ].map(({ count, what }) => (
            <div key={what} className="flex flex-col-reverse">
              <dt className="text-xs text-ink-faint">{what}</dt>
              <dd className="text-2xl font-semibold tracking-tight tabular-nums">{count.toLocaleString("en")}</dd>
            </div>
          ))}
        </dl>
      </div>
      <Link to="/memory" className={`${buttonClass()} mt-4`}>
        Go to memory
      </Link>
    </Page>
  );
}

/** The number of turns that a long entry shows at first. */
const turnsFirst = 12;
const charactersFirst = 8_000;

function EntryContent({ log }: { readonly log: LogDetail }) {
  const [all, setAll] = useState(false);
  const turns = useMemo(() => (log.turns ?? []).map(visibleTurn), [log.turns]);
  const text = visibleText(log.content ?? "");
  const shownTurns = all ? turns : turns.slice(0, turnsFirst);
  const shownText = all ? text : text.slice(0, charactersFirst);
  const isCut = shownTurns.length < turns.length || shownText.length < text.length;
  const agent = log.facts.find(({ predicate }) => predicate === "by_agent")?.value ?? null;
  return (
    <div className="overflow-hidden rounded-xl border border-line bg-panel [&_.turn]:[content-visibility:visible]!">
      {log.turns === null ? (
        <p className="wrap-anywhere px-4 py-3 whitespace-pre-wrap">
          <bdi>{shownText}</bdi>
        </p>
      ) : (
        shownTurns.map((turn) => (
          <TurnView
            key={turn.index}
            turn={turn}
            agent={agent === null ? "Agent" : agentName(agent)}
            running={false}
            current={false}
            onPlay={undefined}
          />
        ))
      )}
      {isCut && (
        <div className="flex justify-center border-t border-line py-2">
          <Button variant="ghost" onClick={() => setAll(true)}>
            {log.turns === null ? "Show full text" : `Show all ${turns.length} turns`}
          </Button>
        </div>
      )}
    </div>
  );
}

function visibleTurn(turn: Turn): Turn {
  const blocks = turn.blocks.map((block) =>
    block.type === "text" ? { ...block, text: visibleText(block.text) } : block,
  );
  return { ...turn, text: visibleText(turn.text), blocks };
}
