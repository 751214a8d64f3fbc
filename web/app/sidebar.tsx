import { ChevronDown, Search } from "lucide-react";
import { Link, NavLink, useLocation } from "react-router";
import type { Scope } from "../../src/wire/access.ts";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { useLiveSessions } from "../api/sessions.ts";
import { useMe } from "../api/sign-in.ts";
import { Lamp, Mark } from "../ui/badge.tsx";
import { buttonClass } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { agentName, needsYou, projectOf, sessionState, sessionTitle, shortPath } from "../ui/session-state.ts";
import { accessIcon, accessPlaces, mainPlaces, newSessionPlace, type Place, settingsPlace, visible } from "./places.ts";

export function Sidebar(props: {
  /** Expands all groups, for the menu, which closes when a page is chosen. */
  readonly unfolded?: boolean;
  readonly onPalette: () => void;
  readonly onHelp: () => void;
}) {
  const { unfolded = false, onPalette, onHelp } = props;
  const me = useMe();
  const scopes = me.data?.scopes ?? [];
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
          <kbd className="font-sans pointer-coarse:hidden">Ctrl K</kbd>
        </button>
      </div>
      {visible([newSessionPlace], scopes).map(({ to, label, icon: Icon }) => (
        <div key={to} className="px-3">
          <Link to={to} className={classNames(buttonClass({ variant: "primary" }), "w-full")}>
            <Icon aria-hidden className="size-4" /> {label}
          </Link>
        </div>
      ))}
      <nav aria-label="Pages" className="px-2">
        <ul className="flex flex-col gap-px">
          {visible(mainPlaces, scopes).map((place) => (
            <PlaceLink key={place.to} {...place} />
          ))}
          <AccessPlaces scopes={scopes} unfolded={unfolded} />
          <PlaceLink {...settingsPlace} />
        </ul>
      </nav>
      {scopes.includes("coding:read") && <LiveSessions />}
      <div className="mt-auto flex items-center justify-between gap-2 border-t border-line px-4 pt-3 text-xs text-ink-faint">
        <span className="truncate">{me.data?.account.name}</span>
        <button
          type="button"
          onClick={onHelp}
          className="rounded px-1 hover:text-ink pointer-coarse:hidden"
          title="Shortcuts (?)"
        >
          Shortcuts
        </button>
      </div>
    </div>
  );
}

function PlaceLink({ to, label, icon: Icon, inner = false }: Place & { readonly inner?: boolean }) {
  return (
    <li>
      <NavLink
        to={to}
        end={to === "/"}
        className={({ isActive }) => classNames(rowClass, isActive ? activeClass : restClass, inner && "pl-8.5")}
      >
        {!inner && <Icon aria-hidden className="size-4 text-ink-faint" />}
        {label}
      </NavLink>
    </li>
  );
}

const rowClass = "flex h-8 items-center gap-2.5 rounded-md px-2 text-sm pointer-coarse:h-10";
const activeClass = "bg-hover font-medium text-ink";
const restClass = "text-ink-soft hover:bg-hover hover:text-ink";

/** One row unless one of its pages is open, to leave room for the sessions. */
function AccessPlaces({ scopes, unfolded }: { readonly scopes: readonly Scope[]; readonly unfolded: boolean }) {
  const { pathname } = useLocation();
  const places = visible(accessPlaces, scopes);
  const open = unfolded || places.some(({ to }) => to === pathname);
  const Icon = accessIcon;
  const [first, ...others] = places;
  if (first !== undefined && others.length === 0) return <PlaceLink {...first} />;
  return (
    <li>
      <Link to={places[0]?.to ?? "/apps"} aria-expanded={open} className={classNames(rowClass, restClass)}>
        <Icon aria-hidden className="size-4 text-ink-faint" />
        <span className="flex-1">Access</span>
        <ChevronDown
          aria-hidden
          className={classNames("size-3.5 text-ink-faint transition-transform", !open && "-rotate-90")}
        />
      </Link>
      {open && (
        <ul className="mt-px flex flex-col gap-px">
          {places.map((place) => (
            <PlaceLink key={place.to} {...place} inner />
          ))}
        </ul>
      )}
    </li>
  );
}

function LiveSessions() {
  const { data: sessions = [] } = useLiveSessions();
  const rank = (session: SessionSummary): number => (needsYou(session) ? 2 : session.pinned ? 1 : 0);
  const ordered = [...sessions].toSorted((a, b) => rank(b) - rank(a));
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
                  <span
                    className={classNames(
                      "flex items-center gap-1.5 text-xs",
                      session.unread && tone !== "working" ? "font-semibold" : "font-medium",
                    )}
                  >
                    {session.unread && tone !== "working" && (
                      <>
                        <span aria-hidden className="size-1.5 shrink-0 rounded-full bg-accent-fill" />
                        <span className="sr-only">Unread:</span>
                      </>
                    )}
                    <span className="truncate">{sessionTitle(session)}</span>
                  </span>
                  <span
                    className={classNames(
                      "block truncate text-2xs",
                      tone === "needs-you" ? "text-lamp" : "text-ink-faint",
                    )}
                  >
                    {words} · {agentName(session.agent)} · {shortPath(projectOf(session))}
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
