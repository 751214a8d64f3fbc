import { useState } from "react";
import type { CreatedToken, Scope } from "../../src/wire/access.ts";
import { fieldError } from "../api/api-error.ts";
import { useFolders } from "../api/folders.ts";
import { useCreateToken } from "../api/tokens.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { CheckField, SelectField, TextField } from "../ui/field.tsx";
import { ErrorNotice } from "../ui/notice.tsx";

const scopeWords: readonly { readonly scope: Scope; readonly hint: string }[] = [
  { scope: "coding:read", hint: "List, search and read sessions; watch their terminals." },
  { scope: "coding:write", hint: "Start agents that ask before they act, prompt, interrupt and close them." },
  {
    scope: "coding:drive",
    hint: "Type into terminals, answer permissions, start agents that do not ask. Whoever holds it can run commands as you.",
  },
  { scope: "logs:read", hint: "Read the log." },
  { scope: "logs:write", hint: "Delete log entries." },
  { scope: "admin", hint: "Folders, agents, tokens and accounts: everything that is on these pages." },
];

const lives: readonly { readonly days: number; readonly label: string }[] = [
  { days: 7, label: "In a week" },
  { days: 30, label: "In 30 days" },
  { days: 90, label: "In 90 days" },
  { days: 365, label: "In a year" },
  { days: 0, label: "Never" },
];

const dayMs = 86_400_000;

/** Asks what a new token shall open, and for how long. */
export function CreateTokenDialog({
  onClose,
  onCreated,
}: {
  readonly onClose: () => void;
  readonly onCreated: (token: CreatedToken) => void;
}) {
  const create = useCreateToken();
  const registered = useFolders().data ?? [];
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly Scope[]>(["coding:read", "coding:write"]);
  const [days, setDays] = useState(30);
  const [folders, setFolders] = useState<readonly string[]>([]);
  const nameError = fieldError(create.error, "name");

  const submit = (): void => {
    const expiresAt = days === 0 ? null : new Date(Date.now() + days * dayMs).toISOString();
    const wanted = { name: name.trim(), scopes, expiresAt, folders: folders.length === 0 ? null : folders };
    create.mutate(wanted, { onSuccess: onCreated });
  };
  return (
    <Dialog open onClose={onClose} title="Create a token">
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <TextField
          label="Name"
          required
          maxLength={100}
          placeholder="What will use it?"
          value={name}
          error={nameError}
          onChange={(event) => setName(event.target.value)}
        />
        <fieldset>
          <legend className="mb-1 text-xs font-medium text-ink-soft">What it may do</legend>
          {scopeWords.map(({ scope, hint }) => (
            <CheckField
              key={scope}
              label={<code className="text-xs">{scope}</code>}
              hint={hint}
              checked={scopes.includes(scope)}
              onChange={(event) =>
                setScopes(event.target.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope))
              }
            />
          ))}
        </fieldset>
        {registered.length > 0 && (
          <fieldset>
            <legend className="mb-1 text-xs font-medium text-ink-soft">Only in these folders (none: in all)</legend>
            {registered.map(({ path }) => (
              <CheckField
                key={path}
                label={<span className="font-mono text-xs font-normal">{path}</span>}
                checked={folders.includes(path)}
                onChange={(event) =>
                  setFolders(event.target.checked ? [...folders, path] : folders.filter((one) => one !== path))
                }
              />
            ))}
          </fieldset>
        )}
        <SelectField label="Expires" value={days} onChange={(event) => setDays(Number(event.target.value))}>
          {lives.map((life) => (
            <option key={life.days} value={life.days}>
              {life.label}
            </option>
          ))}
        </SelectField>
        {create.error !== null && nameError === undefined && <ErrorNotice error={create.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            variant="primary"
            busy={create.isPending}
            disabled={name.trim() === "" || scopes.length === 0}
          >
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
