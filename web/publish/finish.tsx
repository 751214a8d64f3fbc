import { GitCommitHorizontal } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { useMay } from "../api/sign-in.ts";
import { Button } from "../ui/button.tsx";

const FinishDialog = lazy(async () => ({ default: (await import("./finish-dialog.tsx")).FinishDialog }));

/** The way to commit and push a session's changes, for accounts that can. */
export function Finish(props: { readonly summary: SessionSummary; readonly onCloseSession: () => void }) {
  const { summary, onCloseSession } = props;
  const [open, setOpen] = useState(false);
  if (!useMay("coding:publish")) return null;
  return (
    <div className="flex shrink-0 justify-end border-t border-line bg-panel px-3 py-2">
      <Button icon={GitCommitHorizontal} onClick={() => setOpen(true)}>
        Finish
      </Button>
      {open && (
        <Suspense fallback={null}>
          <FinishDialog {...{ summary, onCloseSession }} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </div>
  );
}
