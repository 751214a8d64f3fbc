import {
  Archive,
  ArchiveRestore,
  CheckSquare,
  Ellipsis,
  type LucideIcon,
  Pencil,
  Pin,
  PinOff,
  Tag,
} from "lucide-react";
import { DropdownMenu as Menu } from "radix-ui";
import { useState } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { IconButton } from "../ui/button.tsx";
import { sessionTitle } from "../ui/session-state.ts";
import { useSessionDeeds } from "./edits.ts";
import { LabelsDialog } from "./labels-dialog.tsx";

/** The menu of a session, open when it first appears. */
export function RowMenu(props: {
  readonly session: SessionSummary;
  readonly onRename: () => void;
  /** Selects the session; only in lists. */
  readonly onSelect?: (() => void) | undefined;
}) {
  const { session, onRename, onSelect } = props;
  const deeds = useSessionDeeds();
  const [labelling, setLabelling] = useState(false);
  return (
    <>
      <Menu.Root defaultOpen modal={false}>
        <Menu.Trigger asChild>
          <IconButton label={`Actions for ${sessionTitle(session)}`} icon={Ellipsis} />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Content
            align="end"
            sideOffset={4}
            // Renaming moves the focus to its own field.
            onCloseAutoFocus={(event) => document.activeElement instanceof HTMLInputElement && event.preventDefault()}
            className="z-50 min-w-44 rounded-lg border border-line-strong bg-raised p-1 text-sm shadow-float"
          >
            <Item icon={Pencil} label="Rename" keys="F2" onSelect={onRename} />
            <Item
              icon={session.pinned ? PinOff : Pin}
              label={session.pinned ? "Unpin" : "Pin"}
              onSelect={() => void deeds.pin(session, !session.pinned)}
            />
            <Item icon={Tag} label="Labels…" onSelect={() => setLabelling(true)} />
            <Item
              icon={session.archived ? ArchiveRestore : Archive}
              label={session.archived ? "Restore" : "Archive"}
              onSelect={() => void deeds.archive(session, !session.archived)}
            />
            {onSelect !== undefined && <Item icon={CheckSquare} label="Select" onSelect={onSelect} />}
          </Menu.Content>
        </Menu.Portal>
      </Menu.Root>
      {labelling && <LabelsDialog session={session} onClose={() => setLabelling(false)} />}
    </>
  );
}

function Item(props: {
  readonly icon: LucideIcon;
  readonly label: string;
  readonly keys?: string;
  readonly onSelect: () => void;
}) {
  const { icon: Icon, label, keys, onSelect } = props;
  return (
    <Menu.Item
      onSelect={onSelect}
      className="flex h-8 cursor-pointer items-center gap-2.5 rounded-md px-2 outline-none data-highlighted:bg-hover pointer-coarse:h-11"
    >
      <Icon aria-hidden className="size-4 text-ink-faint" />
      <span className="flex-1">{label}</span>
      {keys !== undefined && <kbd className="font-sans text-2xs text-ink-faint pointer-coarse:hidden">{keys}</kbd>}
    </Menu.Item>
  );
}
