import { type ReactNode, useEffect } from "react";
import { classNames } from "./class-names.ts";

/** A page's frame: a heading, what can be done, and its content in a column that reads well. */
export function Page({
  back,
  title,
  description,
  actions,
  narrow = false,
  children,
}: {
  /** The way to where the page belongs. */
  readonly back?: ReactNode;
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  /** For forms: lines as wide as they are filled in. */
  readonly narrow?: boolean;
  readonly children: ReactNode;
}) {
  usePageTitle(title);
  return (
    <div className="mx-auto w-full max-w-5xl px-4 pt-5 pb-16 sm:px-8 sm:pt-8">
      <div className={narrow ? "max-w-3xl" : undefined}>
        {back}
        <header className="mb-5 flex flex-wrap items-end justify-between gap-3">
          <div className="min-w-0">
            <h1 title={title} className="line-clamp-3 text-xl font-semibold tracking-tight break-words">
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

/** A group of things under a heading. */
export function Section({
  title,
  description,
  actions,
  children,
}: {
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}) {
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

/** A list of rows with hairlines between them. */
export function Rows({
  children,
  label,
  bare = false,
}: {
  readonly children: ReactNode;
  readonly label: string;
  /** Without a frame: it is part of a longer list that has one. */
  readonly bare?: boolean;
}) {
  return (
    <ul
      aria-label={label}
      className={classNames("divide-y divide-line", !bare && "overflow-hidden rounded-xl border border-line bg-panel")}
    >
      {children}
    </ul>
  );
}

const titleEvent = new EventTarget();
let currentTitle = "";

/** The document's title is the page's, with how many sessions need somebody before it (see `app/attention.tsx`). */
export function usePageTitle(title: string): void {
  useEffect(() => {
    currentTitle = title;
    titleEvent.dispatchEvent(new Event("change"));
  }, [title]);
}

export function pageTitle(): string {
  return currentTitle;
}

export function onPageTitle(listener: () => void): () => void {
  titleEvent.addEventListener("change", listener);
  return () => titleEvent.removeEventListener("change", listener);
}
