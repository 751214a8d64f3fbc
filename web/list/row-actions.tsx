import { Ellipsis } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { IconButton } from "../ui/button.tsx";
import { sessionTitle } from "../ui/session-state.ts";
import { useSessionDeeds } from "./edits.ts";
import { rename } from "./selection.ts";

const loadMenu = () => import("./row-menu.tsx");
const RowMenu = lazy(async () => ({ default: (await loadMenu()).RowMenu }));

/** A button whose menu is loaded when it is first used. */
export function RowActions(props: { readonly session: SessionSummary; readonly onSelect?: () => void }) {
  const { session, onSelect } = props;
  const [used, setUsed] = useState(false);
  const button = (
    <IconButton
      label={`Actions for ${sessionTitle(session)}`}
      icon={Ellipsis}
      aria-haspopup="menu"
      onPointerEnter={() => void loadMenu()}
      onFocus={() => void loadMenu()}
      onClick={() => setUsed(true)}
    />
  );
  if (!used) return button;
  return (
    <Suspense fallback={button}>
      <RowMenu session={session} onRename={() => rename(session.sessionId)} onSelect={onSelect} />
    </Suspense>
  );
}

/** Edits the title in place. Enter or leaving the field saves, Escape does not. */
export function TitleField({ session, className }: { readonly session: SessionSummary; readonly className?: string }) {
  const deeds = useSessionDeeds();
  const before = session.title ?? "";
  const [typed, setTyped] = useState(before);
  const end = (save: boolean): void => {
    rename(null);
    if (save && typed.trim() !== before.trim()) void deeds.rename(session, typed);
  };
  return (
    <input
      type="text"
      aria-label="Title"
      placeholder="The agent's title"
      // The person has just asked to rename it.
      ref={(input) => input?.focus()}
      maxLength={200}
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      onFocus={(event) => event.target.select()}
      onBlur={() => end(true)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter" && !event.nativeEvent.isComposing) end(true);
        if (event.key === "Escape") end(false);
      }}
      className={className ?? "h-7 w-full min-w-0 rounded-md border border-line-strong bg-raised px-2 font-medium"}
    />
  );
}
