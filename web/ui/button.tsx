import { LoaderCircle, type LucideIcon } from "lucide-react";
import type { ComponentProps } from "react";
import { classNames } from "./class-names.ts";

const variants = {
  primary: "border-transparent bg-accent-fill text-accent-ink hover:bg-accent-fill-hover",
  secondary: "border-line-strong bg-raised text-ink hover:bg-hover",
  ghost: "border-transparent text-ink-soft hover:bg-hover hover:text-ink",
  danger: "border-transparent bg-danger-fill text-accent-ink hover:opacity-90",
} as const;

const sizes = { sm: "h-7 px-2 text-xs", md: "h-8 px-3 text-sm", lg: "h-10 px-4 text-sm" } as const;

interface Look {
  readonly variant?: keyof typeof variants;
  readonly size?: keyof typeof sizes;
}

/** For links that look like buttons. */
export function buttonClass({ variant = "secondary", size = "md" }: Look = {}): string {
  return classNames(
    "inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap select-none",
    "transition-colors disabled:cursor-not-allowed disabled:opacity-50 pointer-coarse:min-h-10",
    variants[variant],
    sizes[size],
  );
}

/** Disabled while `busy`. */
export function Button({
  variant,
  size,
  icon: Icon,
  busy = false,
  className,
  children,
  disabled,
  ...rest
}: ComponentProps<"button"> & Look & { readonly icon?: LucideIcon; readonly busy?: boolean }) {
  const look = { ...(variant === undefined ? {} : { variant }), ...(size === undefined ? {} : { size }) };
  return (
    <button
      type="button"
      {...rest}
      disabled={disabled === true || busy}
      aria-busy={busy || undefined}
      className={classNames(buttonClass(look), className)}
    >
      {busy ? (
        <LoaderCircle aria-hidden className="size-3.5 animate-spin" />
      ) : (
        Icon !== undefined && <Icon aria-hidden className="size-3.5" />
      )}
      {children}
    </button>
  );
}

/** `label` is the accessible name and the tooltip. */
export function IconButton({
  label,
  icon: Icon,
  className,
  ...rest
}: Omit<ComponentProps<"button">, "children"> & { readonly label: string; readonly icon: LucideIcon }) {
  return (
    <button
      type="button"
      title={label}
      aria-label={label}
      {...rest}
      className={classNames(
        "inline-flex size-7 shrink-0 items-center justify-center rounded-md text-ink-soft hover:bg-hover hover:text-ink",
        "disabled:cursor-not-allowed disabled:opacity-50 pointer-coarse:size-10",
        className,
      )}
    >
      <Icon aria-hidden className="size-4" />
    </button>
  );
}
