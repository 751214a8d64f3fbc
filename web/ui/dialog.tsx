import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Button, IconButton } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { Form } from "./field.tsx";
import { ErrorNotice } from "./notice.tsx";

/** A modal dialog. Escape closes it and, unless it `holds` a draft, a click outside. */
export function Dialog(props: {
  readonly onClose: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  /** Does not scroll with the content. */
  readonly top?: ReactNode;
  /** Whether it has unsaved text. */
  readonly holds?: boolean;
  /** Wider, for lists with long lines. */
  readonly wide?: boolean;
  readonly children?: ReactNode;
}) {
  const { onClose, title, description, holds = false, wide = false, top, children } = props;
  return (
    <Radix.Root open onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 bg-veil" />
        <Radix.Content
          {...(description === undefined ? { "aria-describedby": undefined } : {})}
          onInteractOutside={(event) => holds && event.preventDefault()}
          onEscapeKeyDown={(event) => {
            // In a terminal, Escape belongs to the program.
            if (event.target instanceof Element && event.target.closest(".xterm") !== null) event.preventDefault();
          }}
          className={classNames(
            "fixed inset-x-3 top-[10dvh] z-50 mx-auto flex max-h-[80dvh] flex-col overflow-hidden rounded-xl border border-line bg-panel shadow-float focus:outline-none",
            wide ? "max-w-2xl" : "max-w-md",
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

/** Asks for confirmation before an irreversible action. */
export function ConfirmDialog(props: {
  readonly onClose: () => void;
  readonly onConfirm: () => void;
  readonly title: ReactNode;
  readonly description?: ReactNode;
  readonly confirm: string;
  readonly act: { readonly isPending: boolean; readonly error: Error | null };
  readonly children?: ReactNode;
}) {
  const { onClose, onConfirm, title, description, confirm, act, children } = props;
  return (
    <Dialog onClose={onClose} title={title} description={description}>
      {children}
      <ErrorNotice error={act.error} />
      <div className="mt-2 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button variant="danger" busy={act.isPending} onClick={onConfirm}>
          {confirm}
        </Button>
      </div>
    </Dialog>
  );
}

/** A dialog with a form. */
export function FormDialog(props: {
  readonly onClose: () => void;
  readonly onSubmit: () => void;
  readonly title: string;
  readonly description?: string;
  readonly submit: string;
  readonly busy: boolean;
  readonly disabled: boolean;
  /** Errors not shown at a field. */
  readonly error: unknown;
  /** Whether it has unsaved text. */
  readonly holds?: boolean;
  readonly children: ReactNode;
}) {
  const { onClose, onSubmit, title, description, submit, busy, disabled, error, holds = false, children } = props;
  return (
    <Dialog onClose={onClose} title={title} description={description} holds={holds}>
      <Form className="flex flex-col gap-4" onSubmit={onSubmit}>
        {children}
        <ErrorNotice error={error} />
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={busy} disabled={disabled}>
            {submit}
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
