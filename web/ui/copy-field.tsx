import type { ReactNode } from "react";
import { CopyButton } from "./copy-button.tsx";

/** Something to copy: shown whole, selected with one click. */
export function CopyField({
  label,
  text,
  children,
}: {
  readonly label: string;
  readonly text: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <span className="text-xs font-medium text-ink-soft">{label}</span>
      <div className="flex min-w-0 items-center gap-1 rounded-md bg-well py-1 pr-1 pl-3">
        <output aria-label={label} className="min-w-0 flex-1 font-mono text-xs wrap-anywhere select-all">
          {text}
        </output>
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
      {children !== undefined && <p className="text-xs text-ink-faint">{children}</p>}
    </div>
  );
}
