import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useEffectEvent, useMemo } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import {
  type ListedSession,
  type SessionGroup,
  type SessionsAsked,
  sessionGroups,
  sessionPageQuery,
} from "../api/sessions.ts";
import { useShortcuts } from "../app/shortcuts.ts";
import { anchor, clearSelection, selectAll, toggle } from "./selection.ts";

const groupName = "postern.session-group";

/** The group comes from the address or, without one, from this browser's last choice. */
export function useRememberedGroup(
  group: SessionGroup | "",
  change: (changes: { readonly group: SessionGroup | "" }) => void,
): void {
  const restore = useEffectEvent(() => {
    const stored = sessionGroups.find((one) => one === localStorage.getItem(groupName));
    if (group === "" && stored !== undefined) change({ group: stored });
  });
  // Only when the page opens; after that, the choice is remembered.
  useEffect(() => restore(), []);
  useEffect(() => {
    localStorage.setItem(groupName, group);
  }, [group]);
}

/** The most that is loaded for one range. */
const maxRangePages = 50;

/**
 * Selection in a list that renders only some of its rows. A range covers every row between its ends in the order shown, and loads the pages
 * in between. Ctrl+A selects the rendered rows, Escape clears the selection.
 */
export function useToggle(asked: SessionsAsked, above: readonly ListedSession[]) {
  const client = useQueryClient();
  const pageOf = useCallback(
    (page: number): readonly SessionSummary[] | undefined =>
      client.getQueryData(sessionPageQuery(asked, page).queryKey)?.listed.map(({ session }) => session),
    [client, asked],
  );

  const shortcuts = useMemo(
    () => [
      {
        keys: "mod+a",
        label: "Select all sessions shown",
        run: () => {
          const ids = new Set(
            [...document.querySelectorAll<HTMLElement>("main [data-session-id]")].map(
              (row) => row.dataset["sessionId"],
            ),
          );
          const known = [...above.map(({ session }) => session), ...loadedRows(pageOf)];
          selectAll(known.filter(({ sessionId }) => ids.has(sessionId)));
        },
      },
    ],
    [above, pageOf],
  );
  useShortcuts(shortcuts);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !event.defaultPrevented && document.querySelector("[role=dialog]") === null)
        clearSelection();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);

  return useCallback(
    async (session: SessionSummary, range: boolean): Promise<void> => {
      const aboveRows = above.map((row) => row.session);
      const isAbove = new Set(aboveRows.map(({ sessionId }) => sessionId));
      const rowsFrom = (pages: readonly (readonly SessionSummary[])[]): readonly SessionSummary[] => [
        ...aboveRows,
        ...pages.flat().filter(({ sessionId }) => !isAbove.has(sessionId)),
      ];
      if (!range) return toggle(session, { range: false, shown: [] });
      const ends = [anchor(), session.sessionId].map((id) => pageWith(pageOf, id));
      const [first = 0, last = 0] = ends.toSorted((a, b) => a - b);
      const pages: (readonly SessionSummary[])[] = [];
      for (let page = first; page <= Math.min(last, first + maxRangePages); page += 1) {
        const { listed } = await client.ensureQueryData(sessionPageQuery(asked, page));
        pages.push(listed.map((row) => row.session));
      }
      return toggle(session, { range: true, shown: rowsFrom(pages) });
    },
    [client, asked, above, pageOf],
  );
}

const maxPages = 5_000;

/** The page that shows a session; the first page for sessions above all pages. */
function pageWith(pageOf: (page: number) => readonly SessionSummary[] | undefined, sessionId: string | null): number {
  for (let page = 0; page < maxPages; page += 1) {
    if (pageOf(page)?.some((session) => session.sessionId === sessionId) === true) return page;
  }
  return 0;
}

function loadedRows(pageOf: (page: number) => readonly SessionSummary[] | undefined): readonly SessionSummary[] {
  return Array.from({ length: maxPages }, (_, page) => pageOf(page) ?? []).flat();
}
