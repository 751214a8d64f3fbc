import { Check, Ellipsis } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { lazy, type ReactNode, Suspense, useState } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { ExportFormat } from "../../src/wire/sharing.ts";
import { reading } from "../api/client.ts";
import { useAct } from "../api/query.ts";
import { useMay } from "../api/sign-in.ts";
import { useSessionDeeds } from "../list/edits.ts";
import { rename } from "../list/selection.ts";
import { IconButton } from "../ui/button.tsx";
import { copyText } from "../ui/copy-button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { sessionTitle } from "../ui/session-state.ts";
import { requestFork, useForkRequest } from "./fork-request.ts";

const ShareDialog = lazy(async () => ({ default: (await import("./share-dialog.tsx")).ShareDialog }));
const ForkDialog = lazy(async () => ({ default: (await import("./fork-dialog.tsx")).ForkDialog }));
const LabelsDialog = lazy(async () => ({ default: (await import("../list/labels-dialog.tsx")).LabelsDialog }));
const SessionMemoryDialog = lazy(async () => ({
  default: (await import("../memory/session-memory.tsx")).SessionMemoryDialog,
}));

const endings: Readonly<Record<ExportFormat, string>> = { markdown: "md", html: "html", json: "json" };
/** A long transcript takes a while to read and mask. */
const exportTimeoutMs = 10 * 60_000;

/** Less frequent actions for a session. */
export function SessionMenu(props: {
  readonly summary: SessionSummary;
  readonly sessionId: string;
  /** Items of the page, before the others. */
  readonly children?: ReactNode;
}) {
  const { summary, sessionId, children } = props;
  const mayRemember = useMay("logs:read");
  const mayWrite = useMay("coding:write");
  const deeds = useSessionDeeds();
  const fork = useForkRequest(sessionId);
  const [dialog, setDialog] = useState<"none" | "share" | "memory" | "labels">("none");
  const download = useAct({
    mutationFn: async (format: ExportFormat) => {
      const answer = await reading.exportSession(
        { sessionId: summary.sessionId, format },
        { timeoutMs: exportTimeoutMs },
      );
      save(await answer.blob(), `${fileName(sessionTitle(summary))}.${endings[format]}`);
    },
  });
  const close = (): void => setDialog("none");
  return (
    <>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger asChild>
          <IconButton label="More" icon={Ellipsis} aria-busy={download.isPending || undefined} />
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content
            align="end"
            sideOffset={4}
            collisionPadding={8}
            // Renaming moves the focus to its own field.
            onCloseAutoFocus={(event) => document.activeElement instanceof HTMLInputElement && event.preventDefault()}
            className="z-30 max-h-(--radix-dropdown-menu-content-available-height) w-64 overflow-y-auto rounded-lg border border-line bg-panel p-1 text-sm shadow-float"
          >
            {children}
            {mayWrite && (
              <>
                <MenuItem onSelect={() => rename(summary.sessionId)}>Rename</MenuItem>
                <MenuItem onSelect={() => void deeds.pin(summary, !summary.pinned)}>
                  {summary.pinned ? "Unpin" : "Pin"}
                </MenuItem>
                <MenuItem onSelect={() => setDialog("labels")}>Labels…</MenuItem>
                <MenuItem onSelect={() => requestFork({ sessionId, turn: null })}>Fork…</MenuItem>
                <MenuItem onSelect={() => void deeds.archive(summary, !summary.archived)}>
                  {summary.archived ? "Restore" : "Archive"}
                </MenuItem>
                <MenuLine />
              </>
            )}
            <MenuItem onSelect={() => setDialog("share")}>Share link…</MenuItem>
            <MenuItem onSelect={() => download.mutate("markdown")}>Export as Markdown</MenuItem>
            <MenuItem onSelect={() => download.mutate("html")}>Export as HTML</MenuItem>
            <MenuItem onSelect={() => download.mutate("json")}>Export as JSON</MenuItem>
            <MenuLine />
            <MenuItem onSelect={() => void copyText(pageAddress(sessionId))}>Copy link to this page</MenuItem>
            <MenuItem onSelect={() => void copyText(summary.dir)}>Copy directory</MenuItem>
            <MenuItem onSelect={() => void copyText(summary.sessionId)}>Copy session ID</MenuItem>
            {mayRemember && (
              <MenuItem onSelect={() => setDialog("memory")} className="sm:hidden">
                Memory
              </MenuItem>
            )}
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      {download.error !== null && (
        <div className="fixed inset-x-3 bottom-3 z-30 mx-auto max-w-md">
          <ErrorNotice error={download.error} />
        </div>
      )}
      <Suspense>
        {fork !== null && <ForkDialog summary={summary} turn={fork.turn} onClose={() => requestFork(null)} />}
        {dialog === "labels" && <LabelsDialog session={summary} onClose={close} />}
        {dialog === "share" && <ShareDialog sessionId={summary.sessionId} onClose={close} />}
        {dialog === "memory" && (
          <SessionMemoryDialog sessionId={summary.sessionId} title={sessionTitle(summary)} onClose={close} />
        )}
      </Suspense>
    </>
  );
}

export function MenuItem(props: {
  readonly onSelect: () => void;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  const { onSelect, className = "", children } = props;
  return (
    <DropdownMenu.Item onSelect={onSelect} className={`${itemLook} ${className}`}>
      {children}
    </DropdownMenu.Item>
  );
}

export function MenuCheck(props: {
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly className?: string;
  readonly children: ReactNode;
}) {
  const { checked, onChange, className = "", children } = props;
  return (
    <DropdownMenu.CheckboxItem
      checked={checked}
      onCheckedChange={onChange}
      className={`${itemLook} justify-between ${className}`}
    >
      {children}
      <DropdownMenu.ItemIndicator>
        <Check aria-hidden className="size-4 text-accent" />
      </DropdownMenu.ItemIndicator>
    </DropdownMenu.CheckboxItem>
  );
}

export function MenuLine() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
}

export function MenuNote({ children, className = "" }: { readonly children: ReactNode; readonly className?: string }) {
  return (
    <DropdownMenu.Label className={`px-2.5 py-1 text-xs text-ink-faint ${className}`}>{children}</DropdownMenu.Label>
  );
}

const itemLook =
  "flex min-h-8 cursor-pointer items-center rounded-md px-2.5 py-1 outline-none select-none data-highlighted:bg-hover pointer-coarse:min-h-11";

/** The address of a session's page, or of one turn on it. */
export function pageAddress(sessionId: string, turn?: number): string {
  const address = new URL(`/sessions/${encodeURIComponent(sessionId)}`, window.location.origin);
  if (turn !== undefined) address.hash = `turn-${turn}`;
  return address.href;
}

function fileName(title: string): string {
  const name = title
    .normalize("NFC")
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "");
  return name.slice(0, 60) || "session";
}

function save(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  // After the browser has started to read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
