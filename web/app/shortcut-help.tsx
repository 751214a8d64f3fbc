import { sessionShortcutList, terminalShortcutList } from "../session/session-shortcuts.ts";
import { Dialog } from "../ui/dialog.tsx";
import type { Shortcut } from "./shortcuts.ts";

const inLists: readonly Omit<Shortcut, "run">[] = [
  { keys: "j", label: "Next session of the list" },
  { keys: "k", label: "Session before it" },
];

/** All shortcuts, on one sheet. */
export function ShortcutHelp({
  shortcuts,
  onClose,
}: {
  readonly shortcuts: readonly Shortcut[];
  readonly onClose: () => void;
}) {
  return (
    <Dialog
      open
      onClose={onClose}
      title="Keyboard shortcuts"
      description="In a terminal, all keys belong to the agent."
    >
      <dl className="grid grid-cols-[1fr_auto] items-center gap-x-4 gap-y-2 text-sm">
        {[...shortcuts, ...inLists, ...sessionShortcutList, ...terminalShortcutList].map(({ keys, label }) => (
          <div key={keys} className="col-span-2 grid grid-cols-subgrid">
            <dt>{label}</dt>
            <dd className="flex gap-1">
              {keys.split(/[ +]/).map((key) => (
                <kbd
                  key={key}
                  className="min-w-6 rounded border border-line-strong bg-well px-1.5 text-center font-mono text-xs leading-5"
                >
                  {key === "mod" ? "Ctrl" : key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
