import { CircleAlert, Info, type LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { messageOf } from "../api/api-error.ts";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";

const tones = {
  info: "border-line bg-panel text-ink-soft",
  lamp: "border-lamp-fill/40 bg-lamp-soft text-lamp",
  danger: "border-danger/30 bg-danger-soft text-danger",
} as const;

export function Notice(props: {
  readonly tone?: keyof typeof tones;
  readonly icon?: LucideIcon;
  readonly children: ReactNode;
}) {
  const { tone = "info", icon: Icon = Info, children } = props;
  return (
    <div className={classNames("flex items-start gap-2.5 rounded-lg border px-3 py-2 text-sm", tones[tone])}>
      <Icon aria-hidden className="mt-0.5 size-4 shrink-0" />
      <div className="min-w-0 flex-1">{children}</div>
    </div>
  );
}

export function ErrorNotice(props: {
  readonly error: unknown;
  readonly onRetry?: () => void;
  readonly className?: string;
}) {
  const { error, onRetry, className } = props;
  if (error === null) return null;
  return (
    <div role="alert" className={className}>
      <Notice tone="danger" icon={CircleAlert}>
        <div className="flex flex-wrap items-center justify-between gap-2">
          <span>
            <WithCommands text={messageOf(error)} />
          </span>
          {onRetry !== undefined && (
            <Button size="sm" onClick={onRetry}>
              Try again
            </Button>
          )}
        </div>
      </Notice>
    </div>
  );
}

/** Text in backticks is shown as code. */
export function WithCommands({ text }: { readonly text: string }) {
  return text.split("`").map((part, index, parts) => {
    const isCommand = index % 2 === 1 && index < parts.length - 1;
    if (!isCommand) return index % 2 === 1 ? `\`${part}` : part;
    return (
      // The parts of a sentence keep their order.
      <code key={index} className="font-mono text-xs">
        {part}
      </code>
    );
  });
}

export function EmptyState({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-12 text-center">
      <span aria-hidden className="h-9 w-7 rounded-door border-2 border-line-strong" />
      <p className="text-sm font-medium">{title}</p>
      {children !== undefined && <div className="max-w-md text-sm text-ink-faint">{children}</div>}
    </div>
  );
}

export function LoadingPage() {
  return (
    <div className="mx-auto w-full max-w-5xl px-4 pt-5 sm:px-8 sm:pt-8">
      <div className="mb-5 h-7 w-40 animate-pulse rounded-md bg-well" />
      <LoadingRows label="Loading page" />
    </div>
  );
}

export function LoadingRows({ label, rows = 4 }: { readonly label: string; readonly rows?: number }) {
  return (
    <div role="status" aria-label={label} className="flex flex-col gap-2">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="h-11 animate-pulse rounded-lg bg-well" />
      ))}
    </div>
  );
}

export function QueryState(props: {
  readonly query: { readonly isPending: boolean; readonly error: Error | null; readonly refetch: () => unknown };
  readonly label: string;
  readonly rows?: number;
}) {
  const {
    query: { isPending, error, refetch },
    label,
    rows,
  } = props;
  return (
    <>
      {isPending && <LoadingRows label={label} {...(rows === undefined ? {} : { rows })} />}
      <ErrorNotice error={error} onRetry={() => void refetch()} />
    </>
  );
}
