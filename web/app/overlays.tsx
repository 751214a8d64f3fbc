import { Dialog as Radix } from "radix-ui";
import { Dialog } from "../ui/dialog.tsx";
import { answerShortcutList, type Shortcut, sessionShortcutList, terminalShortcutList } from "./shortcuts.ts";
import { Sidebar } from "./sidebar.tsx";

const inLists: readonly Omit<Shortcut, "run">[] = [
  { keys: "j", label: "Next session" },
  { keys: "k", label: "Previous session" },
];

export function ShortcutHelp({
  shortcuts,
  onClose,
}: {
  readonly shortcuts: readonly Shortcut[];
  readonly onClose: () => void;
}) {
  return (
    <Dialog onClose={onClose} title="Keyboard shortcuts" description="In a terminal, all keys go to the agent.">
      <dl className="grid grid-cols-[1fr_auto] items-center gap-x-4 gap-y-2 text-sm">
        {[...shortcuts, ...inLists, ...sessionShortcutList, ...answerShortcutList, ...terminalShortcutList].map(
          ({ keys, label }) => (
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
          ),
        )}
      </dl>
    </Dialog>
  );
}

export function MenuDrawer({
  onClose,
  ...sidebar
}: {
  readonly onClose: () => void;
  readonly onPalette: () => void;
  readonly onHelp: () => void;
}) {
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-veil" />
        <Radix.Content
          aria-describedby={undefined}
          className="fixed inset-y-0 left-0 z-50 w-72 max-w-[85vw] border-r border-line bg-panel shadow-float focus:outline-none"
        >
          <Radix.Title className="sr-only">Menu</Radix.Title>
          {/* Choosing the page that is already open closes the menu too. */}
          <div
            className="h-full"
            onClickCapture={(event) =>
              event.target instanceof Element && event.target.closest("a") !== null && onClose()
            }
          >
            <Sidebar {...sidebar} unfolded />
          </div>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
