import { ArrowLeft } from "lucide-react";
import { type ReactNode, type Ref, useEffect, useSyncExternalStore } from "react";
import { Link } from "react-router";
import { classNames } from "./class-names.ts";

/** A page's heading, actions and content. */
export function Page(props: {
  readonly back?: ReactNode;
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  /** For forms. */
  readonly narrow?: boolean;
  readonly children: ReactNode;
}) {
  const { back, title, description, actions, narrow = false, children } = props;
  // A subpage keeps its heading, next to the link back to its parent.
  const inHeader = back === undefined;
  usePageTitle(title, { inHeader });
  return (
    <div className="mx-auto w-full max-w-5xl px-4 pt-5 pb-16 sm:px-8 sm:pt-8">
      <div className={narrow ? "max-w-3xl" : undefined}>
        {back}
        <header
          className={classNames(
            "flex flex-wrap items-end justify-between gap-3",
            inHeader && description === undefined && actions === undefined ? "lg:mb-5" : "mb-5",
          )}
        >
          <div className="min-w-0">
            <h1
              title={title}
              className={classNames(
                "line-clamp-3 text-xl font-semibold tracking-tight break-words",
                inHeader && "max-lg:sr-only",
              )}
            >
              {title}
            </h1>
            {description !== undefined && <p className="mt-0.5 max-w-2xl text-sm text-ink-faint">{description}</p>}
          </div>
          {actions !== undefined && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
        {children}
      </div>
    </div>
  );
}

export function Section(props: {
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
  const { title, description, actions, children } = props;
  return (
    <section aria-label={title} className="mb-8">
      <div className="mb-2 flex flex-wrap items-end justify-between gap-2">
        <div className="min-w-0 flex-1 basis-60">
          <h2 className="text-sm font-semibold">{title}</h2>
          {description !== undefined && <p className="max-w-2xl text-xs text-ink-faint">{description}</p>}
        </div>
        {actions}
      </div>
      {children}
    </section>
  );
}

const titleEvent = new EventTarget();
let currentTitle = "";
let titleInHeader = false;

/** Sets the document's title (see `app/attention.ts`). `inHeader`: on a narrow screen, the common header shows it. */
export function usePageTitle(title: string, { inHeader = false } = {}): void {
  useEffect(() => {
    currentTitle = title;
    titleInHeader = inHeader;
    titleEvent.dispatchEvent(new Event("change"));
  }, [title, inHeader]);
}

/** The title for the common header; empty if the page shows it. */
export function headerTitle(): string {
  return titleInHeader ? currentTitle : "";
}

export function pageTitle(): string {
  return currentTitle;
}

export function onPageTitle(listener: () => void): () => void {
  titleEvent.addEventListener("change", listener);
  return () => titleEvent.removeEventListener("change", listener);
}

/** Narrower windows, and phones held sideways, have no room for two panes. */
const query = "(max-width: 767px), (max-height: 480px)";

export function useNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(query);
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => window.matchMedia(query).matches,
  );
}

export function BackLink({ to, label }: { readonly to: string; readonly label: string }) {
  return (
    <p className="mb-2 text-xs">
      <Link
        to={to}
        className="inline-flex items-center gap-1 rounded text-ink-soft hover:text-ink hover:underline pointer-coarse:min-h-8"
      >
        <ArrowLeft aria-hidden className="size-3.5" /> {label}
      </Link>
    </p>
  );
}

/** A region that scrolls, also with keys. */
export function Scrollable(props: {
  readonly label: string;
  readonly role?: "region" | "log";
  readonly className: string;
  readonly ref?: Ref<HTMLDivElement>;
  readonly children: ReactNode;
}) {
  const { label, role = "region", className, ref, children } = props;
  return (
    <div ref={ref} role={role} aria-label={label} tabIndex={0} className={className}>
      {children}
    </div>
  );
}
