import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Clone } from "../../src/wire/clones.ts";
import { fieldError, hasCode, messageOf } from "../api/api-error.ts";
import { isRunning, useBeginClone, useCancelClone, useClone } from "../api/folder-profiles.ts";
import { queryKeys } from "../api/query.ts";
import { Button } from "../ui/button.tsx";
import { Dialog, FormDialog } from "../ui/dialog.tsx";
import { TextField } from "../ui/field.tsx";
import { ErrorNotice, Notice } from "../ui/notice.tsx";
import { PathField } from "../ui/path-field.tsx";
import { visibleText } from "../ui/untrusted.tsx";

/** Clones a repository by its address, and registers the new folder. @param props `parent`: a registered folder */
export function CloneDialog({ parent: first, onClose }: { readonly parent: string; readonly onClose: () => void }) {
  const begin = useBeginClone();
  const [address, setAddress] = useState("");
  const [parent, setParent] = useState(first);
  const [name, setName] = useState("");
  if (begin.data !== undefined) {
    return <CloneProgress begun={begin.data} onAgain={() => begin.reset()} onClose={onClose} />;
  }
  const nameError =
    fieldError(begin.error, "name") ??
    (hasCode(begin.error, "clone_target_exists") ? messageOf(begin.error) : undefined);
  const parentError =
    fieldError(begin.error, "parent") ?? (hasCode(begin.error, "dir_not_found") ? messageOf(begin.error) : undefined);
  const called = name.trim();
  return (
    <FormDialog
      onClose={onClose}
      onSubmit={() =>
        begin.mutate({
          address: address.trim(),
          parent: parent.trim(),
          ...(called === "" ? {} : { name: called }),
        })
      }
      title="Clone repository"
      submit="Clone"
      busy={begin.isPending}
      disabled={address.trim() === "" || parent.trim() === ""}
      error={nameError === undefined && parentError === undefined ? begin.error : null}
    >
      <TextField
        label="Address"
        required
        spellCheck={false}
        placeholder="https://github.com/octo/app.git"
        value={address}
        hint="Git uses the logins of the gateway’s user."
        onChange={({ target }) => setAddress(target.value)}
      />
      <PathField label="Into folder" required value={parent} onChange={setParent} error={parentError} />
      <TextField
        label="Name"
        spellCheck={false}
        placeholder="Last part of the address"
        value={name}
        error={nameError}
        onChange={({ target }) => setName(target.value)}
      />
    </FormDialog>
  );
}

function CloneProgress(props: { readonly begun: Clone; readonly onAgain: () => void; readonly onClose: () => void }) {
  const { begun, onAgain, onClose } = props;
  const client = useQueryClient();
  const cancel = useCancelClone();
  const { data: clone = begun, error } = useClone(begun.cloneId);
  const runs = isRunning(clone);
  const { state, percent } = clone;
  useEffect(() => {
    if (state === "done") void client.invalidateQueries({ queryKey: queryKeys.folders });
  }, [client, state]);
  return (
    <Dialog onClose={onClose} title={runs ? "Cloning repository" : "Clone repository"}>
      <p className="font-mono text-xs break-all">{visibleText(clone.address)}</p>
      <p className="mt-1 text-sm text-ink-soft">
        to <span className="font-mono text-xs break-all">{clone.path}</span>
      </p>
      <div className="mt-4">
        {runs && (
          <>
            <progress aria-label="Progress" className="w-full" max={100} value={percent ?? undefined} />
            <p role="status" className="text-xs text-ink-faint">
              {clone.phase === null ? "Connecting…" : `${visibleText(clone.phase)}: ${percent ?? 0} %`}
            </p>
          </>
        )}
        {state === "done" && <Notice>The repository is cloned and registered.</Notice>}
        {state === "cancelled" && <Notice>The clone was cancelled, and its files were removed.</Notice>}
        {state === "failed" && <Notice tone="danger">{visibleText(clone.error ?? "The clone failed.")}</Notice>}
      </div>
      <ErrorNotice error={cancel.error ?? error} />
      <div className="mt-4 flex justify-end gap-2">
        {runs && (
          <Button busy={cancel.isPending} onClick={() => cancel.mutate(clone.cloneId)}>
            Cancel clone
          </Button>
        )}
        {(state === "failed" || state === "cancelled") && <Button onClick={onAgain}>Back</Button>}
        <Button variant="primary" onClick={onClose}>
          {runs ? "Continue in background" : "Done"}
        </Button>
      </div>
    </Dialog>
  );
}
