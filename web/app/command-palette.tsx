import { type LucideIcon, Moon, Sun, SunMoon } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import { useNavigate } from "react-router";
import { useMay, useMe } from "../api/me.ts";
import { noFilters, useLiveSessions, useSessionList } from "../api/sessions.ts";
import { classNames } from "../ui/class-names.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Lamp } from "../ui/lamp.tsx";
import { sessionState, sessionTitle, shortPath } from "../ui/session-state.ts";
import { matchesWords } from "./match-words.ts";
import { newSessionPlace, type Place, placesFor, visible } from "./places.ts";
import { changePreferences } from "./preferences.ts";

interface Command {
  readonly id: string;
  readonly label: string;
  readonly detail: string;
  readonly sign: ReactNode;
  readonly run: () => void;
}

const maxShown = 50;

/** Finds a page, a session or a setting by a few letters. */
export function CommandPalette({ onClose }: { readonly onClose: () => void }) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const commands = useCommands();
  const listId = useId();
  const list = useRef<HTMLUListElement>(null);
  const found = useMemo(
    () => commands.filter(({ label, detail }) => matchesWords(`${label} ${detail}`, words)).slice(0, maxShown),
    [commands, words],
  );
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
    <Dialog open onClose={onClose} title="Go to">
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
        className="mb-2 h-10 w-full rounded-md border border-line-strong bg-raised px-3"
      />
      <ul ref={list} id={listId} role="listbox" aria-label="Found" className="flex flex-col gap-px">
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
              "flex h-9 cursor-pointer items-center gap-2.5 rounded-md px-2",
              index === chosen && "bg-hover",
            )}
          >
            <span className="flex w-4 shrink-0 justify-center text-ink-faint">{command.sign}</span>
            <span className="min-w-0 flex-1 truncate">{command.label}</span>
            <span className="max-w-[45%] truncate text-xs text-ink-faint">{command.detail}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="px-2 py-4 text-sm text-ink-faint">Nothing is called that.</p>}
    </Dialog>
  );
}

function useCommands(): readonly Command[] {
  const navigate = useNavigate();
  const me = useMe();
  const enabled = useMay("coding:read");
  const live = useLiveSessions(noFilters, { enabled });
  const recent = useSessionList(noFilters, { enabled });
  return useMemo(() => {
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
    const listed = recent.data?.pages.flatMap(({ listed: rows }) => rows.map(({ session }) => session)) ?? [];
    const sessions = new Map([...(live.data ?? []), ...listed].map((session) => [session.sessionId, session]));
    return [
      ...visible([newSessionPlace], scopes).map(toPage),
      ...[...sessions.values()].map((session) => ({
        id: `session ${session.sessionId}`,
        label: sessionTitle(session),
        detail: `${sessionState(session).words} · ${shortPath(session.dir)}`,
        sign: <Lamp tone={sessionState(session).tone} />,
        run: () => void navigate(`/sessions/${encodeURIComponent(session.sessionId)}`),
      })),
      ...placesFor(scopes)
        .filter(({ to }) => to !== newSessionPlace.to)
        .map(toPage),
      theme("light", "Light appearance", Sun),
      theme("dark", "Dark appearance", Moon),
      theme("system", "Appearance of the system", SunMoon),
    ];
  }, [navigate, live.data, recent.data, me.data]);
}
