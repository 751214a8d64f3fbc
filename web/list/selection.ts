import { useSyncExternalStore } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";

/** The selected sessions by ID, in the order of selection. Contains only sessions that were visible when they were selected. */
export type Selection = ReadonlyMap<string, SessionSummary>;

const none: Selection = new Map();
let selected: Selection = none;
/** Where a range begins: the session that was clicked last. */
let anchorId: string | null = null;
/** The list that the selection belongs to. */
let listed = "";
/** The row whose title is being edited. */
let renamingId: string | null = null;
const listeners = new Set<() => void>();

/** The session that was selected or deselected last. */
export function anchor(): string | null {
  return anchorId;
}

function set(next: Selection): void {
  selected = next.size === 0 ? none : next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useSelection(): Selection {
  return useSyncExternalStore(subscribe, () => selected);
}

/** Renders only the rows whose state changes. */
export function useIsSelected(sessionId: string): boolean {
  return useSyncExternalStore(subscribe, () => selected.has(sessionId));
}

export function useIsSelecting(): boolean {
  return useSyncExternalStore(subscribe, () => selected.size > 0);
}

export function useIsRenaming(sessionId: string): boolean {
  return useSyncExternalStore(subscribe, () => renamingId === sessionId);
}

export function rename(sessionId: string | null): void {
  renamingId = sessionId;
  for (const listener of listeners) listener();
}

export function clearSelection(): void {
  anchorId = null;
  set(none);
}

/** Another list begins without a selection. */
export function startSelection(list: string): void {
  if (list !== listed) clearSelection();
  listed = list;
}

export function deselect(sessionIds: readonly string[]): void {
  set(new Map([...selected].filter(([id]) => !sessionIds.includes(id))));
}

/** Selects or deselects one session; with `range`, also all visible rows between it and the one clicked before. */
export function toggle(
  session: SessionSummary,
  { range, shown }: { readonly range: boolean; readonly shown: readonly SessionSummary[] },
): void {
  const wanted = !selected.has(session.sessionId);
  const between = range ? sessionsBetween(shown, anchorId, session.sessionId) : [];
  anchorId = session.sessionId;
  const next = new Map(selected);
  for (const one of [...between, session]) {
    if (wanted || range) next.set(one.sessionId, one);
    else next.delete(one.sessionId);
  }
  set(next);
}

export function selectAll(shown: readonly SessionSummary[]): void {
  set(new Map(shown.map((session) => [session.sessionId, session])));
}

/** By ID, because rows move while sessions work. Empty if one of the two is not shown. */
export function sessionsBetween<One extends { readonly sessionId: string }>(
  shown: readonly One[],
  fromId: string | null,
  toId: string,
): readonly One[] {
  const from = shown.findIndex(({ sessionId }) => sessionId === fromId);
  const to = shown.findIndex(({ sessionId }) => sessionId === toId);
  if (from === -1 || to === -1) return [];
  return shown.slice(Math.min(from, to), Math.max(from, to) + 1);
}

/** Updates the selected sessions to the newest state that the list has read, and deselects those that it no longer shows. */
export function refreshSelection(fresh: readonly SessionSummary[]): void {
  const changed = fresh.filter((session) => {
    const before = selected.get(session.sessionId);
    return before !== undefined && before !== session;
  });
  if (changed.length === 0) return;
  set(new Map([...selected].map(([id, before]) => [id, changed.find(({ sessionId }) => sessionId === id) ?? before])));
}
