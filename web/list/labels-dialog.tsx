import { useId, useState } from "react";
import type { SessionSummary } from "../../src/wire/coding.ts";
import { maxLabelLength } from "../../src/wire/session-notes.ts";
import { useLabels } from "../api/sessions.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Form, TextField } from "../ui/field.tsx";
import { sessionTitle } from "../ui/session-state.ts";
import { useSessionDeeds } from "./edits.ts";
import { LabelChip } from "./label-chip.tsx";

/** Adds and removes labels one at a time, so that labels added by another person at the same time are kept. */
export function LabelsDialog({ session, onClose }: { readonly session: SessionSummary; readonly onClose: () => void }) {
  const deeds = useSessionDeeds();
  const known = useLabels().data ?? [];
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const listId = useId();
  const unused = known.filter(({ label }) => !session.labels.includes(label)).slice(0, 12);
  const run = async (deed: Promise<void>): Promise<void> => {
    setBusy(true);
    await deed;
    setBusy(false);
  };
  const add = (label: string): void => {
    if (label.trim() === "" || busy) return;
    setTyped("");
    void run(deeds.addLabel(session, label.trim()));
  };
  return (
    <Dialog onClose={onClose} title="Labels" description={sessionTitle(session)}>
      <div aria-label="Labels of this session" role="group" className="mb-3 flex min-h-6 flex-wrap gap-1.5">
        {session.labels.map((label) => (
          <LabelChip key={label} label={label} onRemove={() => void run(deeds.removeLabel(session, label))} />
        ))}
        {session.labels.length === 0 && <span className="text-sm text-ink-faint">No labels yet.</span>}
      </div>
      <Form className="flex items-end gap-2" onSubmit={() => add(typed)}>
        <TextField
          label="New label"
          className="flex-1"
          maxLength={maxLabelLength}
          list={listId}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <datalist id={listId}>
          {known.map(({ label }) => (
            <option key={label}>{label}</option>
          ))}
        </datalist>
        <Button type="submit" variant="primary" className="h-9" busy={busy} disabled={typed.trim() === ""}>
          Add
        </Button>
      </Form>
      {unused.length > 0 && (
        <div role="group" aria-label="Other labels" className="mt-3 flex flex-wrap gap-1.5">
          {unused.map(({ label }) => (
            <button key={label} type="button" aria-label={`Add label ${label}`} onClick={() => add(label)}>
              <LabelChip label={label} />
            </button>
          ))}
        </div>
      )}
    </Dialog>
  );
}
