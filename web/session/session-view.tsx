import { useCallback, useRef, useState } from "react";
import type { CloseOutput } from "../../src/wire/coding.ts";
import { useShortcuts } from "../app/shortcuts.ts";
import { isLive } from "../ui/session-state.ts";
import { ChangesTab } from "./changes-tab.tsx";
import { PermissionCard } from "./permission-card.tsx";
import { PlaybackTab, type PlaybackWish } from "./playback-tab.tsx";
import { PromptBox } from "./prompt-box.tsx";
import { SessionHeader, useSessionActions } from "./session-header.tsx";
import { SessionNotices } from "./session-notices.tsx";
import { type SessionDeed, sessionShortcutList } from "./session-shortcuts.ts";
import { SessionTabPanel, SessionTabs } from "./session-tabs.tsx";
import { SessionTerminal } from "./session-terminal.tsx";
import { SplitView } from "./split-view.tsx";
import { TurnList } from "./turn-list.tsx";
import { useNarrow } from "./use-narrow.ts";
import type { LoadedSession } from "./use-session.ts";

type LeftTab = "terminal" | "playback";
type RightTab = "turns" | "changes";

/** A session's page, once it is loaded: beside each other where there is room, else in tabs. */
export function SessionView({
  sessionId,
  loaded,
  loadingOlder,
  onOlder,
  trouble,
}: {
  /** The id of the page's address. */
  readonly sessionId: string;
  readonly loaded: LoadedSession;
  readonly loadingOlder: boolean;
  readonly onOlder: () => void;
  readonly trouble: Error | null;
}) {
  const { summary, store, skippedLines } = loaded;
  const narrow = useNarrow();
  const root = useRef<HTMLDivElement>(null);
  const [left, setLeft] = useState<LeftTab>("terminal");
  const [right, setRight] = useState<RightTab>("turns");
  // On a phone one of all four: who is asked something sees the question first.
  const [single, setSingle] = useState<LeftTab | RightTab>(
    isLive(summary) && summary.permissions.length === 0 ? "terminal" : "turns",
  );
  const [wish, setWish] = useState<PlaybackWish | null>(null);
  const [momentMs, setMomentMs] = useState<number | null>(null);
  const [closing, setClosing] = useState(false);
  const [closed, setClosed] = useState<CloseOutput | null>(null);
  const actions = useSessionActions(summary, sessionId);
  const playing = (narrow ? single : left) === "playback";
  const waits = summary.permissions.length > 0;

  const show = (tab: LeftTab | RightTab): void => {
    setSingle(tab);
    if (tab === "terminal" || tab === "playback") setLeft(tab);
    else setRight(tab);
  };
  const focusSoon = (selector: string): void => {
    // The tab has to be shown first.
    setTimeout(() => root.current?.querySelector<HTMLElement>(selector)?.focus(), 50);
  };
  const toTerminal = (): void => {
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
    playback: () => show("playback"),
    interrupt: () => isLive(summary) && actions.interrupt(),
    close: () => isLive(summary) && setClosing(true),
  };
  useShortcuts(sessionShortcutList.map(({ keys, label, does }) => ({ keys, label, run: deeds[does] })));

  // The same function each time, so that turns are not painted anew with every look at the session.
  const play = useCallback(
    (at: string): void => {
      setWish((before) => ({ at, nth: (before?.nth ?? 0) + 1 }));
      setSingle("playback");
      setLeft("playback");
    },
    [setWish, setSingle, setLeft],
  );
  const terminal = <SessionTerminal summary={summary} actions={actions} onPlayback={() => show("playback")} />;
  const playback = playing && <PlaybackTab sessionId={summary.sessionId} wish={wish} onMoment={setMomentMs} />;
  const conversation = (
    <>
      <TurnList
        store={store}
        summary={summary}
        skippedLines={skippedLines}
        loadingOlder={loadingOlder}
        onOlder={onOlder}
        playedAt={playing ? momentMs : null}
        onPlay={play}
      />
      {summary.permissions.map((permission) => (
        <PermissionCard
          key={permission.permissionId}
          permission={permission}
          summary={summary}
          sessionId={sessionId}
          onTerminal={toTerminal}
        />
      ))}
      {summary.owner !== "external" && <PromptBox summary={summary} sessionId={sessionId} turns={store.turns} />}
    </>
  );
  const changes = <ChangesTab summary={summary} paused={closing} />;
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
          label="Views of the session"
          value={single}
          onValue={show}
          tabs={[
            { name: "terminal", label: "Terminal" },
            { name: "turns", label: "Turns", waits },
            { name: "changes", label: "Changes" },
            { name: "playback", label: "Playback" },
          ]}
        >
          <SessionTabPanel name="terminal" kept>
            {terminal}
          </SessionTabPanel>
          <SessionTabPanel name="turns">{conversation}</SessionTabPanel>
          <SessionTabPanel name="changes">{changes}</SessionTabPanel>
          <SessionTabPanel name="playback">{playback}</SessionTabPanel>
        </SessionTabs>
      ) : (
        <SplitView
          left={
            <SessionTabs
              label="Terminal and its playback"
              value={left}
              onValue={setLeft}
              tabs={[
                { name: "terminal", label: "Terminal" },
                { name: "playback", label: "Playback" },
              ]}
            >
              <SessionTabPanel name="terminal" kept>
                {terminal}
              </SessionTabPanel>
              <SessionTabPanel name="playback">{playback}</SessionTabPanel>
            </SessionTabs>
          }
          right={
            <SessionTabs
              label="Turns and changes"
              value={right}
              onValue={setRight}
              tabs={[
                { name: "turns", label: "Turns", waits },
                { name: "changes", label: "Changes" },
              ]}
            >
              <SessionTabPanel name="turns">{conversation}</SessionTabPanel>
              <SessionTabPanel name="changes">{changes}</SessionTabPanel>
            </SessionTabs>
          }
        />
      )}
    </div>
  );
}
