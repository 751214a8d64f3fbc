import { useQuery } from "@tanstack/react-query";
import { Columns2, Pilcrow, RefreshCw } from "lucide-react";
import { type DiffAgainst, lookSchema, type SessionDiff } from "../../src/wire/changes.ts";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { acting } from "../api/client.ts";
import { changePreferences, usePreferences } from "../app/preferences.ts";
import { counted } from "../session/session-words.ts";
import { IconButton } from "../ui/button.tsx";
import { SelectFilter } from "../ui/field.tsx";
import { EmptyState } from "../ui/notice.tsx";
import { Scrollable, useNarrow } from "../ui/page.tsx";
import { ReviewFiles } from "./review-files.tsx";
import { SendReview } from "./send-review.tsx";
import { useReview } from "./use-review.ts";

const choiceWords = {
  base: "All changes",
  head: "Not committed",
  seen: "Since I last looked",
  turn: "Last turn",
} as const;

/** Records once what the user sees now. @returns the time of their previous look; null if there is none */
function useLook(sessionId: string): string | null {
  const { data } = useQuery({
    queryKey: ["look", sessionId],
    queryFn: ({ signal }) => acting.lookAtChanges({ sessionId }, { signal, output: lookSchema }),
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  return data?.since ?? null;
}

/** The review of a session's changes. */
export function ReviewTab(props: {
  readonly summary: SessionSummary;
  readonly diff: SessionDiff;
  readonly against: DiffAgainst;
  readonly onAgainst: (against: DiffAgainst) => void;
  readonly refreshing: boolean;
  readonly onRefresh: () => void;
}) {
  const { summary, diff, against, onAgainst, refreshing, onRefresh } = props;
  const { files, base, truncated, lastTurnAt } = diff;
  const review = useReview(summary);
  const { diffLayout, ignoreWhitespace } = usePreferences();
  const split = diffLayout === "split";
  const narrow = useNarrow();
  const since = useLook(summary.sessionId);
  const choices: readonly DiffAgainst[] = [
    "base",
    ...(summary.worktree === null ? [] : (["head"] as const)),
    ...(since === null ? [] : (["seen"] as const)),
    ...(lastTurnAt === undefined ? [] : (["turn"] as const)),
  ];
  const viewed = files.filter((file) => review.isViewed(file.path, file.version)).length;
  return (
    <>
      <Scrollable label="Changes" className="min-h-0 flex-1 overflow-y-auto">
        <div className="sticky top-0 z-10 flex items-center gap-2 border-b border-line bg-ground px-3 py-1.5 text-xs text-ink-soft">
          <span className="min-w-0 flex-1 truncate">
            {counted(files.length, "file")} changed since <span className="font-mono">{base.name}</span>{" "}
            <span className="font-mono text-ink-faint">{base.commit.slice(0, 8)}</span>
          </span>
          {choices.length > 1 && (
            <SelectFilter
              label="Compare with"
              value={against}
              onChange={({ target }) => onAgainst(choices.find((choice) => choice === target.value) ?? "base")}
            >
              {choices.map((choice) => (
                <option key={choice} value={choice}>
                  {choiceWords[choice]}
                </option>
              ))}
            </SelectFilter>
          )}
          {viewed > 0 && (
            <span className="shrink-0">
              {viewed} of {files.length} viewed
            </span>
          )}
          {!narrow && (
            <IconButton
              label="Side by side"
              icon={Columns2}
              aria-pressed={split}
              className="aria-pressed:bg-accent-soft aria-pressed:text-accent"
              onClick={() => changePreferences({ diffLayout: split ? "unified" : "split" })}
            />
          )}
          <IconButton
            label="Ignore whitespace"
            icon={Pilcrow}
            aria-pressed={ignoreWhitespace}
            className="aria-pressed:bg-accent-soft aria-pressed:text-accent"
            onClick={() => changePreferences({ ignoreWhitespace: !ignoreWhitespace })}
          />
          <IconButton
            label="Refresh"
            icon={RefreshCw}
            disabled={refreshing}
            className={refreshing ? "animate-spin" : ""}
            onClick={onRefresh}
          />
        </div>
        {files.length === 0 && <EmptyState title="No changes">Nothing has changed since {base.name}.</EmptyState>}
        <ReviewFiles files={files} against={against} review={review} />
        {truncated && <p className="px-3 py-2 text-xs text-ink-faint">Not all changes are listed.</p>}
      </Scrollable>
      <SendReview review={review} />
    </>
  );
}
