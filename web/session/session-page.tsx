import { useCallback, useRef, useState } from "react";
import { Link, useParams } from "react-router";
import { PosternClientError } from "../../src/client/index.ts";
import type { CloseOutput, SessionSummary } from "../../src/wire/coding.ts";
import { type SessionDeed, sessionShortcutList, useShortcuts } from "../app/shortcuts.ts";
import { classNames } from "../ui/class-names.ts";
import { ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { useNarrow, usePageTitle } from "../ui/page.tsx";
import { isLive, needsYou, sessionTitle } from "../ui/session-state.ts";
import { useAskedPermission } from "./asked-permission.ts";
import { ChangesTab } from "./changes-tab.tsx";
import { AttentionCard, PermissionCard } from "./permission-card.tsx";
import { PlaybackTab, type PlaybackWish, useRecording } from "./playback-tab.tsx";
import { PromptBox } from "./prompt-box.tsx";
import { SessionHeader, useSessionActions } from "./session-header.tsx";
import { SessionNotices } from "./session-notices.tsx";
import { SessionTabPanel, SessionTabs, SplitView } from "./session-tabs.tsx";
import { SessionTerminal } from "./session-terminal.tsx";
import { TurnList } from "./turn-list.tsx";
import { type LoadedSession, useSession } from "./use-session.ts";

export function SessionPage() {
  const { sessionId = "" } = useParams();
  return <OneSession key={sessionId} sessionId={sessionId} />;
}

function OneSession({ sessionId }: { readonly sessionId: string }) {
  const { query, older } = useSession(sessionId);
  const { data, error, refetch } = query;
  const recording = useRecording(sessionId);
  // The layout depends on whether an ended session has a recording.
  const known =
    recording.data !== undefined || recording.error !== null || (data !== undefined && isLive(data.summary));
  const recorded = recording.data === undefined || recording.data.terminals.length > 0;
  usePageTitle(data === undefined ? "Session" : sessionTitle(data.summary));
  const [onOlder] = useState(() => () => older.mutate());
  if (data === undefined || !known) {
    const gone = error instanceof PosternClientError && error.status === 404;
    return (
      <div className="mx-auto w-full max-w-2xl px-4 py-8">
        <h1 className="sr-only">Session</h1>
        {error === null ? (
          <LoadingRows label="Loading session" />
        ) : (
          <>
            <ErrorNotice error={error} {...(gone ? {} : { onRetry: () => void refetch() })} />
            <p className="mt-3 text-sm">
              <Link to="/" className="text-accent underline underline-offset-2">
                Go to sessions
              </Link>
            </p>
          </>
        )}
      </div>
    );
  }
  return (
    <SessionView
      sessionId={sessionId}
      loaded={data}
      recorded={recorded}
      loadingOlder={older.isPending}
      onOlder={onOlder}
      trouble={error ?? older.error}
    />
  );
}

type LeftTab = "terminal" | "playback";
type RightTab = "turns" | "changes";

function SessionView(props: {
  /** The id of the page's address. */
  readonly sessionId: string;
  readonly loaded: LoadedSession;
  /** False if the session never ran here, or its recordings were removed. */
  readonly recorded: boolean;
  readonly loadingOlder: boolean;
  readonly onOlder: () => void;
  readonly trouble: Error | null;
}) {
  const { sessionId, loaded, recorded, loadingOlder, onOlder, trouble } = props;
  const { summary, store, skippedLines } = loaded;
  const narrow = useNarrow();
  const screen = useHasScreen(summary, recorded);
  const root = useRef<HTMLDivElement>(null);
  const [left, setLeft] = useState<LeftTab>("terminal");
  const [right, setRight] = useState<RightTab>("turns");
  // On a phone, a pending request is shown first.
  const [single, setSingle] = useState<LeftTab | RightTab>(
    screen && isLive(summary) && !needsYou(summary) ? "terminal" : "turns",
  );
  const [wish, setWish] = useState<PlaybackWish | null>(null);
  const [momentMs, setMomentMs] = useState<number | null>(null);
  const [closing, setClosing] = useState(false);
  const [closed, setClosed] = useState<CloseOutput | null>(null);
  const actions = useSessionActions(summary, sessionId);
  const playing = screen && (narrow ? single : left) === "playback";
  const waits = needsYou(summary);
  // Dialogs have their own card.
  const permissions = summary.permissions.filter(({ kind }) => kind !== "dialog");

  const show = (tab: LeftTab | RightTab): void => {
    setSingle(tab);
    if (tab === "terminal" || tab === "playback") setLeft(tab);
    else setRight(tab);
  };
  useAskedPermission(summary.permissions, () => show("turns"));
  const focusSoon = (selector: string): void => {
    // After the tab is shown.
    setTimeout(() => root.current?.querySelector<HTMLElement>(selector)?.focus(), 50);
  };
  const toTerminal = (): void => {
    if (!screen) return;
    show("terminal");
    focusSoon(".xterm-helper-textarea");
  };
  const deeds: Readonly<Record<SessionDeed, () => void>> = {
    terminal: toTerminal,
    prompt: () => {
      show("turns");
      focusSoon("textarea[data-after-terminal]");
    },
    turns: () => {
      show("turns");
      focusSoon('[role="log"]');
    },
    changes: () => show("changes"),
    playback: () => screen && show("playback"),
    interrupt: () => isLive(summary) && actions.interrupt(),
    close: () => isLive(summary) && setClosing(true),
  };
  useShortcuts(sessionShortcutList.map(({ keys, label, does }) => ({ keys, label, run: deeds[does] })));

  // Stable, so that turns do not render again with every change of the session.
  const play = useCallback(
    (at: string): void => {
      setWish((before) => ({ at, nth: (before?.nth ?? 0) + 1 }));
      setSingle("playback");
      setLeft("playback");
    },
    [setWish, setSingle, setLeft],
  );
  const terminal = <SessionTerminal summary={summary} onPlayback={recorded ? () => show("playback") : undefined} />;
  const playback = playing && <PlaybackTab sessionId={summary.sessionId} wish={wish} onMoment={setMomentMs} />;
  const conversation = (
    // Without a terminal, a readable column.
    <div className={classNames("flex min-h-0 flex-1 flex-col", !screen && "mx-auto w-full max-w-3xl")}>
      <TurnList
        store={store}
        summary={summary}
        skippedLines={skippedLines}
        loadingOlder={loadingOlder}
        onOlder={onOlder}
        playedAt={playing ? momentMs : null}
        onPlay={recorded ? play : undefined}
      />
      {summary.activity === "needs_attention" && (
        <AttentionCard summary={summary} sessionId={sessionId} onTerminal={toTerminal} />
      )}
      {permissions.map((permission) => (
        <PermissionCard
          key={permission.permissionId}
          permission={permission}
          summary={summary}
          sessionId={sessionId}
          onTerminal={toTerminal}
        />
      ))}
      {summary.owner !== "external" && <PromptBox summary={summary} sessionId={sessionId} turns={store.turns} />}
    </div>
  );
  const changes = <ChangesTab summary={summary} paused={closing} />;
  const rightTabs = (
    <SessionTabs
      label="Conversation and changes"
      value={right}
      onValue={setRight}
      tabs={[
        { name: "turns", label: "Conversation", waits },
        { name: "changes", label: "Changes" },
      ]}
    >
      <SessionTabPanel name="turns">{conversation}</SessionTabPanel>
      <SessionTabPanel name="changes">{changes}</SessionTabPanel>
    </SessionTabs>
  );
  return (
    <div ref={root} className="flex h-full min-h-0 flex-col">
      <SessionHeader
        summary={summary}
        sessionId={sessionId}
        actions={actions}
        closing={closing}
        onClosing={setClosing}
        onClosed={setClosed}
      />
      <SessionNotices
        summary={summary}
        sessionId={sessionId}
        closed={closed}
        trouble={trouble}
        onDismiss={() => setClosed(null)}
      />
      {narrow ? (
        <SessionTabs
          label="Session views"
          value={single}
          onValue={show}
          tabs={[
            ...(screen ? [{ name: "terminal", label: "Terminal" } as const] : []),
            { name: "turns", label: "Conversation", waits },
            { name: "changes", label: "Changes" },
            ...(screen ? [{ name: "playback", label: "Recording" } as const] : []),
          ]}
        >
          {screen && (
            <SessionTabPanel name="terminal" kept>
              {terminal}
            </SessionTabPanel>
          )}
          <SessionTabPanel name="turns">{conversation}</SessionTabPanel>
          <SessionTabPanel name="changes">{changes}</SessionTabPanel>
          {screen && <SessionTabPanel name="playback">{playback}</SessionTabPanel>}
        </SessionTabs>
      ) : !screen ? (
        rightTabs
      ) : (
        <SplitView
          left={
            <SessionTabs
              label="Terminal and recording"
              value={left}
              onValue={setLeft}
              tabs={[
                { name: "terminal", label: "Terminal" },
                { name: "playback", label: "Recording" },
              ]}
            >
              <SessionTabPanel name="terminal" kept>
                {terminal}
              </SessionTabPanel>
              <SessionTabPanel name="playback">{playback}</SessionTabPanel>
            </SessionTabs>
          }
          right={rightTabs}
        />
      )}
    </div>
  );
}

/** Whether there is a terminal to show: live, seen live on this page, recorded, or its last screen. */
function useHasScreen(summary: SessionSummary, recorded: boolean): boolean {
  const live = isLive(summary) && summary.owner !== "external";
  const [lived, setLived] = useState(live);
  if (live && !lived) setLived(true);
  return live || lived || recorded || (summary.failure?.lastScreen ?? "").trim() !== "";
}
