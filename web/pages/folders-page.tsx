import { FolderOpen } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { PosternClientError } from "../../src/client/index.ts";
import { defaultWorktreeName, type Folder, type FolderScope } from "../../src/wire/access.ts";
import { fieldError, messageOf } from "../api/api-error.ts";
import { useAddFolder, useFolders, useRemoveFolder } from "../api/folders.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDialog, FormDialog } from "../ui/dialog.tsx";
import { CheckFields, TextField } from "../ui/field.tsx";
import { Notice, QueryState } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { PathField } from "../ui/path-field.tsx";
import { Rows } from "../ui/rows.tsx";

// Rarely needed.
const FolderProfileDialog = lazy(async () => ({
  default: (await import("./folder-profile-dialog.tsx")).FolderProfileDialog,
}));
const CloneDialog = lazy(async () => ({ default: (await import("./clone-dialog.tsx")).CloneDialog }));

const scopeOptions: readonly { readonly value: FolderScope; readonly label: string; readonly hint: string }[] = [
  {
    value: "coding",
    label: "coding",
    hint: "Agents can work here. The folder is trusted: agents start without a trust dialog, and the hooks and settings in its repositories run as you.",
  },
  { value: "files", label: "files", hint: "Shows changes, and completes paths while you type." },
  { value: "exec", label: "exec", hint: "Agents can be started with full access." },
];

export function FoldersPage() {
  const folders = useFolders();
  const [editing, setEditing] = useState<Folder | "new" | null>(null);
  const [removing, setRemoving] = useState<Folder | null>(null);
  const [profiled, setProfiled] = useState<Folder | null>(null);
  const [cloning, setCloning] = useState(false);
  const first = folders.data?.[0];
  return (
    <Page
      title="Folders"
      description="Where agents can work. A registered folder’s scopes apply to everything in it; with nested folders, the innermost applies."
      actions={
        <div className="flex flex-wrap gap-2">
          {first !== undefined && <Button onClick={() => setCloning(true)}>Clone repository…</Button>}
          <Button variant="primary" onClick={() => setEditing("new")}>
            Add folder
          </Button>
        </div>
      }
    >
      <QueryState query={folders} label="Loading folders" rows={2} />
      {folders.data?.length === 0 && (
        <Notice>
          No folder is registered, so agents can work anywhere on this machine. Once you add one, they can work only in
          registered folders, and sessions elsewhere are hidden.
        </Notice>
      )}
      {folders.data !== undefined && folders.data.length > 0 && (
        <Rows label="Registered folders">
          {folders.data.map((folder) => (
            <li key={folder.path} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3">
              <FolderOpen aria-hidden className="size-4 shrink-0 text-ink-faint" />
              <div className="min-w-52 flex-1">
                <h2 className="font-mono text-xs font-medium">{folder.path}</h2>
                <div className="mt-1 flex flex-wrap gap-1">
                  {folder.scopes.map((scope) => (
                    <Badge key={scope} tone={scope === "exec" ? "lamp" : "plain"}>
                      {scope}
                    </Badge>
                  ))}
                </div>
              </div>
              <div className="flex gap-1.5">
                <Button onClick={() => setProfiled(folder)}>Profile…</Button>
                <Button onClick={() => setEditing(folder)}>Edit…</Button>
                <Button variant="ghost" onClick={() => setRemoving(folder)}>
                  Remove…
                </Button>
              </div>
            </li>
          ))}
        </Rows>
      )}
      {editing !== null && (
        <FolderDialog folder={editing === "new" ? null : editing} onClose={() => setEditing(null)} />
      )}
      <Suspense>
        {profiled !== null && (
          <FolderProfileDialog folderId={profiled.folderId} path={profiled.path} onClose={() => setProfiled(null)} />
        )}
        {cloning && first !== undefined && <CloneDialog parent={first.path} onClose={() => setCloning(false)} />}
      </Suspense>
      {removing !== null && (
        <RemoveDialog folder={removing} last={folders.data?.length === 1} onClose={() => setRemoving(null)} />
      )}
    </Page>
  );
}

function FolderDialog({ folder, onClose }: { readonly folder: Folder | null; readonly onClose: () => void }) {
  const add = useAddFolder();
  const [path, setPath] = useState(folder?.path ?? "");
  const [scopes, setScopes] = useState<readonly FolderScope[]>(folder?.scopes ?? ["coding", "files"]);
  const [worktreeName, setWorktreeName] = useState(folder?.worktreeName ?? defaultWorktreeName);
  const aboutPath =
    add.error instanceof PosternClientError && add.error.code === "dir_not_found" ? messageOf(add.error) : undefined;
  const pathError = fieldError(add.error, "path") ?? aboutPath;
  const nameError = fieldError(add.error, "worktreeName");
  return (
    <FormDialog
      onClose={onClose}
      onSubmit={() =>
        add.mutate({ path: path.trim(), scopes, worktreeName: worktreeName.trim() }, { onSuccess: onClose })
      }
      title={folder === null ? "Add folder" : "Edit folder"}
      submit={folder === null ? "Register" : "Save"}
      busy={add.isPending}
      disabled={path.trim() === "" || scopes.length === 0 || worktreeName.trim() === ""}
      error={pathError === undefined && nameError === undefined ? add.error : null}
    >
      {folder === null ? (
        <PathField label="Folder" required value={path} onChange={setPath} error={pathError} />
      ) : (
        <p className="font-mono text-xs">{folder.path}</p>
      )}
      <CheckFields legend="Scopes" options={scopeOptions} chosen={scopes} onChange={setScopes} />
      <TextField
        label="Directory name of new worktrees"
        required
        className="mt-4"
        spellCheck={false}
        value={worktreeName}
        error={nameError}
        hint="Next to the repository. {branch} and {repository} are replaced."
        onChange={(event) => setWorktreeName(event.target.value)}
      />
    </FormDialog>
  );
}

function RemoveDialog({ folder, last, onClose }: Readonly<{ folder: Folder; last: boolean; onClose: () => void }>) {
  const remove = useRemoveFolder();
  return (
    <ConfirmDialog
      onClose={onClose}
      title="Remove this folder from the list?"
      description={
        <>
          <p className="font-mono text-xs">{folder.path}</p>
          <p className="mt-2">
            The directory itself is kept.{" "}
            {last
              ? "This is the last registered folder: without one, agents can work everywhere."
              : "Agents can no longer start in it, and its sessions are hidden."}
          </p>
        </>
      }
      confirm="Remove"
      act={remove}
      onConfirm={() => remove.mutate(folder.path, { onSuccess: onClose })}
    />
  );
}
