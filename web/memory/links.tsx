import {
  Box,
  CircleDot,
  FileText,
  FolderGit2,
  GitBranch,
  GitCommitHorizontal,
  Globe,
  type LucideIcon,
  MessagesSquare,
  Signpost,
  SquareTerminal,
  Wrench,
} from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "react-router";
import type { EntityType, LogEntity } from "../../src/wire/logs.ts";
import { useMay } from "../api/sign-in.ts";
import { classNames } from "../ui/class-names.ts";
import { plainName } from "../ui/untrusted.tsx";
import { entityName, isCode, typeWords } from "./facts.ts";

const icons: Readonly<Record<EntityType, LucideIcon>> = {
  Session: MessagesSquare,
  Repository: FolderGit2,
  Branch: GitBranch,
  Commit: GitCommitHorizontal,
  File: FileText,
  Command: SquareTerminal,
  Url: Globe,
  Tool: Wrench,
  Package: Box,
  Issue: CircleDot,
  Decision: Signpost,
};

export function EntityIcon({ type, className = "size-3.5" }: Readonly<{ type: EntityType; className?: string }>) {
  const Icon = icons[type];
  return <Icon aria-hidden className={classNames("shrink-0 text-ink-faint", className)} />;
}

export function entityPath({ entityId }: Pick<LogEntity, "entityId">): string {
  return `/memory/entities/${encodeURIComponent(entityId)}`;
}

/** Links to a topic. Its name is untrusted: it comes from a log. */
export function EntityLink(props: {
  readonly entity: LogEntity;
  readonly titles: ReadonlyMap<string, string>;
  /** Shows the whole name, on several lines if necessary. */
  readonly whole?: boolean;
}) {
  const { entity, titles, whole = false } = props;
  const { type, key } = entity;
  return (
    <Link
      to={entityPath(entity)}
      title={`${typeWords[type][0]}: ${plainName(key)}`}
      className="inline-flex max-w-full min-w-0 items-baseline gap-1.5 rounded hover:text-accent hover:underline"
    >
      <EntityIcon
        type={type}
        className={classNames("size-3.5 self-start", isCode(type) ? "translate-y-px" : "translate-y-1")}
      />
      <bdi className={classNames("min-w-0", whole ? "break-words" : "truncate", isCode(type) && "font-mono text-xs")}>
        {whole && type !== "Session" ? plainName(key) : entityName(entity, titles)}
      </bdi>
    </Link>
  );
}

/** A link to a session, or plain text without the scope coding:read. */
export function SessionLink(props: {
  readonly sessionId: string;
  /** A more specific label than the text, for lists. */
  readonly label?: string;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  const { sessionId, label, className = "text-accent underline underline-offset-2", children } = props;
  if (!useMay("coding:read")) return <span>{children}</span>;
  return (
    <Link to={`/sessions/${encodeURIComponent(sessionId)}`} aria-label={label} className={className}>
      {children}
    </Link>
  );
}
