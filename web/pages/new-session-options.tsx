import { FolderGit2 } from "lucide-react";
import { useId } from "react";
import type { Branches } from "../../src/wire/changes.ts";
import { type ListAgentsOutput, permissionModeSchema } from "../../src/wire/coding.ts";
import { noFilters, useSessionPage } from "../api/sessions.ts";
import { useMay } from "../api/sign-in.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { PathField } from "../ui/path-field.tsx";
import { agentName, shortPath } from "../ui/session-state.ts";
import { SwitchField } from "../ui/switch-field.tsx";
import { type Choices, lastChoices } from "./new-session-choices.ts";
import type { NewSession, NewSessionErrors } from "./start-session.ts";

const shownRecent = 4;

interface OptionsProps {
  readonly form: NewSession;
  readonly errors: NewSessionErrors["byField"];
  readonly onChange: (changes: Partial<NewSession>) => void;
}

/** Where the session starts and with which options, in one line. */
export function NewSessionOptions({
  form,
  errors,
  onChange,
  agents,
  known,
}: OptionsProps & { readonly agents: ListAgentsOutput["agents"] | undefined; readonly known: readonly string[] }) {
  const mayDrive = useMay("coding:drive");
  const listId = useId();
  const models = useModels(form.agent);
  const withoutPrompt = form.prompt.trim() === "";
  const recent = known.filter((path) => path !== form.dir).slice(0, shownRecent);
  return (
    <div className="flex flex-col gap-2">
      <div className="grid grid-cols-2 gap-3 sm:grid-cols-[minmax(0,2fr)_repeat(3,minmax(0,1fr))]">
        <div className="col-span-2 sm:col-span-1">
          <PathField
            label="Folder"
            required
            value={form.dir}
            known={known}
            onChange={(dir) => onChange({ dir })}
            error={errors.dir}
          />
        </div>
        <SelectField
          label="Agent"
          value={form.agent}
          error={errors.agent}
          onChange={({ target }) => onChange({ agent: target.value, model: lastChoices().models[target.value] ?? "" })}
        >
          {agents?.length === 0 && <option value="">No agent configured</option>}
          {agents?.map(({ name, isDefault }) => (
            <option key={name} value={name}>
              {agentName(name)}
              {isDefault ? " (default)" : ""}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Model"
          placeholder="Default model"
          list={listId}
          value={form.model}
          error={errors.model}
          onChange={({ target }) => onChange({ model: target.value })}
        />
        <datalist id={listId}>
          {models.map((model) => (
            <option key={model}>{model}</option>
          ))}
        </datalist>
        <SelectField
          label="Permissions"
          className="max-sm:col-span-2"
          value={form.permissionMode}
          disabled={!mayDrive || withoutPrompt}
          title={withoutPrompt ? "Applies only with a first prompt." : undefined}
          error={errors.permissionMode}
          onChange={({ target }) => onChange({ permissionMode: permissionModeSchema.parse(target.value) })}
        >
          <option value="ask">Ask before acting</option>
          <option value="edits">Edit files without asking</option>
          <option value="all">Never ask (full access)</option>
        </SelectField>
      </div>
      {recent.length > 0 && (
        <ul aria-label="Recent projects" className="flex min-w-0 flex-wrap gap-1.5">
          {recent.map((path) => (
            <li key={path} className="min-w-0">
              <button
                type="button"
                title={path}
                onClick={() => onChange({ dir: path })}
                className="inline-flex h-7 max-w-56 items-center gap-1.5 rounded-full border border-line px-2.5 text-xs text-ink-soft hover:border-line-strong hover:text-ink pointer-coarse:h-10"
              >
                <FolderGit2 aria-hidden className="size-3.5 shrink-0 text-ink-faint" />
                <span className="truncate">{shortPath(path)}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const everything = { query: "", everywhere: false, group: "", filters: noFilters } as const;

/** Models recently used with this agent, because no agent lists its models. */
function useModels(agent: string): readonly string[] {
  const { data } = useSessionPage(everything, 0);
  const used = (data?.listed ?? []).flatMap(({ session }) =>
    session.agent === agent && session.model !== null ? [session.model] : [],
  );
  const last = lastChoices().models[agent];
  return [...new Set([...(last === undefined || last === "" ? [] : [last]), ...used])];
}

/** A separate worktree, and its branch. */
export function WorktreeOption({
  form,
  errors,
  onChange,
  branches,
}: OptionsProps & { readonly branches: Branches | undefined }) {
  return (
    <div className="flex flex-col gap-4">
      <SwitchField
        label="Use a separate worktree"
        hint={
          branches !== undefined && branches.repository === null
            ? "This folder is not in a Git repository."
            : form.worktree
              ? "Closing the session removes the worktree and keeps the branch and any uncommitted work."
              : undefined
        }
        disabled={branches?.repository == null}
        checked={form.worktree}
        onChange={(worktree) => onChange({ worktree })}
      />
      {form.worktree && (
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="New branch (optional)"
            maxLength={250}
            placeholder={form.prompt.trim() === "" ? "A random name" : "A name from the prompt"}
            value={form.branch}
            error={errors.branch}
            spellCheck={false}
            onChange={({ target }) => onChange({ branch: target.value })}
          />
          <SelectField
            label="Based on"
            value={form.baseBranch}
            error={errors.baseBranch}
            onChange={({ target }) => onChange({ baseBranch: target.value })}
          >
            {branches?.branches.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </SelectField>
        </div>
      )}
    </div>
  );
}

/** The agent of the last session, if it is still configured. */
export function preferredAgent({ agent }: Choices, listed: ListAgentsOutput | undefined): string {
  if (listed?.agents.some(({ name }) => name === agent) === true) return agent;
  return listed?.default ?? listed?.agents[0]?.name ?? "";
}
