import { useState } from "react";
import { PosternClientError } from "../../src/client/index.ts";
import type { SessionSummary } from "../../src/wire/coding.ts";
import type { GitStatus, StatusFile } from "../../src/wire/publish.ts";
import { counted } from "../session/session-words.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorNotice, Notice, QueryState } from "../ui/notice.tsx";
import { CommitForm } from "./commit-form.tsx";
import { PullRequest } from "./pull-request.tsx";
import { type FinishActions, useFinish } from "./use-finish.ts";

/** Stage, commit, update and push a session's changes, up to the merged pull request. */
export function FinishDialog(props: {
  readonly summary: SessionSummary;
  readonly onClose: () => void;
  /** Opens the dialog that closes the session. */
  readonly onCloseSession: () => void;
}) {
  const { summary, onClose, onCloseSession } = props;
  const [message, setMessage] = useState("");
  const finish = useFinish(summary);
  const { data } = finish.status;
  return (
    <Dialog
      onClose={onClose}
      title="Finish"
      description="Commit, push and merge the changes, with your Git configuration, hooks and logins."
      holds={message !== ""}
      wide
    >
      <QueryState query={finish.status} label="Loading the status" rows={4} />
      {data !== undefined && <Branch status={data} />}
      {data?.agentWorking === true && (
        <Notice tone="lamp">The agent is working. Commit and update when its turn has ended.</Notice>
      )}
      {data?.update != null && <UpdateNotice status={data} finish={finish} onAsked={onClose} />}
      {data !== undefined && <Files status={data} finish={finish} />}
      {data !== undefined && data.update === null && (
        <CommitForm status={data} {...{ summary, finish, message }} onMessage={setMessage} />
      )}
      <Failure error={finish.error} />
      {data !== undefined && data.update === null && <BranchActions status={data} finish={finish} />}
      {data !== undefined && data.update === null && (
        <PullRequest status={data} busy={finish.pending} onAsked={onClose} {...{ summary, onCloseSession }} />
      )}
    </Dialog>
  );
}

function Branch({ status: { branch, head, upstream, base } }: { readonly status: GitStatus }) {
  return (
    <p className="mb-2 text-xs text-ink-soft">
      <span className="font-mono text-ink">{branch ?? "No branch"}</span>
      {head !== null && <span className="font-mono text-ink-faint"> {head.commit.slice(0, 8)}</span>}
      {upstream !== null && `, ${upstream.ahead} ahead of and ${upstream.behind} behind ${upstream.name}`}
      {base !== null && `, ${base.ahead} ahead of and ${base.behind} behind ${base.name}`}
    </p>
  );
}

function UpdateNotice(props: {
  readonly status: GitStatus;
  readonly finish: FinishActions;
  readonly onAsked: () => void;
}) {
  const { status, finish, onAsked } = props;
  const { update, root } = status;
  if (update === null) return null;
  const { strategy, conflicts, interrupted, prompt } = update;
  const begin = (act: () => void) => () => {
    finish.reset();
    act();
  };
  const words = interrupted
    ? `The ${strategy} was interrupted.`
    : conflicts.length > 0
      ? `The ${strategy} stopped with conflicts in ${counted(conflicts.length, "file")}.`
      : `The ${strategy} can continue: no conflicts are left.`;
  if (strategy === "other") {
    return <Notice tone="lamp">A Git operation has not ended. Finish it in the terminal, as `git status` says.</Notice>;
  }
  return (
    <Notice tone="lamp">
      <p>{words}</p>
      <div className="mt-2 flex flex-wrap gap-2">
        {prompt !== null && (
          <Button
            size="sm"
            variant="primary"
            busy={finish.ask.isPending}
            onClick={begin(() => finish.ask.mutate({ dir: root, prompt }, { onSuccess: onAsked }))}
          >
            Ask the agent
          </Button>
        )}
        <Button
          size="sm"
          busy={finish.update.isPending}
          disabled={conflicts.length > 0 && !interrupted}
          onClick={begin(() => finish.update.mutate({ action: "continue" }))}
        >
          Continue
        </Button>
        <Button
          size="sm"
          busy={finish.update.isPending}
          onClick={begin(() => finish.update.mutate({ action: "abort" }))}
        >
          Abort
        </Button>
      </div>
    </Notice>
  );
}

function Files({ status, finish }: { readonly status: GitStatus; readonly finish: FinishActions }) {
  const { files, truncated } = status;
  if (files.length === 0) return <p className="my-3 text-sm text-ink-soft">No uncommitted changes.</p>;
  const all = files.every(({ staged, unstaged }) => staged !== null && unstaged === null);
  const stage = (unstage: boolean, paths?: string[]) => {
    finish.reset();
    finish.stage.mutate({ unstage, ...(paths && { paths }) });
  };
  return (
    <fieldset className="my-3 rounded-lg border border-line" disabled={finish.pending}>
      <legend className="sr-only">Files of the next commit</legend>
      <label className="flex min-h-8 items-center gap-2 border-b border-line px-3 text-xs text-ink-soft pointer-coarse:min-h-10">
        <input type="checkbox" checked={all} onChange={() => stage(all)} />
        {counted(files.length, "file")}
        {truncated && " (not all are listed)"}
      </label>
      <ul className="max-h-[32dvh] overflow-y-auto py-1">
        {files.slice(0, maxShown).map((file) => (
          <li key={file.path}>
            <FileRow file={file} onStage={(unstage) => stage(unstage, [file.path])} />
          </li>
        ))}
      </ul>
      {files.length > maxShown && (
        <p className="border-t border-line px-3 py-1 text-xs text-ink-faint">
          And {files.length - maxShown} more. Stage them with all files.
        </p>
      )}
    </fieldset>
  );
}

/** The most files that are listed. The others can only be staged together with all files. */
const maxShown = 500;

function FileRow({ file, onStage }: { readonly file: StatusFile; readonly onStage: (unstage: boolean) => void }) {
  const { path, staged, unstaged, conflict } = file;
  const isStaged = staged !== null && unstaged === null;
  const word = conflict ? "conflict" : (staged ?? unstaged ?? "").replace("_", " ");
  const partly = staged !== null && unstaged !== null ? ", partly staged" : "";
  return (
    <label className="flex min-h-7 items-center gap-2 px-3 text-xs pointer-coarse:min-h-10">
      <input type="checkbox" checked={isStaged} onChange={() => onStage(isStaged)} />
      <span className="min-w-0 flex-1 truncate font-mono" title={path}>
        {path}
      </span>
      <span className="shrink-0 text-ink-soft">
        {word}
        {partly}
      </span>
    </label>
  );
}

function BranchActions({ status, finish }: { readonly status: GitStatus; readonly finish: FinishActions }) {
  const { base, remotes, branch, mayForcePush, agentWorking } = status;
  const rejected = finish.push.error instanceof PosternClientError && finish.push.error.code === "push_rejected";
  const begin = (act: () => void) => () => {
    finish.reset();
    act();
  };
  const update = (strategy: "merge" | "rebase") => begin(() => finish.update.mutate({ action: "start", strategy }));
  return (
    <div className="mt-3 flex flex-wrap justify-end gap-2 border-t border-line pt-3">
      {base !== null && (
        <>
          <Button disabled={finish.pending || agentWorking} onClick={update("rebase")}>
            Rebase
          </Button>
          <Button
            busy={finish.update.isPending}
            disabled={finish.pending || agentWorking}
            title={`Merge ${base.name}`}
            onClick={update("merge")}
          >
            Update
          </Button>
        </>
      )}
      {rejected && mayForcePush && (
        <Button variant="danger" disabled={finish.pending} onClick={begin(() => finish.push.mutate(true))}>
          Replace what was pushed
        </Button>
      )}
      {remotes.length > 0 && branch !== null && (
        <Button
          variant="primary"
          busy={finish.push.isPending}
          disabled={finish.pending}
          onClick={begin(() => finish.push.mutate(false))}
        >
          Push
        </Button>
      )}
    </div>
  );
}

/** An error, with what Git and hooks printed. */
function Failure({ error }: { readonly error: Error | null }) {
  // Conflicts are shown with what can be done about them.
  if (error === null || (error instanceof PosternClientError && error.code === "update_conflict")) return null;
  const output = error instanceof PosternClientError ? error.details["output"] : undefined;
  return (
    <div className="mt-3">
      <ErrorNotice error={error} />
      {typeof output === "string" && output !== "" && (
        <pre
          aria-label="Output"
          role="region"
          tabIndex={0}
          className="mt-2 max-h-[24dvh] overflow-auto rounded-lg border border-line bg-well px-3 py-2 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
        >
          {output}
        </pre>
      )}
    </div>
  );
}
