import {
  CircleStop,
  FileDiff,
  Film,
  Grid2x2,
  type LucideIcon,
  MessageSquare,
  MessagesSquare,
  Moon,
  Search,
  Sun,
  SunMoon,
  X,
} from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import { type NavigateFunction, useLocation, useNavigate } from "react-router";
import type { Scope } from "../../src/wire/access.ts";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { noFilters, type SessionPage, useLiveSessions, useSessionPage } from "../api/sessions.ts";
import { useMay, useMe } from "../api/sign-in.ts";
import { Lamp } from "../ui/badge.tsx";
import { classNames } from "../ui/class-names.ts";
import { Dialog } from "../ui/dialog.tsx";
import { useSettled } from "../ui/field.tsx";
import { projectOf, sessionState, sessionTitle, shortPath } from "../ui/session-state.ts";
import { matchesWords, newSessionPlace, type Place, placesFor, visible } from "./places.ts";
import { changePreferences } from "./preferences.ts";
import { pressShortcut, type sessionShortcutList } from "./shortcuts.ts";

interface Command {
  readonly id: string;
  readonly label: string;
  readonly detail: string;
  readonly sign: ReactNode;
  readonly run: () => void;
}

const everything = { query: "", everywhere: false, group: "", filters: noFilters } as const;
const maxShown = 50;
/** Delay between the last key and the search: too short to notice. */
const typingMs = 140;

export function CommandPalette({ onClose }: { readonly onClose: () => void }) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const { commands, searching } = useCommands(words);
  const listId = useId();
  const list = useRef<HTMLUListElement>(null);
  // The last entry searches all sessions.
  const found = commands.length > maxShown ? [...commands.slice(0, maxShown - 1), ...commands.slice(-1)] : commands;
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => {
    list.current?.children.item(chosen)?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const run = (command: Command | undefined): void => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "ArrowDown") setAt((chosen + 1) % Math.max(1, found.length));
    else if (event.key === "ArrowUp") setAt((chosen - 1 + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") run(found[chosen]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog
      onClose={onClose}
      title="Go to"
      wide
      top={
        <input
          type="text"
          role="combobox"
          aria-label="Page, session or setting"
          aria-expanded
          aria-controls={listId}
          aria-activedescendant={found.length === 0 ? undefined : `${listId}-${chosen}`}
          placeholder="Page, session or setting"
          autoComplete="off"
          value={words}
          onChange={(event) => {
            setWords(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
          className="h-10 w-full rounded-md border border-line-strong bg-raised px-3"
        />
      }
    >
      <ul
        ref={list}
        id={listId}
        role="listbox"
        aria-label="Found"
        className="flex min-h-0 flex-col gap-px overflow-y-auto"
      >
        {found.map((command, index) => (
          <li
            key={command.id}
            id={`${listId}-${index}`}
            role="option"
            aria-selected={index === chosen}
            onMouseMove={() => setAt(index)}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => run(command)}
            className={classNames(
              "flex h-9 shrink-0 cursor-pointer items-center gap-2.5 rounded-md px-2",
              index === chosen && "bg-hover",
            )}
          >
            <span className="flex w-4 shrink-0 justify-center text-ink-faint">{command.sign}</span>
            <span className="min-w-0 flex-1 truncate" title={command.label}>
              {command.label}
            </span>
            <span className="max-w-[38%] truncate text-xs max-sm:max-w-[30%] text-ink-faint">{command.detail}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && (
        <p role="status" className="px-2 py-4 text-sm text-ink-faint">
          {searching ? "Searching…" : "No matches."}
        </p>
      )}
    </Dialog>
  );
}

/** Pages, settings, and sessions, which the gateway searches. */
function useCommands(words: string): { readonly commands: readonly Command[]; readonly searching: boolean } {
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const me = useMe();
  const enabled = useMay("coding:read");
  const live = useLiveSessions(noFilters, { enabled });
  const recent = useSessionPage(everything, 0, { enabled });
  const wanted = words.trim();
  const settled = useSettled(wanted, typingMs);
  const search = useSessionPage({ ...everything, query: settled }, 0, { enabled: enabled && settled !== "" });
  const searching = enabled && wanted !== "" && (settled !== wanted || search.isFetching);
  const commands = useMemo(() => {
    const icon = (Icon: LucideIcon) => <Icon aria-hidden className="size-4" />;
    const scopes = me.data?.scopes ?? [];
    const toPage = ({ to, label, icon: sign }: Place): Command => ({
      id: to,
      label,
      detail: "Page",
      sign: icon(sign),
      run: () => void navigate(to),
    });
    const theme = (name: "light" | "dark" | "system", label: string, Icon: LucideIcon): Command => ({
      id: `theme ${name}`,
      label,
      detail: "Appearance",
      sign: icon(Icon),
      run: () => changePreferences({ theme: name }),
    });
    const toSession = (session: SessionSummary): Command => ({
      id: `session ${session.sessionId}`,
      label: sessionTitle(session),
      detail: `${sessionState(session).words} · ${shortPath(projectOf(session))}`,
      sign: <Lamp tone={sessionState(session).tone} />,
      run: () => void navigate(`/sessions/${encodeURIComponent(session.sessionId)}`),
    });
    const fits = ({ label, detail }: Command): boolean => matchesWords(`${label} ${detail}`, words);
    const listed = (page: SessionPage | undefined): readonly Command[] =>
      page?.listed.map(({ session }) => toSession(session)) ?? [];
    const known = [...(live.data ?? []).map(toSession), ...listed(recent.data)].filter(fits);
    // Ignores results of the previous query.
    const found = wanted === "" || search.isPlaceholderData ? [] : listed(search.data);
    const sessions = new Map([...known, ...found].map((command) => [command.id, command]));
    const settings = [
      theme("light", "Light appearance", Sun),
      theme("dark", "Dark appearance", Moon),
      theme("system", "System appearance", SunMoon),
    ];
    const actions = sessionActions(pathname, scopes).map(
      ({ label, icon: sign, act }): Command => ({
        id: `action ${label}`,
        label,
        detail: "This session",
        sign: icon(sign),
        run: () => (typeof act === "string" ? pressAfterClose(act) : act(navigate)),
      }),
    );
    const everywhere: readonly Command[] =
      wanted === "" || !scopes.includes("coding:read")
        ? []
        : [
            {
              id: "search everywhere",
              label: `Search full conversations for “${wanted}”`,
              detail: "Search",
              sign: icon(Search),
              run: () => void navigate(`/?${new URLSearchParams({ q: wanted, in: "all" }).toString()}`),
            },
          ];
    const places = placesFor(scopes).filter(({ to }) => to !== newSessionPlace.to);
    // Matching pages and settings come before the many sessions.
    const others = [...places.map(toPage), ...settings].filter(fits);
    return [
      ...actions.filter(fits),
      ...visible([newSessionPlace], scopes).map(toPage).filter(fits),
      ...(wanted === "" ? [...sessions.values(), ...others] : [...others, ...sessions.values()]),
      ...everywhere,
    ];
  }, [navigate, pathname, words, wanted, live.data, recent.data, search.data, search.isPlaceholderData, me.data]);
  return { commands, searching };
}

interface SessionAction {
  readonly label: string;
  readonly icon: LucideIcon;
  /** A shortcut key of the session page, or another action. */
  readonly act: SessionKey | ((navigate: NavigateFunction) => void);
}
type SessionKey = (typeof sessionShortcutList)[number]["keys"];

/** Actions for the session whose page is open. */
function sessionActions(pathname: string, scopes: readonly Scope[]): readonly SessionAction[] {
  const sessionId = /^\/sessions\/([^/]+)$/.exec(pathname)?.[1];
  if (sessionId === undefined) return [];
  const reads: readonly SessionAction[] = [
    { label: "Show conversation", icon: MessagesSquare, act: "v" },
    { label: "Show changes", icon: FileDiff, act: "c" },
    { label: "Play recording", icon: Film, act: "r" },
    { label: "Watch side by side", icon: Grid2x2, act: (navigate) => void navigate(`/watch?s=${sessionId}`) },
  ];
  const writes: readonly SessionAction[] = [
    { label: "Write a prompt", icon: MessageSquare, act: "p" },
    { label: "Interrupt turn", icon: CircleStop, act: "i" },
    { label: "Close session", icon: X, act: "x" },
  ];
  return [...(scopes.includes("coding:write") ? writes : []), ...reads];
}

/** The palette returns the focus as it closes. Only then does the page receive the key. */
function pressAfterClose(key: SessionKey): void {
  setTimeout(() => pressShortcut(key), 0);
}
