import { lazy, Suspense, useMemo, useRef, useState } from "react";
import { Link, useNavigate, useSearchParams } from "react-router";
import { useAgents } from "../api/agents.ts";
import { detailOf, hasCode } from "../api/api-error.ts";
import { useFolderProfile } from "../api/folder-profiles.ts";
import { useBranches, useFolders, useSessionDirs } from "../api/folders.ts";
import { useMay } from "../api/sign-in.ts";
import { FurtherAgents, useComparing } from "../compare/further-agents.tsx";
import { AttachButton, AttachmentStrip, useAttachments } from "../session/attachments.tsx";
import { useCompletion } from "../session/completion.tsx";
import { OtherDraft } from "../session/draft-question.tsx";
import { keepDraft } from "../session/drafts.ts";
import { newSessionDraft, useSharedDraft } from "../session/shared-draft.ts";
import { Button } from "../ui/button.tsx";
import { Form, TextArea, useSettled } from "../ui/field.tsx";
import { ErrorNotice, Notice } from "../ui/notice.tsx";
import { Page } from "../ui/page.tsx";
import { agentName } from "../ui/session-state.ts";
import { keepChoices, lastChoices } from "./new-session-choices.ts";
import { type Draft, draftName, keptDraft, newDraft, sharedForm, sharedText } from "./new-session-draft.ts";
import { NewSessionOptions, preferredAgent, WorktreeOption } from "./new-session-options.tsx";
import { type NewSession, newSessionErrors, useStartSession } from "./start-session.ts";

// Loaded when needed, because it contains a terminal.
const SetupWatch = lazy(async () => ({ default: (await import("./setup-watch.tsx")).SetupWatch }));

/** Branches are read once typing has paused. */
const settleMs = 300;

/** A gateway's clock can differ from the browser's. */
const clockSkewMs = 5_000;

/** The innermost of the folders that contain `dir`. */
function innermost<T extends { readonly path: string }>(folders: readonly T[], dir: string): T | undefined {
  const holding = folders.filter(({ path }) => dir === path || dir.startsWith(path.endsWith("/") ? path : `${path}/`));
  return holding.toSorted((a, b) => b.path.length - a.path.length)[0];
}

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
  const comparing = useComparing();

  const [last] = useState(lastChoices);
  const dir = given.dir ?? last.dir;
  const settledDir = useSettled(dir.trim(), settleMs);
  const { data: branches } = useBranches(settledDir);
  const { data: profile } = useFolderProfile(innermost(folders.data ?? [], settledDir)?.folderId ?? null);
  const agent = given.agent ?? profile?.agent ?? preferredAgent(last, listed);
  const form: NewSession = {
    agent,
    dir,
    model: given.model ?? (agent === profile?.agent ? profile.model : null) ?? last.models[agent] ?? "",
    permissionMode: given.permissionMode ?? (mayDrive ? (profile?.permissionMode ?? last.permissionMode) : "ask"),
    worktree: (given.worktree ?? last.worktree) && branches?.repository != null,
    baseBranch: given.baseBranch ?? branches?.current ?? branches?.branches[0] ?? "",
    branch: given.branch ?? "",
    prompt: given.prompt ?? "",
  };
  const change = (changes: Partial<NewSession>): void => {
    // A changed form is a different request.
    const next = { ...newDraft(), given: { ...given, ...changes } };
    setDraft(next);
    keepDraft(localStorage, draftName, JSON.stringify(next));
    if (start.isError) start.reset();
    if (comparing.start.isError) comparing.start.reset();
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
    // A link to a new session in a folder opens a different form.
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
  const { byField, general } = newSessionErrors(comparing.isOn ? comparing.start.error : start.error);
  const failedSession = detailOf(general, "sessionId");

  const scriptId = detailOf(general, "scriptId");
  const isSettingUp = hasCode(general, "setup_running");

  const isStarting = start.isPending || comparing.start.isPending;

  const submit = (): void => {
    const request = {
      form,
      // Different files make it a different request.
      idempotencyKey: [idempotencyKey, ...attachments.ids.map((id) => id.slice(0, 6))].join(" "),
      attachments: attachments.ids,
    };
    if (comparing.isOn) {
      comparing.start.mutate(request, { onSuccess: ({ comparisonId }) => leave(`/compare/${comparisonId}`) });
    } else {
      const isCommand = mayDrive && completion.isCommand(form.prompt);
      start.mutate({ ...request, isCommand }, { onSuccess: leaveTo });
    }
  };

  function leaveTo(sessionId: string): void {
    leave(`/sessions/${encodeURIComponent(sessionId)}`);
  }

  function leave(path: string): void {
    keepChoices(form);
    keepDraft(localStorage, draftName, "");
    void shared.sent();
    // Replaces the form in the history, so that Back leads to the previous page.
    void navigate(path, { replace: true });
  }

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
        <div className="relative" {...attachments.dropTarget}>
          {completion.list}
          <TextArea
            ref={promptBox}
            {...completion.attributes}
            label="First prompt (optional)"
            rows={6}
            value={form.prompt}
            autoFocus
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
        <NewSessionOptions form={form} errors={byField} onChange={change} agents={listed?.agents} known={known} />
        {form.permissionMode === "all" && form.prompt.trim() !== "" && (
          <Notice tone="lamp">
            The agent will run any command as you, without asking. It needs a folder with the scope <code>exec</code>,
            once folders are registered.
          </Notice>
        )}
        <FurtherAgents
          {...{ comparing, form, branches }}
          agents={listed?.agents}
          onBase={(baseBranch) => change({ baseBranch })}
        />
        {!comparing.isOn && <WorktreeOption form={form} errors={byField} onChange={change} branches={branches} />}
        <ErrorNotice error={isSettingUp ? null : general} />
        {form.worktree && (start.isPending || scriptId !== null) && (
          <Suspense>
            <SetupWatch
              since={start.submittedAt - clockSkewMs}
              scriptId={scriptId}
              onStarted={leaveTo}
              linked={isSettingUp}
            />
          </Suspense>
        )}
        {failedSession !== null && !isSettingUp && (
          <Link to={`/sessions/${encodeURIComponent(failedSession)}`} className="text-sm text-accent underline">
            {scriptId === null ? "Show the agent's last screen" : "Open the session, and send a prompt to try again"}
          </Link>
        )}
        <div className="flex items-center gap-3">
          <Button
            type="submit"
            variant="primary"
            size="lg"
            busy={isStarting}
            disabled={
              form.agent === "" ||
              dir.trim() === "" ||
              attachments.isBlocked ||
              (comparing.isOn && (form.prompt.trim() === "" || branches?.repository == null))
            }
          >
            {comparing.isOn ? "Start comparison" : form.prompt.trim() === "" ? "Open terminal" : "Start session"}
          </Button>
          {isStarting && (
            <span role="status" className="text-sm text-ink-faint">
              Starting {comparing.isOn ? `${comparing.further.length + 1} agents` : agentName(form.agent)}…
            </span>
          )}
        </div>
      </Form>
    </Page>
  );
}
