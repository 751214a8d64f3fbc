import { Bot, Folder, KeyRound, List, type LucideIcon, Plus, Search, Settings } from "lucide-react";
import { Link, NavLink } from "react-router";
import { useMe } from "../api/me.ts";
import { useLiveSessions } from "../api/sessions.ts";
import { buttonClass } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { Lamp } from "../ui/lamp.tsx";
import { agentName, needsYou, sessionState, sessionTitle, shortPath } from "../ui/session-state.ts";
import { Mark } from "./mark.tsx";

const places: readonly { readonly to: string; readonly label: string; readonly icon: LucideIcon }[] = [
  { to: "/", label: "Sessions", icon: List },
  { to: "/agents", label: "Agents", icon: Bot },
  { to: "/folders", label: "Folders", icon: Folder },
  { to: "/tokens", label: "Tokens", icon: KeyRound },
  { to: "/settings", label: "Settings", icon: Settings },
];

/** The way around: pages, and the sessions that live. */
export function Sidebar({ onPalette, onHelp }: { readonly onPalette: () => void; readonly onHelp: () => void }) {
  const me = useMe();
  return (
    <div className="flex h-full flex-col gap-3 py-3">
      <div className="flex items-center justify-between pr-2 pl-4">
        <Link to="/" className="flex items-center gap-2 rounded font-semibold tracking-tight">
          <Mark className="size-5" /> Postern
        </Link>
        <button
          type="button"
          onClick={onPalette}
          aria-label="Find anything, Ctrl K"
          title="Find anything (Ctrl K)"
          className="flex h-7 items-center gap-1.5 rounded-md border border-line px-1.5 text-2xs text-ink-faint hover:border-line-strong hover:text-ink"
        >
          <Search aria-hidden className="size-3.5" />
          <kbd className="font-sans">Ctrl K</kbd>
        </button>
      </div>
      <div className="px-3">
        <Link to="/new" className={classNames(buttonClass({ variant: "primary" }), "w-full")}>
          <Plus aria-hidden className="size-4" /> New session
        </Link>
      </div>
      <nav aria-label="Pages" className="px-2">
        <ul className="flex flex-col gap-px">
          {places.map(({ to, label, icon: Icon }) => (
            <li key={to}>
              <NavLink
                to={to}
                end
                className={({ isActive }) =>
                  classNames(
                    "flex h-8 items-center gap-2.5 rounded-md px-2 text-sm pointer-coarse:h-10",
                    isActive ? "bg-hover font-medium text-ink" : "text-ink-soft hover:bg-hover hover:text-ink",
                  )
                }
              >
                <Icon aria-hidden className="size-4 text-ink-faint" />
                {label}
              </NavLink>
            </li>
          ))}
        </ul>
      </nav>
      <LiveSessions />
      <div className="mt-auto flex items-center justify-between gap-2 border-t border-line px-4 pt-3 text-xs text-ink-faint">
        <span className="truncate">{me.data?.account.name}</span>
        <button type="button" onClick={onHelp} className="rounded px-1 hover:text-ink" title="Shortcuts (?)">
          Shortcuts
        </button>
      </div>
    </div>
  );
}

/** The live ones, who needs somebody first. */
function LiveSessions() {
  const { data: sessions = [] } = useLiveSessions();
  const ordered = [...sessions].toSorted((a, b) => Number(needsYou(b)) - Number(needsYou(a)));
  if (ordered.length === 0) return null;
  return (
    <nav aria-label="Live sessions" className="flex min-h-0 flex-col px-2">
      <h2 className="label-caps px-2 pb-1">Live</h2>
      <ul className="flex min-h-0 flex-col gap-px overflow-y-auto">
        {ordered.map((session) => {
          const { tone, words } = sessionState(session);
          return (
            <li key={session.sessionId}>
              <NavLink
                to={`/sessions/${encodeURIComponent(session.sessionId)}`}
                className={({ isActive }) =>
                  classNames(
                    "flex gap-2.5 rounded-md px-2 py-1.5 leading-tight",
                    isActive ? "bg-hover" : "hover:bg-hover",
                  )
                }
              >
                <Lamp tone={tone} className="mt-0.5 ml-0.5" />
                <span className="min-w-0 flex-1">
                  <span className="block truncate text-xs font-medium">{sessionTitle(session)}</span>
                  <span
                    className={classNames(
                      "block truncate text-2xs",
                      tone === "needs-you" ? "text-lamp" : "text-ink-faint",
                    )}
                  >
                    {words} · {agentName(session.agent)} · {shortPath(session.dir)}
                  </span>
                </span>
              </NavLink>
            </li>
          );
        })}
      </ul>
    </nav>
  );
}
