import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import type { LampTone } from "./session-state.ts";

const tones = {
  plain: "border-line text-ink-soft",
  accent: "border-transparent bg-accent-soft text-accent",
  lamp: "border-transparent bg-lamp-soft text-lamp",
  danger: "border-transparent bg-danger-soft text-danger",
} as const;

export function Badge({ tone = "plain", children }: Readonly<{ tone?: keyof typeof tones; children: ReactNode }>) {
  return (
    <span
      className={classNames(
        "inline-flex items-center gap-1 rounded border px-1.5 text-2xs leading-[1.125rem] font-medium whitespace-nowrap",
        tones[tone],
      )}
    >
      {children}
    </span>
  );
}

const lampTones: Readonly<Record<LampTone, string>> = {
  working: "border-transparent bg-accent animate-lamp",
  "needs-you": "border-transparent bg-lamp-fill shadow-[0_0_0_3px_var(--color-lamp-soft)]",
  idle: "border-accent bg-accent-soft",
  limited: "border-lamp-fill bg-transparent",
  ended: "border-line-strong bg-transparent",
  failed: "border-transparent bg-danger",
};

/** A small door with a light behind it. Hidden from screen readers: the text next to it has the same meaning. */
export function Lamp({ tone, className }: { readonly tone: LampTone; readonly className?: string }) {
  return (
    <span
      aria-hidden
      className={classNames("inline-block h-3 w-2.5 shrink-0 rounded-door border-[1.5px]", lampTones[tone], className)}
    />
  );
}

/** The mark: a small door in a wall, with a light behind its keyhole. */
export function Mark({ className }: { readonly className?: string }) {
  return (
    <svg aria-hidden viewBox="0 0 24 24" fill="none" className={className}>
      <path d="M4.5 21.5V10a7.5 7.5 0 0 1 15 0v11.5" className="stroke-ink" strokeWidth="2" strokeLinecap="round" />
      <path d="M1.5 21.5h21" className="stroke-ink" strokeWidth="2" strokeLinecap="round" />
      <circle cx="12" cy="11.5" r="2" className="fill-lamp-fill" />
      <path d="M12 13v4.5" className="stroke-lamp-fill" strokeWidth="2" strokeLinecap="round" />
    </svg>
  );
}
