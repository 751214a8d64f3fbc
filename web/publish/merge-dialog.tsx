import { useState } from "react";
import type { GitStatus } from "../../src/wire/publish.ts";
import type { PullRequest } from "../../src/wire/pull-requests.ts";
import { changePreferences, mergeMethods, usePreferences } from "../app/preferences.ts";
import { counted } from "../session/session-words.ts";
import { ConfirmDialog } from "../ui/dialog.tsx";
import { SelectField } from "../ui/field.tsx";
import { Notice } from "../ui/notice.tsx";
import type { PullRequestActions } from "./use-pull-request.ts";

const methodWords = { merge: "Merge commit", squash: "Squash into one commit", rebase: "Rebase" } as const;

/** Confirms a merge. The browser remembers the method. */
export function MergeDialog(props: {
  readonly pullRequest: PullRequest;
  readonly status: GitStatus;
  readonly actions: PullRequestActions;
  readonly onClose: () => void;
}) {
  const { pullRequest, status, actions, onClose } = props;
  const { number, base, head, headCommit, checksState } = pullRequest;
  const { mergeMethod: method } = usePreferences();
  // A commit that is pushed while the dialog is open has not been seen: the gateway then refuses.
  const [seenCommit] = useState(headCommit);
  const missing = [
    status.files.length > 0 && "uncommitted changes",
    (status.upstream?.ahead ?? 0) > 0 && `${counted(status.upstream?.ahead ?? 0, "commit")} not pushed`,
  ].filter((words) => words !== false);
  return (
    <ConfirmDialog
      onClose={onClose}
      onConfirm={() => {
        actions.reset();
        actions.merge.mutate({ method, headCommit: seenCommit }, { onSuccess: onClose });
      }}
      title={`Merge into ${base}?`}
      description={`Pull request #${number} merges ${head} into ${base}.`}
      confirm={`Merge into ${base}`}
      act={actions.merge}
    >
      <SelectField
        label="Method"
        value={method}
        disabled={actions.merge.isPending}
        onChange={({ target }) => {
          const chosen = mergeMethods.find((one) => one === target.value);
          if (chosen !== undefined) changePreferences({ mergeMethod: chosen });
        }}
      >
        {mergeMethods.map((one) => (
          <option key={one} value={one}>
            {methodWords[one]}
          </option>
        ))}
      </SelectField>
      <div className="my-3 grid gap-2">
        {missing.length > 0 && <Notice tone="lamp">Not included: {missing.join(", ")}.</Notice>}
        {(checksState === "failed" || checksState === "pending") && (
          <Notice tone="lamp">{checksState === "failed" ? "Checks have failed." : "Checks are still pending."}</Notice>
        )}
      </div>
    </ConfirmDialog>
  );
}
