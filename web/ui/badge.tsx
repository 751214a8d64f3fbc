import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

const tones = {
  plain: "border-line text-ink-soft",
  accent: "border-transparent bg-accent-soft text-accent",
  lamp: "border-transparent bg-lamp-soft text-lamp",
  danger: "border-transparent bg-danger-soft text-danger",
} as const;

/** A word about a thing. */
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
