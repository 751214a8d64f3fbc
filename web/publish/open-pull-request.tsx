import { useState } from "react";
import type { PullRequestStatus } from "../../src/wire/pull-requests.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { CheckField, TextArea, TextField } from "../ui/field.tsx";
import type { PullRequestActions } from "./use-pull-request.ts";

/** The form for a new pull request, filled in from the branch's commits. */
export function OpenPullRequest(props: {
  readonly actions: PullRequestActions;
  readonly defaults: PullRequestStatus["defaults"];
  readonly onClose: () => void;
}) {
  const { actions, defaults, onClose } = props;
  const [title, setTitle] = useState(defaults?.title ?? "");
  const [body, setBody] = useState(defaults?.body ?? "");
  const [base, setBase] = useState(defaults?.base ?? "");
  const [draft, setDraft] = useState(false);
  const touched = title !== (defaults?.title ?? "") || body !== (defaults?.body ?? "");
  return (
    <FormDialog
      onClose={onClose}
      onSubmit={() => {
        actions.reset();
        actions.open.mutate({ title: title.trim(), body, base: base.trim(), draft }, { onSuccess: onClose });
      }}
      title="Open pull request"
      submit="Open pull request"
      busy={actions.open.isPending}
      disabled={title.trim() === "" || base.trim() === ""}
      error={actions.open.error}
      holds={touched}
    >
      <TextField label="Title" maxLength={256} value={title} onChange={({ target }) => setTitle(target.value)} />
      <TextArea
        label="Description"
        hint="Markdown"
        rows={6}
        maxLength={60_000}
        value={body}
        onChange={({ target }) => setBody(target.value)}
      />
      <TextField
        label="Base branch"
        maxLength={250}
        spellCheck={false}
        autoCapitalize="none"
        value={base}
        onChange={({ target }) => setBase(target.value)}
      />
      <CheckField label="Draft" checked={draft} onChange={({ target }) => setDraft(target.checked)} />
    </FormDialog>
  );
}
