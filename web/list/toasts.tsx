import { CircleAlert, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { Button, IconButton } from "../ui/button.tsx";

/** A short message at the bottom of the page. */
export interface Toast {
  readonly text: string;
  readonly tone: "info" | "danger";
  readonly undo?: (() => void) | undefined;
}

/** Long enough to read and undo. */
const shownMs = 30_000;

let shown: Toast | null = null;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

/** Replaces the previous one. An error stays until it is closed. */
export function showToast(toast: Toast | null): void {
  shown = toast;
  clearTimeout(timer);
  if (toast?.tone === "info") timer = setTimeout(() => showToast(null), shownMs);
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const toast = useSyncExternalStore(subscribe, () => shown);
  return (
    <div
      role={toast?.tone === "danger" ? "alert" : "status"}
      className="pointer-events-none fixed inset-x-3 bottom-4 z-50 flex justify-center"
    >
      {toast !== null && (
        <div className="pointer-events-auto flex max-w-lg items-center gap-3 rounded-lg border border-line-strong bg-raised py-1.5 pr-1.5 pl-3 text-sm shadow-float">
          {toast.tone === "danger" && <CircleAlert aria-hidden className="size-4 shrink-0 text-danger" />}
          <span className="min-w-0 flex-1 [overflow-wrap:anywhere]">{toast.text}</span>
          {toast.undo !== undefined && (
            <Button
              size="sm"
              onClick={() => {
                toast.undo?.();
                showToast(null);
              }}
            >
              Undo
            </Button>
          )}
          <IconButton label="Dismiss" icon={X} onClick={() => showToast(null)} />
        </div>
      )}
    </div>
  );
}
