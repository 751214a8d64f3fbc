import { Dialog as Radix } from "radix-ui";
import { Sidebar } from "./sidebar.tsx";

/** The sidebar, where there is no room for one. */
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
          {/* Choosing the page that is open already closes it too. */}
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
