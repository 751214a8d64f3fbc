import type { ReactNode, Ref } from "react";

/** A part with its own scrolling, which keys can reach and move. */
export function Scrollable({
  label,
  role = "region",
  className,
  ref,
  children,
}: {
  readonly label: string;
  readonly role?: "region" | "log";
  readonly className: string;
  readonly ref?: Ref<HTMLDivElement>;
  readonly children: ReactNode;
}) {
  return (
    <div ref={ref} role={role} aria-label={label} tabIndex={0} className={className}>
      {children}
    </div>
  );
}
