import { Plus, X } from "lucide-react";
import { useState } from "react";
import { PosternClientError } from "../../src/client/index.ts";
import { scopes as allScopes, type CreatedToken, type Scope } from "../../src/wire/access.ts";
import { useCreateToken } from "../api/access.ts";
import { fieldError } from "../api/api-error.ts";
import { useFolders } from "../api/folders.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { FormDialog } from "../ui/dialog.tsx";
import { SelectField, TextField } from "../ui/field.tsx";
import { PathField } from "../ui/path-field.tsx";
import { ScopeChoice } from "./scope-list.tsx";

const lives: readonly { readonly days: number; readonly label: string }[] = [
  { days: 7, label: "In 7 days" },
  { days: 30, label: "In 30 days" },
  { days: 90, label: "In 90 days" },
  { days: 365, label: "In a year" },
  { days: 0, label: "Never" },
];

const dayMs = 86_400_000;

export function CreateTokenDialog({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (token: CreatedToken) => void;
}) {
  const create = useCreateToken();
  const registered = useFolders().data?.map(({ path }) => path) ?? [];
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["coding:read", "coding:write"]);
  const [days, setDays] = useState(30);
  const [folders, setFolders] = useState<readonly string[]>([]);
  const [typed, setTyped] = useState("");
  const nameError = fieldError(create.error, "name");
  const folderError = create.error instanceof PosternClientError ? aboutFolders(create.error) : undefined;

  const submit = (): void => {
    const expiresAt = days === 0 ? null : new Date(Date.now() + days * dayMs).toISOString();
    const only = withTyped(folders, typed);
    const wanted = { name: name.trim(), scopes, expiresAt, folders: only.length === 0 ? null : only };
    create.mutate(wanted, { onSuccess: onCreated });
  };
  return (
    <FormDialog
      onClose={onClose}
      onSubmit={submit}
      title="Create token"
      submit="Create"
      busy={create.isPending}
      disabled={name.trim() === "" || scopes.length === 0}
      error={nameError === undefined && folderError === undefined ? create.error : null}
    >
      <TextField
        label="Name"
        required
        maxLength={100}
        placeholder="Where will you use it?"
        value={name}
        error={nameError}
        onChange={(event) => setName(event.target.value)}
      />
      <ScopeChoice legend="Permissions" offered={allScopes} chosen={scopes} onChange={setScopes} />
      <FolderChoice
        legend="Limit to folders"
        hint={
          folders.length === 0
            ? "Empty = all allowed folders"
            : "The token sees and starts sessions only in these folders."
        }
        known={registered}
        chosen={folders}
        onChange={setFolders}
        typed={typed}
        onType={setTyped}
        error={folderError}
      />
      <SelectField label="Expires" value={days} onChange={(event) => setDays(Number(event.target.value))}>
        {lives.map((life) => (
          <option key={life.days} value={life.days}>
            {life.label}
          </option>
        ))}
      </SelectField>
    </FormDialog>
  );
}

/** The folder does not exist, or is not a directory. */
function aboutFolders({ code, fields, message }: PosternClientError): string | undefined {
  if (code === "dir_not_found") return message;
  return fields.find(({ path }) => path.startsWith("folders"))?.message;
}

/** Chooses directories. Text left in the field counts too. */
function FolderChoice(props: {
  readonly legend: string;
  readonly hint: string;
  readonly known: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (folders: readonly string[]) => void;
  readonly typed: string;
  readonly onType: (path: string) => void;
  readonly error?: string | undefined;
}) {
  const { legend, hint, known, chosen, onChange, typed, onType, error } = props;
  const [said, setSaid] = useState("");
  const add = (): void => {
    onChange(withTyped(chosen, typed));
    onType("");
    setSaid(`${typed.trim()} was added.`);
  };
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="sr-only">{legend}</legend>
      <div className="flex items-end gap-2">
        <div className="min-w-0 flex-1">
          <PathField
            label={legend}
            value={typed}
            onChange={onType}
            known={known.filter((path) => !chosen.includes(path))}
            error={error}
          />
        </div>
        <Button icon={Plus} className="h-9" disabled={typed.trim() === ""} onClick={add}>
          Add
        </Button>
      </div>
      {chosen.length > 0 && (
        <ul aria-label={legend} className="flex flex-col gap-1">
          {chosen.map((path) => (
            <li key={path} className="flex items-center gap-1 rounded-md bg-well pr-0.5 pl-2.5">
              <span className="min-w-0 flex-1 py-1 font-mono text-xs break-all">{path}</span>
              <IconButton
                label={`Remove ${path}`}
                icon={X}
                onClick={() => onChange(chosen.filter((one) => one !== path))}
              />
            </li>
          ))}
        </ul>
      )}
      <p className="text-xs text-ink-faint">{hint}</p>
      <span role="status" className="sr-only">
        {said}
      </span>
    </fieldset>
  );
}

/** The chosen directories plus the one still in the field. */
function withTyped(chosen: readonly string[], typed: string): readonly string[] {
  const path = typed.trim();
  return path === "" || chosen.includes(path) ? chosen : [...chosen, path];
}
