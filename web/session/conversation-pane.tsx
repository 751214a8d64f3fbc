import { type RefObject, useState } from "react";
import { classNames } from "../ui/class-names.ts";
import { AttentionCard, PermissionCard } from "./permission-card.tsx";
import { PromptBox } from "./prompt-box.tsx";
import { TurnList } from "./turn-list.tsx";
import { SearchedText, TurnSearch } from "./turn-search.tsx";
import type { Jumps } from "./use-jumps.ts";
import type { LoadedSession } from "./use-session.ts";

/** The turns of a session with their search, open requests, and the prompt box. */
export function ConversationPane(props: {
  /** The id of the page's address. */
  readonly sessionId: string;
  readonly loaded: LoadedSession;
  readonly loadingOlder: boolean;
  readonly onOlder: () => void;
  readonly list: RefObject<HTMLDivElement | null>;
  readonly jumps: Jumps;
  readonly searching: boolean;
  /** Limits the length of lines. */
  readonly readable: boolean;
  /** The position of the recording in milliseconds; null while none is playing. */
  readonly playedAt: number | null;
  readonly onPlay: ((at: string) => void) | undefined;
  readonly onTerminal: () => void;
  readonly onSearching: (searching: boolean) => void;
}) {
  const { sessionId, loaded, list, jumps, searching, readable, onTerminal, onSearching } = props;
  const { summary, store, skippedLines } = loaded;
  const [searched, setSearched] = useState("");
  // Dialogs have their own card.
  const permissions = summary.permissions.filter(({ kind }) => kind !== "dialog");
  return (
    <div className={classNames("flex min-h-0 flex-1 flex-col", readable && "mx-auto w-full max-w-3xl")}>
      {searching && (
        <TurnSearch
          sessionId={sessionId}
          turnCount={summary.turnCount}
          list={list}
          jumps={jumps}
          onQuery={setSearched}
          onClose={() => onSearching(false)}
        />
      )}
      <SearchedText value={searched}>
        <TurnList
          list={list}
          sessionId={sessionId}
          target={jumps.target}
          store={store}
          summary={summary}
          skippedLines={skippedLines}
          loadingOlder={props.loadingOlder}
          onOlder={props.onOlder}
          playedAt={props.playedAt}
          onPlay={props.onPlay}
        />
      </SearchedText>
      <div role="status">
        {jumps.note !== null && (
          <p className="border-t border-line bg-panel px-4 py-1 text-center text-xs text-ink-soft">{jumps.note}</p>
        )}
      </div>
      <div data-request className="contents">
        {summary.activity === "needs_attention" && (
          <AttentionCard summary={summary} sessionId={sessionId} onTerminal={onTerminal} />
        )}
        {permissions.map((permission) => (
          <PermissionCard
            key={permission.permissionId}
            permission={permission}
            summary={summary}
            sessionId={sessionId}
            onTerminal={onTerminal}
          />
        ))}
      </div>
      {summary.owner !== "external" && <PromptBox summary={summary} sessionId={sessionId} turns={store.turns} />}
    </div>
  );
}
