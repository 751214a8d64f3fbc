import { useCallback, useRef, useState } from "react";
import { Link, useParams } from "react-router";
import { PosternClientError } from "../../src/client/index.ts";
import type { CloseOutput, SessionSummary } from "../../src/wire/coding.ts";
import { type SessionDeed, sessionShortcutList, useShortcuts } from "../app/shortcuts.ts";
import { ErrorNotice, LoadingRows } from "../ui/notice.tsx";
import { useNarrow, usePageTitle } from "../ui/page.tsx";
import { isLive, needsYou, sessionTitle } from "../ui/session-state.ts";
import { useAskedPermission } from "./asked-permission.ts";
import { ChangesTab } from "./changes-tab.tsx";
import { ConversationPane } from "./conversation-pane.tsx";
import { ConversationTools, PageItems, ShowPane } from "./page-tools.tsx";
import { PlaybackTab, type PlaybackWish, useRecording } from "./playback-tab.tsx";
import { SessionHeader, useSessionActions } from "./session-header.tsx";
import { useSessionLayout } from "./session-layout.ts";
import { SessionNotices } from "./session-notices.tsx";
import { SessionTabPanel, SessionTabs, SplitView } from "./session-tabs.tsx";
import { SessionTerminal } from "./session-terminal.tsx";
import { useJumps } from "./use-jumps.ts";
import { type LoadedSession, useSession } from "./use-session.ts";

export function SessionPage() {
  const { sessionId = "" } = useParams();
  return <OneSession key={sessionId} sessionId={sessionId} />;
}

function OneSession({ sessionId }: { readonly sessionId: string }) {
  const { query, older, loadTo } = useSession(sessionId);
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
      onLoad={loadTo}
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
  /** Loads the conversation back to this turn. */
  readonly onLoad: (index: number) => Promise<void>;
  readonly trouble: Error | null;
}) {
  const { sessionId, loaded, recorded, loadingOlder, onOlder, onLoad, trouble } = props;
  const { summary, store } = loaded;
  const narrow = useNarrow();
  const screen = useHasScreen(summary, recorded);
  const root = useRef<HTMLDivElement>(null);
  const [left, setLeft] = useState<LeftTab>("terminal");
  const [right, setRight] = useState<RightTab>("turns");
  const [single, setSingle] = useState<LeftTab | RightTab>("turns");
  const [layout, setLayout] = useSessionLayout();
  const list = useRef<HTMLDivElement>(null);
  const jumps = useJumps(sessionId, { list, turns: store.turns, onLoad });
  const [searching, setSearching] = useState(false);
  const [wish, setWish] = useState<PlaybackWish | null>(null);
  const [momentMs, setMomentMs] = useState<number | null>(null);
  const [closing, setClosing] = useState(false);
  const [closed, setClosed] = useState<CloseOutput | null>(null);
  const actions = useSessionActions(summary, sessionId);
  const playing = screen && (narrow ? single : left) === "playback";
  const waits = needsYou(summary);

  const show = (tab: LeftTab | RightTab): void => {
    setSingle(tab);
    if (tab === "terminal" || tab === "playback") setLeft(tab);
    else setRight(tab);
    const pane = tab === "terminal" || tab === "playback" ? "terminal" : "conversation";
    if (layout.hidden === pane) setLayout({ hidden: "none" });
  };
  const search = (): void => {
    show("turns");
    setSearching(true);
    focusSoon('input[aria-label="Search this conversation"]');
  };
  const jump = (...[mark, direction]: Parameters<typeof jumps.jump>): void => {
    show("turns");
    jumps.jump(mark, direction);
  };
  const toRequest = (): void => {
    show("turns");
    focusSoon("[data-request] button");
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
    search,
    previousPrompt: () => jump("prompt", "previous"),
    nextPrompt: () => jump("prompt", "next"),
    previousProblem: () => jump("problem", "previous"),
    nextProblem: () => jump("problem", "next"),
    request: toRequest,
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
      setLayout({ hidden: "none" });
    },
    [setWish, setSingle, setLeft, setLayout],
  );
  const split = screen && !narrow && layout.hidden === "none";
  const conversation = (
    <ConversationPane
      {...{ sessionId, loaded, loadingOlder, onOlder, list, jumps, searching }}
      // Without a terminal, a readable column.
      readable={!split}
      playedAt={playing ? momentMs : null}
      onPlay={recorded ? play : undefined}
      onTerminal={toTerminal}
      onSearching={setSearching}
    />
  );
  const tools = <ConversationTools onSearch={search} onJump={jump} />;
  const layoutItems = (
    <PageItems
      waits={waits}
      layout={screen && !narrow ? layout : null}
      onLayout={setLayout}
      onJump={jump}
      onRequest={toRequest}
    />
  );
  const terminal = <SessionTerminal summary={summary} onPlayback={recorded ? () => show("playback") : undefined} />;
  const playback = playing && <PlaybackTab sessionId={summary.sessionId} wish={wish} onMoment={setMomentMs} />;
  const changes = <ChangesTab summary={summary} paused={closing} onCloseSession={() => setClosing(true)} />;
  const rightTabs = (
    <SessionTabs
      label="Conversation and changes"
      value={right}
      onValue={setRight}
      tabs={[
        { name: "turns", label: "Conversation", waits },
        { name: "changes", label: "Changes" },
      ]}
      actions={
        <>
          {right === "turns" && tools}
          {screen && layout.hidden === "terminal" && (
            <ShowPane label="Show terminal" onShow={() => setLayout({ hidden: "none" })} />
          )}
        </>
      }
    >
      <SessionTabPanel name="turns">{conversation}</SessionTabPanel>
      <SessionTabPanel name="changes">{changes}</SessionTabPanel>
    </SessionTabs>
  );
  const leftTabs = (
    <SessionTabs
      label="Terminal and recording"
      value={left}
      onValue={setLeft}
      tabs={[
        { name: "terminal", label: "Terminal" },
        { name: "playback", label: "Recording" },
      ]}
      actions={
        layout.hidden === "conversation" && (
          <ShowPane label="Show conversation" onShow={() => setLayout({ hidden: "none" })} />
        )
      }
    >
      <SessionTabPanel name="terminal" kept>
        {terminal}
      </SessionTabPanel>
      <SessionTabPanel name="playback">{playback}</SessionTabPanel>
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
        layoutItems={layoutItems}
      />
      <SessionNotices
        summary={summary}
        sessionId={sessionId}
        closed={closed}
        trouble={trouble ?? jumps.error}
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
          actions={single === "turns" && tools}
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
      ) : !screen || layout.hidden === "terminal" ? (
        rightTabs
      ) : layout.hidden === "conversation" ? (
        leftTabs
      ) : (
        <SplitView left={leftTabs} right={rightTabs} swapped={layout.swapped} />
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
