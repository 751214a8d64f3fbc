import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Button, IconButton } from "./button.tsx";
import { classNames } from "./class-names.ts";

/** A window over the page, which waits. Escape and, unless it `holds` something, a click beside it close it. */
export function Dialog({
  open,
  onClose,
  title,
  description,
  wide = false,
  holds = false,
  top,
  children,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  /** Stays in sight while the content below it scrolls. */
  readonly top?: ReactNode;
  readonly wide?: boolean;
  /** Whether something was written in it that a slip must not take away. */
  readonly holds?: boolean;
  readonly children?: ReactNode;
}) {
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-veil" />
        <Radix.Content
          {...(description === undefined ? { "aria-describedby": undefined } : {})}
          onInteractOutside={(event) => holds && event.preventDefault()}
          onEscapeKeyDown={(event) => {
            // In a terminal it is the program's key.
            if (event.target instanceof Element && event.target.closest(".xterm") !== null) event.preventDefault();
          }}
          className={classNames(
            "fixed inset-x-3 top-[10dvh] z-50 mx-auto flex max-h-[80dvh] flex-col overflow-hidden rounded-xl border border-line bg-panel shadow-float focus:outline-none",
            wide ? "max-w-4xl" : "max-w-md",
          )}
        >
          <div className="pt-4 pr-14 pl-5">
            <Radix.Title className="text-base font-semibold">{title}</Radix.Title>
            {description !== undefined && (
              <Radix.Description asChild>
                <div className="mt-1 text-sm text-ink-soft">{description}</div>
              </Radix.Description>
            )}
          </div>
          {top !== undefined && <div className="shrink-0 px-5 pt-3">{top}</div>}
          <div className="flex min-h-0 flex-1 flex-col overflow-y-auto px-5 pt-3 pb-5">{children}</div>
          {/* Last, so that a dialog begins with its content. */}
          <Radix.Close asChild>
            <IconButton label="Close" icon={X} className="absolute top-3 right-3" />
          </Radix.Close>
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** Asks before something that cannot be undone. */
export function ConfirmDialog({
  open,
  onClose,
  onConfirm,
  title,
  description,
  confirm,
  busy = false,
  children,
}: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  /** What the button does, as a verb. */
  readonly confirm: string;
  readonly busy?: boolean;
  readonly children?: ReactNode;
}) {
  return (
    <Dialog open={open} onClose={onClose} title={title} description={description}>
      {children}
      <div className="mt-2 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="danger" busy={busy} onClick={onConfirm}>
          {confirm}
        </Button>
      </div>
    </Dialog>
  );
}
