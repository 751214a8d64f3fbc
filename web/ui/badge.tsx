import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import type { LampTone } from "./session-state.ts";

const tones = {
  plain: "border-line text-ink-soft",
  accent: "border-transparent bg-accent-soft text-accent",
  lamp: "border-transparent bg-lamp-soft text-lamp",
  danger: "border-transparent bg-danger-soft text-danger",
} as const;

export function Badge({
  tone = "plain",
  children,
}: {
  readonly tone?: keyof typeof tones;
  readonly children: ReactNode;
}) {
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

/** A small door with a light behind it. Hidden from screen readers: words next to it say the same. */
export function Lamp({ tone, className }: { readonly tone: LampTone; readonly className?: string }) {
  return (
    <span
      aria-hidden
      className={classNames("inline-block h-3 w-2.5 shrink-0 rounded-door border-[1.5px]", lampTones[tone], className)}
    />
  );
}
