import { classNames } from "./class-names.ts";
import type { LampTone } from "./session-state.ts";

const tones: Readonly<Record<LampTone, string>> = {
  working: "border-transparent bg-accent animate-lamp",
  "needs-you": "border-transparent bg-lamp-fill shadow-[0_0_0_3px_var(--color-lamp-soft)]",
  idle: "border-accent bg-accent-soft",
  limited: "border-lamp-fill bg-transparent",
  ended: "border-line-strong bg-transparent",
  failed: "border-transparent bg-danger",
};

/** A small door with a light behind it. Says nothing to those who cannot see it: words stand beside it. */
export function Lamp({ tone, className }: { readonly tone: LampTone; readonly className?: string }) {
  return (
    <span
      aria-hidden
      className={classNames("inline-block h-3 w-2.5 shrink-0 rounded-door border-[1.5px]", tones[tone], className)}
    />
  );
}
