import type { ReactNode } from "react";
import { Link } from "react-router";
import { useMay } from "../api/me.ts";

/** The way to a session, for who may read sessions; for others its words alone. */
export function SessionLink({
  sessionId,
  label,
  className = "text-accent underline underline-offset-2",
  children,
}: {
  readonly sessionId: string;
  /** Says more than the words do, where they stand in a list. */
  readonly label?: string;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  if (!useMay("coding:read")) return <span>{children}</span>;
  return (
    <Link to={`/sessions/${encodeURIComponent(sessionId)}`} aria-label={label} className={className}>
      {children}
    </Link>
  );
}
