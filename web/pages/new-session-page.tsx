import { useMemo, useRef, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { permissionModeSchema } from "../../src/wire/coding.ts";
import { useAgents } from "../api/agents.ts";
import { detailOf } from "../api/api-error.ts";
import { useBranches, useFolders, useSessionDirs } from "../api/folders.ts";
import { useMay } from "../api/sign-in.ts";
import { AttachButton, AttachmentStrip, useAttachments } from "../session/attachments.tsx";
import { useCompletion } from "../session/completion.tsx";
import { OtherDraft } from "../session/draft-question.tsx";
import { keepDraft } from "../session/drafts.ts";
import { newSessionDraft, useSharedDraft } from "../session/shared-draft.ts";
import { Button } from "../ui/button.tsx";
import { Form, SelectField, TextArea, TextField, useSettled } from "../ui/field.tsx";
import { ErrorNotice, Notice } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { PathField } from "../ui/path-field.tsx";
import { agentName } from "../ui/session-state.ts";
import { SwitchField } from "../ui/switch-field.tsx";
import { type Draft, draftName, keptDraft, newDraft, sharedForm, sharedText } from "./new-session-draft.ts";
import { type NewSession, newSessionErrors, useStartSession } from "./start-session.ts";

const lastDirName = "postern.last-dir";
/** Branches are read once typing has paused. */
const settleMs = 300;

export function NewSessionPage() {
  const navigate = useNavigate();
  const [params] = useSearchParams();
  const start = useStartSession();
  const { data: listed } = useAgents();
  const mayAdminister = useMay("admin");
  const mayDrive = useMay("coding:drive");
  const folders = useFolders({ enabled: mayAdminister });
  const { data: dirs = [] } = useSessionDirs();
  const asked = params.get("dir");
  const [draft, setDraft] = useState<Draft>(() => {
    const kept = keptDraft();
    return asked === null || asked === kept.given.dir ? kept : { ...newDraft(), given: { ...kept.given, dir: asked } };
  });
  const { given, idempotencyKey } = draft;
  const attachments = useAttachments(null);

  const dir = given.dir ?? localStorage.getItem(lastDirName) ?? "";
  const settledDir = useSettled(dir.trim(), settleMs);
  const { data: branches } = useBranches(settledDir);
  const form: NewSession = {
    agent: given.agent ?? listed?.default ?? listed?.agents[0]?.name ?? "",
    dir,
    model: given.model ?? "",
    permissionMode: given.permissionMode ?? "ask",
    worktree: given.worktree === true && branches?.repository != null,
    baseBranch: given.baseBranch ?? branches?.current ?? branches?.branches[0] ?? "",
    branch: given.branch ?? "",
    prompt: given.prompt ?? "",
  };
  const change = (changes: Partial<NewSession>): void => {
    // A changed form is another request.
    const next = { ...newDraft(), given: { ...given, ...changes } };
    setDraft(next);
    keepDraft(localStorage, draftName, JSON.stringify(next));
    if (start.isError) start.reset();
  };
  const known = useMemo(
    () => [...new Set([...dirs.map((one) => one.dir), ...(folders.data ?? []).map(({ path }) => path)])],
    [dirs, folders.data],
  );
  const shared = useSharedDraft({
    name: draftName,
    place: newSessionDraft,
    text: sharedText(given),
    onTake: (text) => change({ prompt: "", ...sharedForm(text) }),
    // A link to a new session in a folder is another form.
    enabled: asked === null,
  });
  const promptBox = useRef<HTMLTextAreaElement>(null);
  const completion = useCompletion({
    box: promptBox,
    side: "below",
    text: form.prompt,
    onChange: (prompt) => change({ prompt }),
    place: form.agent === "" || !settledDir.startsWith("/") ? null : { agent: form.agent, dir: settledDir },
  });
  const { byField, general } = newSessionErrors(start.error);
  const failedSession = detailOf(general, "sessionId");

  const submit = (): void => {
    start.mutate(
      {
        form,
        // With other files it is another request.
        idempotencyKey: [idempotencyKey, ...attachments.ids.map((id) => id.slice(0, 6))].join(" "),
        attachments: attachments.ids,
      },
      {
        onSuccess(sessionId) {
          localStorage.setItem(lastDirName, form.dir.trim());
          keepDraft(localStorage, draftName, "");
          void shared.sent();
          // Replaces the form, so that Back leads to the page before it.
          void navigate(`/sessions/${encodeURIComponent(sessionId)}`, { replace: true });
        },
      },
    );
  };

  return (
    <Page title="New session" narrow>
      <Form aria-label="New session" className="flex flex-col gap-5" onSubmit={submit}>
        {listed !== undefined && listed.agents.length === 0 && (
          <Notice tone="lamp">
            No agent is configured yet.{" "}
            <Link to="/agents" className="underline">
              Set one up
            </Link>
            .
          </Notice>
        )}
        {shared.other !== null && (
          <OtherDraft text={sharedForm(shared.other.text).prompt ?? ""} onChoose={shared.choose} />
        )}
        <PathField
          label="Folder"
          required
          autoFocus={dir === ""}
          value={dir}
          known={known}
          onChange={(value) => change({ dir: value })}
          error={byField.dir}
        />
        <div className="relative" {...attachments.dropTarget}>
          {completion.list}
          <TextArea
            ref={promptBox}
            {...completion.attributes}
            label="First prompt (optional)"
            rows={5}
            value={form.prompt}
            autoFocus={dir !== ""}
            placeholder="What should the agent do?"
            hint={
              <>
                Leave it empty to open the agent's terminal.{" "}
                <span className="pointer-coarse:hidden">Ctrl+Enter to start.</span>
              </>
            }
            error={byField.prompt}
            onChange={(event) => change({ prompt: event.target.value })}
            onKeyDown={(event) => {
              if (completion.onKeyDown(event)) return;
              if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
            }}
          />
          <p aria-live="polite" className="sr-only">
            {completion.announcement}
          </p>
          <div className="mt-2 flex flex-wrap items-start gap-2">
            <AttachButton attachments={attachments} disabled={false} />
            <AttachmentStrip attachments={attachments} />
          </div>
          {attachments.ids.length > 0 && form.prompt.trim() === "" && (
            <p className="text-xs text-lamp">Write a prompt to send the files with it.</p>
          )}
        </div>
        <div className="grid gap-4 sm:grid-cols-3">
          <SelectField
            label="Agent"
            value={form.agent}
            error={byField.agent}
            onChange={(event) => change({ agent: event.target.value })}
          >
            {listed?.agents.length === 0 && <option value="">No agent configured</option>}
            {listed?.agents.map(({ name, isDefault }) => (
              <option key={name} value={name}>
                {agentName(name)}
                {isDefault ? " (default)" : ""}
              </option>
            ))}
          </SelectField>
          <TextField
            label="Model (optional)"
            placeholder="Default model"
            value={form.model}
            error={byField.model}
            onChange={(event) => change({ model: event.target.value })}
          />
          <SelectField
            label="Permissions"
            value={form.permissionMode}
            disabled={!mayDrive || form.prompt.trim() === ""}
            error={byField.permissionMode}
            hint={form.prompt.trim() === "" ? "Applies only with a first prompt." : undefined}
            onChange={(event) => change({ permissionMode: permissionModeSchema.parse(event.target.value) })}
          >
            <option value="ask">Ask before acting</option>
            <option value="edits">Edit files without asking</option>
            <option value="all">Never ask (full access)</option>
          </SelectField>
        </div>
        {form.permissionMode === "all" && form.prompt.trim() !== "" && (
          <Notice tone="lamp">
            The agent will run any command as you, without asking. It needs a folder with the scope <code>exec</code>,
            once folders are registered.
          </Notice>
        )}
        <div className="flex flex-col gap-4 rounded-xl border border-line bg-panel p-4">
          <SwitchField
            label="Use a separate worktree"
            hint={
              branches !== undefined && branches.repository === null
                ? "This folder is not in a Git repository."
                : "Creates a new branch. Closing the session removes the worktree and keeps the branch and any uncommitted work."
            }
            disabled={branches?.repository == null}
            checked={form.worktree}
            onChange={(worktree) => change({ worktree })}
          />
          {form.worktree && (
            <div className="grid gap-4 sm:grid-cols-2">
              <TextField
                label="New branch (optional)"
                maxLength={250}
                placeholder={form.prompt.trim() === "" ? "A random name" : "A name from the prompt"}
                value={form.branch}
                error={byField.branch}
                spellCheck={false}
                onChange={(event) => change({ branch: event.target.value })}
              />
              <SelectField
                label="Based on"
                value={form.baseBranch}
                error={byField.baseBranch}
                onChange={(event) => change({ baseBranch: event.target.value })}
              >
                {branches?.branches.map((name) => (
                  <option key={name}>{name}</option>
                ))}
              </SelectField>
            </div>
          )}
        </div>
        <ErrorNotice error={general} />
        {failedSession !== null && (
          <Link to={`/sessions/${encodeURIComponent(failedSession)}`} className="text-sm text-accent underline">
            Show the agent's last screen
          </Link>
        )}
        <div className="flex items-center gap-3">
          <Button
            type="submit"
            variant="primary"
            size="lg"
            busy={start.isPending}
            disabled={form.agent === "" || dir.trim() === "" || attachments.isBlocked}
          >
            {form.prompt.trim() === "" ? "Open terminal" : "Start session"}
          </Button>
          {start.isPending && (
            <span role="status" className="text-sm text-ink-faint">
              Starting {agentName(form.agent)}…
            </span>
          )}
        </div>
      </Form>
    </Page>
  );
}
