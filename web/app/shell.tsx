import { useQueryClient } from "@tanstack/react-query";
import { CloudOff, Menu, Search } from "lucide-react";
import {
  Component,
  lazy,
  type ReactNode,
  Suspense,
  useCallback,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from "react";
import { Link, Outlet, useLocation, useNavigate } from "react-router";
import { PosternClientError } from "../../src/client/index.ts";
import type { Scope } from "../../src/wire/access.ts";
import { messageOf } from "../api/api-error.ts";
import { whenSignedOut } from "../api/client.ts";
import { startLiveEvents, useConnected } from "../api/live-events.ts";
import { useMe } from "../api/sign-in.ts";
import { Toasts } from "../list/toasts.tsx";
import { usePush } from "../push/use-push.ts";
import { Mark } from "../ui/badge.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { classNames } from "../ui/class-names.ts";
import { ErrorNotice, LoadingPage } from "../ui/notice.tsx";
import { headerTitle, onPageTitle } from "../ui/page.tsx";
import { useAttention } from "./attention.ts";
import { placesFor } from "./places.ts";
import { type Shortcut, useShortcuts } from "./shortcuts.ts";
import { Sidebar } from "./sidebar.tsx";

// Overlays are not part of the first load.
const MenuDrawer = lazy(async () => ({ default: (await import("./overlays.tsx")).MenuDrawer }));
const CommandPalette = lazy(async () => ({ default: (await import("./command-palette.tsx")).CommandPalette }));
const ShortcutHelp = lazy(async () => ({ default: (await import("./overlays.tsx")).ShortcutHelp }));

const noScopes: readonly Scope[] = [];

type Overlay = "none" | "menu" | "palette" | "help";

/** Focuses the search field of the page. @returns false if the page has none */
function focusSearch(): boolean {
  const search = document.querySelector<HTMLInputElement>('main input[type="search"]');
  search?.select();
  return search !== null;
}

export function Shell() {
  const { pathname, search } = useLocation();
  const navigate = useNavigate();
  const client = useQueryClient();
  const me = useMe();
  const [opened, setOpened] = useState<{ readonly overlay: Overlay; readonly on: string }>({ overlay: "none", on: "" });
  // An overlay closes with its page.
  const overlay = opened.on === pathname ? opened.overlay : "none";
  const setOverlay = useCallback((next: Overlay) => setOpened({ overlay: next, on: pathname }), [pathname]);
  const close = useCallback(() => setOverlay("none"), [setOverlay]);
  const here = `${pathname}${search}`;

  useEffect(() => {
    whenSignedOut(() => void navigate("/sign-in", { replace: true, state: { from: here } }));
    return () => whenSignedOut(() => undefined);
  }, [navigate, here]);
  const scopes = me.data?.scopes ?? noScopes;
  const reads = scopes.includes("coding:read");
  useEffect(() => (reads ? startLiveEvents(client) : undefined), [client, reads]);
  const shortcuts = useMemo((): readonly Shortcut[] => {
    const go = (keys: string, to: string, label: string): Shortcut => ({ keys, label, run: () => void navigate(to) });
    return [
      { keys: "mod+k", label: "Find anything", run: () => setOverlay("palette") },
      {
        keys: "/",
        label: "Search sessions",
        run: () => focusSearch() || void navigate("/", { state: { focus: "search" } }),
      },
      ...placesFor(scopes).map(({ keys, to, label }) => go(keys, to, keys === "n" ? label : `Go to: ${label}`)),
      { keys: "?", label: "Keyboard shortcuts", run: () => setOverlay("help") },
    ];
  }, [navigate, setOverlay, scopes]);
  useShortcuts(shortcuts);
  useAttention(reads);
  usePush(reads ? me.data?.account.accountId : undefined);
  const title = useSyncExternalStore(onPageTitle, headerTitle);

  if (me.data === undefined) {
    const unknown = me.error !== null && !(me.error instanceof PosternClientError && me.error.status === 401);
    return (
      <main className="mx-auto max-w-lg px-6 py-16">
        {unknown ? <ErrorNotice error={me.error} onRetry={() => void me.refetch()} /> : <LoadingPage />}
      </main>
    );
  }
  return (
    <div className="flex h-dvh flex-col lg:flex-row">
      <a
        href="#main"
        className="absolute top-2 left-2 z-50 -translate-y-20 rounded-md bg-accent-fill px-3 py-2 text-accent-ink focus:translate-y-0"
      >
        Skip to content
      </a>
      <header
        className={classNames(
          "flex h-12 shrink-0 items-center gap-2 border-b border-line bg-panel pr-3 pl-2 lg:hidden [@media(max-height:480px)]:h-9",
          // A session has its own header with a link back.
          pathname.startsWith("/sessions/") && "hidden",
        )}
      >
        <IconButton label="Menu" icon={Menu} aria-expanded={overlay === "menu"} onClick={() => setOverlay("menu")} />
        <Link
          to="/"
          aria-label="Postern, sessions"
          className="flex h-full items-center gap-2 font-semibold tracking-tight"
        >
          <Mark className="size-5" />
          {title === "" && "Postern"}
        </Link>
        {/* The page's heading has the same words. */}
        <span aria-hidden className="min-w-0 flex-1 truncate font-semibold tracking-tight">
          {title}
        </span>
        <IconButton label="Find anything" icon={Search} onClick={() => setOverlay("palette")} />
      </header>
      <aside className="hidden w-60 shrink-0 border-r border-line bg-panel lg:block">
        <Sidebar onPalette={() => setOverlay("palette")} onHelp={() => setOverlay("help")} />
      </aside>
      <div className="flex min-h-0 min-w-0 flex-1 flex-col">
        <ConnectionNote />
        <main id="main" tabIndex={-1} className="min-h-0 flex-1 overflow-x-hidden overflow-y-auto focus:outline-none">
          <PageBoundary key={pathname}>
            <Suspense fallback={<LoadingPage />}>
              <Outlet />
            </Suspense>
          </PageBoundary>
        </main>
      </div>
      <Toasts />
      <Suspense>
        {overlay === "menu" && (
          <MenuDrawer onClose={close} onPalette={() => setOverlay("palette")} onHelp={() => setOverlay("help")} />
        )}
        {overlay === "palette" && <CommandPalette onClose={close} />}
        {overlay === "help" && <ShortcutHelp shortcuts={shortcuts} onClose={close} />}
      </Suspense>
    </div>
  );
}

/** A gateway usually restarts faster than a note could be read. */
const quietMs = 1_200;

/** The only place that reports an unreachable gateway. */
function ConnectionNote() {
  const offline = !useConnected();
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (!offline) return;
    const timer = setTimeout(() => setShown(true), quietMs);
    return () => {
      clearTimeout(timer);
      setShown(false);
    };
  }, [offline]);
  return (
    <div role="status">
      {shown && (
        <p className="flex items-center justify-center gap-2 border-b border-lamp-fill/40 bg-lamp-soft px-3 py-1 text-xs font-medium text-lamp">
          <CloudOff aria-hidden className="size-3.5 shrink-0" />
          The gateway cannot be reached. Reconnecting… Agents keep running.
        </p>
      )}
    </div>
  );
}

/** Replaces a page that failed to render, usually because a newer gateway no longer serves one of its chunks. */
export class PageBoundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override readonly state: { readonly error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <main role="alert" className="mx-auto flex max-w-lg flex-col items-start gap-3 px-6 py-16">
        <h1 className="text-lg font-semibold">This page could not be displayed</h1>
        <p className="text-sm text-ink-soft">
          The gateway may have been upgraded since you opened it. Your sessions are not affected. Browser error:{" "}
          {messageOf(error)}
        </p>
        <Button variant="primary" onClick={() => window.location.reload()}>
          Reload page
        </Button>
      </main>
    );
  }
}
