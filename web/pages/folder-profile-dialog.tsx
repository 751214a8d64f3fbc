import { Trash2 } from "lucide-react";
import { useState } from "react";
import { permissionModeSchema } from "../../src/wire/coding.ts";
import type { FolderProfile, ProfileProposal, PutFolderProfileInput } from "../../src/wire/folder-profiles.ts";
import { useAgents } from "../api/agents.ts";
import { useApproveProposal, useFolderProfile, useProposals, useSaveProfile } from "../api/folder-profiles.ts";
import { diffOfTexts } from "../session/line-diff.ts";
import { Badge } from "../ui/badge.tsx";
import { Button, IconButton } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Form, SelectField, TextArea, TextField } from "../ui/field.tsx";
import { ErrorNotice, QueryState } from "../ui/notice.tsx";
import { agentName } from "../ui/session-state.ts";
import { visibleText } from "../ui/untrusted.tsx";

/** How agents begin in a folder, and what its repositories propose. */
export function FolderProfileDialog(props: {
  readonly folderId: string;
  readonly path: string;
  readonly onClose: () => void;
}) {
  const { folderId, path, onClose } = props;
  const profile = useFolderProfile(folderId);
  return (
    <Dialog
      wide
      holds
      onClose={onClose}
      title="Folder profile"
      description={
        <>
          <p className="font-mono text-xs break-all">{path}</p>
          <p className="mt-1">Defaults for agents in this folder. Choices for a session take precedence.</p>
        </>
      }
    >
      <QueryState query={profile} label="Loading profile" rows={4} />
      {profile.data !== undefined && (
        <>
          <Proposals folderId={folderId} />
          <ProfileForm key={profile.data.updatedAt} profile={profile.data} onClose={onClose} />
        </>
      )}
    </Dialog>
  );
}

/** The form's texts. An empty one clears the setting. */
interface Draft {
  readonly setup: string;
  readonly teardown: string;
  readonly setupSeconds: string;
  readonly teardownSeconds: string;
  readonly agent: string;
  readonly model: string;
  readonly permissionMode: string;
  readonly branchPrefix: string;
  readonly kept: readonly string[];
  readonly added: Readonly<Record<string, string>>;
  /** A variable that was typed but not added yet. It is saved too. */
  readonly name: string;
  readonly value: string;
}

function draftOf(profile: FolderProfile): Draft {
  const seconds = (ms: number | null): string => (ms === null ? "" : String(ms / 1_000));
  return {
    setup: profile.setup ?? "",
    teardown: profile.teardown ?? "",
    setupSeconds: seconds(profile.setupTimeoutMs),
    teardownSeconds: seconds(profile.teardownTimeoutMs),
    agent: profile.agent ?? "",
    model: profile.model ?? "",
    permissionMode: profile.permissionMode ?? "",
    branchPrefix: profile.branchPrefix ?? "",
    kept: profile.env,
    added: {},
    name: "",
    value: "",
  };
}

function withTyped({ added, name, value }: Draft): Readonly<Record<string, string>> {
  return name.trim() === "" && value === "" ? added : { ...added, [name.trim()]: value };
}

function inputOf(draft: Draft): PutFolderProfileInput {
  const textOf = (text: string): string | null => (text.trim() === "" ? null : text);
  const msOf = (text: string): number | null => (text.trim() === "" ? null : Number(text) * 1_000);
  return {
    setup: textOf(draft.setup),
    setupTimeoutMs: msOf(draft.setupSeconds),
    teardown: textOf(draft.teardown),
    teardownTimeoutMs: msOf(draft.teardownSeconds),
    agent: textOf(draft.agent),
    model: textOf(draft.model.trim()),
    permissionMode: permissionModeSchema.safeParse(draft.permissionMode).data ?? null,
    branchPrefix: textOf(draft.branchPrefix.trim()),
    env: { ...Object.fromEntries(draft.kept.map((name) => [name, null])), ...withTyped(draft) },
  };
}

function ProfileForm({ profile, onClose }: { readonly profile: FolderProfile; readonly onClose: () => void }) {
  const { data: agents } = useAgents();
  const save = useSaveProfile(profile.folderId);
  const [draft, setDraft] = useState(() => draftOf(profile));
  const change = (changes: Partial<Draft>): void => setDraft({ ...draft, ...changes });
  return (
    <Form className="flex flex-col gap-4" onSubmit={() => save.mutate(inputOf(draft), { onSuccess: onClose })}>
      <Script
        label="Setup script"
        hint="Runs in a new worktree before its agent starts. If it fails, no agent starts."
        placeholder="npm ci"
        text={draft.setup}
        seconds={draft.setupSeconds}
        defaultSeconds="600"
        onChange={(setup, setupSeconds) => change({ setup, setupSeconds })}
      />
      <Script
        label="Teardown script"
        hint="Runs before a worktree is removed. A failure does not keep the worktree."
        placeholder="docker compose down"
        text={draft.teardown}
        seconds={draft.teardownSeconds}
        defaultSeconds="60"
        onChange={(teardown, teardownSeconds) => change({ teardown, teardownSeconds })}
      />
      <div className="grid gap-3 sm:grid-cols-2">
        <SelectField label="Agent" value={draft.agent} onChange={({ target }) => change({ agent: target.value })}>
          <option value="">Default agent</option>
          {agents?.agents.map(({ name }) => (
            <option key={name} value={name}>
              {agentName(name)}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Model"
          placeholder="Default model"
          value={draft.model}
          onChange={({ target }) => change({ model: target.value })}
        />
        <SelectField
          label="Permissions"
          value={draft.permissionMode}
          hint="For callers who can use it."
          onChange={({ target }) => change({ permissionMode: target.value })}
        >
          <option value="">Not set</option>
          <option value="ask">Ask before acting</option>
          <option value="edits">Edit files without asking</option>
          <option value="all">Never ask (full access)</option>
        </SelectField>
        <TextField
          label="Branch prefix"
          placeholder="postern/"
          spellCheck={false}
          value={draft.branchPrefix}
          hint="Begins the names of new branches."
          onChange={({ target }) => change({ branchPrefix: target.value })}
        />
      </div>
      <VariableFields draft={draft} onChange={change} />
      <ErrorNotice error={save.error} />
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" variant="primary" busy={save.isPending}>
          Save
        </Button>
      </div>
    </Form>
  );
}

function Script(props: {
  readonly label: string;
  readonly hint: string;
  readonly placeholder: string;
  readonly text: string;
  readonly seconds: string;
  readonly defaultSeconds: string;
  readonly onChange: (text: string, seconds: string) => void;
}) {
  const { label, hint, placeholder, text, seconds, defaultSeconds, onChange } = props;
  return (
    <div className="grid gap-3 sm:grid-cols-[1fr_8rem]">
      <TextArea
        label={label}
        hint={hint}
        placeholder={placeholder}
        rows={3}
        spellCheck={false}
        value={text}
        onChange={({ target }) => onChange(target.value, seconds)}
      />
      <TextField
        label="Limit in seconds"
        aria-label={`Limit of the ${label.toLowerCase()} in seconds`}
        type="number"
        min={1}
        placeholder={defaultSeconds}
        value={seconds}
        onChange={({ target }) => onChange(text, target.value)}
      />
    </div>
  );
}

/** Stored values are never shown: a variable is replaced or removed. */
function VariableFields(props: { readonly draft: Draft; readonly onChange: (changes: Partial<Draft>) => void }) {
  const { draft, onChange } = props;
  const { name, value } = draft;
  const added = Object.keys(draft.added);
  const names = [...draft.kept.filter((kept) => !added.includes(kept)), ...added].toSorted();
  const add = (): void => {
    onChange({ added: withTyped(draft), name: "", value: "" });
  };
  const remove = (gone: string): void => {
    const left = Object.entries(draft.added).filter(([one]) => one !== gone);
    onChange({ kept: draft.kept.filter((one) => one !== gone), added: Object.fromEntries(left) });
  };
  return (
    <fieldset>
      <legend className="text-xs font-medium text-ink-soft">Variables</legend>
      <p className="mt-0.5 text-xs text-ink-faint">
        For agents and scripts in this folder. Values are stored encrypted and not shown again.
      </p>
      {names.length > 0 && (
        <ul aria-label="Variables" className="mt-2 flex flex-col rounded-md border border-line">
          {names.map((one) => (
            <li key={one} className="flex items-center gap-2 border-line px-3 py-1 not-first:border-t">
              <code className="min-w-0 flex-1 truncate font-mono text-xs">{one}</code>
              {added.includes(one) && <Badge tone="accent">new value</Badge>}
              <IconButton label={`Remove ${one}`} icon={Trash2} onClick={() => remove(one)} />
            </li>
          ))}
        </ul>
      )}
      <div className="mt-2 grid grid-cols-[1fr_1fr_auto] items-end gap-2">
        <TextField
          label="Name"
          spellCheck={false}
          value={name}
          onChange={({ target }) => onChange({ name: target.value })}
        />
        <TextField
          label="Value"
          type="password"
          autoComplete="new-password"
          value={value}
          onChange={({ target }) => onChange({ value: target.value })}
        />
        <Button className="h-9" disabled={!/^[A-Za-z_]\w*$/.test(name.trim())} onClick={add}>
          Add
        </Button>
      </div>
    </fieldset>
  );
}

function Proposals({ folderId }: { readonly folderId: string }) {
  const { data: proposals = [] } = useProposals(folderId);
  const approve = useApproveProposal(folderId);
  const waiting = proposals.filter(({ state }) => state !== "approved");
  if (waiting.length === 0) return null;
  return (
    <section aria-label="Proposed profiles" className="mb-5 flex flex-col gap-3">
      {waiting.map((proposal) => (
        <Proposal
          key={proposal.repository}
          proposal={proposal}
          busy={approve.isPending}
          onApprove={() => approve.mutate({ repository: proposal.repository, hash: proposal.hash })}
        />
      ))}
      <ErrorNotice error={approve.error} />
    </section>
  );
}

const signs = { added: "+", removed: "−", context: " ", hunk: " " } as const;
const lineTones = { added: "bg-accent-soft", removed: "bg-danger-soft", context: "", hunk: "" } as const;

function Proposal(props: {
  readonly proposal: ProfileProposal;
  readonly busy: boolean;
  readonly onApprove: () => void;
}) {
  const { proposal, busy, onApprove } = props;
  const { repository, state, content, approved, error } = proposal;
  const lines = diffOfTexts(approved ?? "", content);
  return (
    <div className="rounded-lg border border-lamp-fill/40 p-3">
      <h3 className="text-sm font-medium">
        {state === "changed" ? "A repository changed the profile that it proposes" : "A repository proposes a profile"}
      </h3>
      <p className="mt-0.5 font-mono text-xs break-all text-ink-soft">{repository}/.postern.json</p>
      <p className="mt-1 text-xs text-ink-soft">
        It has no effect until you approve exactly this content. Its scripts then run as you in new worktrees.
      </p>
      <pre
        tabIndex={0}
        aria-label="Proposed content"
        className="mt-2 max-h-60 overflow-auto rounded-md border border-line bg-well py-1 font-mono text-xs"
      >
        {lines.map((line, at) => (
          // The lines keep their order.
          <div key={at} className={`px-2 whitespace-pre-wrap break-all ${lineTones[line.kind]}`}>
            <span aria-hidden className="select-none">
              {signs[line.kind]}{" "}
            </span>
            {line.kind === "removed" && <span className="sr-only">removed: </span>}
            {visibleText(line.text)}
          </div>
        ))}
      </pre>
      {error !== null && <p className="mt-2 text-xs text-danger">It cannot be used: {visibleText(error)}</p>}
      <div className="mt-2 flex justify-end">
        <Button size="sm" busy={busy} disabled={error !== null} onClick={onApprove}>
          Approve
        </Button>
      </div>
    </div>
  );
}
