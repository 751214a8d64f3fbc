import { type KeyboardEvent, useState } from "react";
import type { ReviewComment } from "../../src/wire/reviews.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Form, TextArea } from "../ui/field.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import type { CommentRange } from "./review-lines.ts";
import type { Review } from "./use-review.ts";

const tones = { open: "lamp", sent: "accent", answered: "accent", resolved: "plain" } as const;
const words = { open: "Open", sent: "Sent", answered: "Answered", resolved: "Resolved" } as const;

export function linesWords({ line, endLine }: Pick<CommentRange, "line" | "endLine">): string {
  return line === endLine ? `Line ${line}` : `Lines ${line}–${endLine}`;
}

/** One comment. `apart`: shown away from its lines, which it then quotes. */
export function CommentView({
  comment,
  review,
  apart = false,
}: {
  readonly comment: ReviewComment;
  readonly review: Review;
  readonly apart?: boolean;
}) {
  const [editing, setEditing] = useState(false);
  const { commentId, body, state, outdated, author, snippet } = comment;
  const { edit, remove } = review;
  const busy = edit.isPending || remove.isPending;
  const change = (next: "open" | "resolved") => () => edit.mutate({ commentId, state: next });
  const where = `${linesWords(comment)}${comment.side === "old" ? " before the change" : ""}`;
  return (
    <article
      aria-label={`Comment on ${where.toLowerCase()}`}
      className="my-1.5 rounded-lg border border-line-strong bg-raised px-3 py-2 font-sans text-sm whitespace-normal"
    >
      <div className="flex flex-wrap items-center gap-2 text-xs text-ink-faint">
        <span>{where}</span>
        <Badge tone={tones[state]}>{words[state]}</Badge>
        {outdated && <Badge tone="danger">Outdated</Badge>}
        {author.kind === "app" && <span>by an app</span>}
        {author.sessionId !== null && <span>by another agent</span>}
      </div>
      {apart && (
        <pre className="mt-1.5 max-h-40 overflow-auto rounded bg-well px-2 py-1 font-mono text-xs" tabIndex={0}>
          {snippet.lines.join("\n")}
        </pre>
      )}
      {editing ? (
        <CommentForm
          label="Comment"
          text={body}
          submit="Save"
          busy={busy}
          error={edit.error}
          onCancel={() => setEditing(false)}
          onSubmit={(text) => edit.mutate({ commentId, body: text }, { onSuccess: () => setEditing(false) })}
        />
      ) : (
        <>
          <p className="mt-1 wrap-anywhere whitespace-pre-wrap" dir="auto">
            {body}
          </p>
          <div className="mt-1.5 -ml-2 flex flex-wrap gap-1">
            {state === "open" && (
              <Button size="sm" variant="ghost" disabled={busy} onClick={() => setEditing(true)}>
                Edit
              </Button>
            )}
            {state === "resolved" || state === "answered" ? (
              <Button size="sm" variant="ghost" disabled={busy} onClick={change("open")}>
                Reopen
              </Button>
            ) : null}
            {state !== "resolved" && (
              <Button size="sm" variant="ghost" disabled={busy} onClick={change("resolved")}>
                Resolve
              </Button>
            )}
            <Button size="sm" variant="ghost" disabled={busy} onClick={() => remove.mutate(commentId)}>
              Delete
            </Button>
          </div>
        </>
      )}
    </article>
  );
}

/** Text of a comment. Ctrl+Enter saves it. */
export function CommentForm(props: {
  readonly label: string;
  readonly text?: string;
  readonly submit: string;
  readonly busy: boolean;
  readonly error: Error | null;
  readonly onSubmit: (text: string) => void;
  readonly onCancel: () => void;
  /** Keeps what is typed when the form moves to another part of the page. */
  readonly draft?: { readonly read: () => string; readonly write: (text: string) => void };
}) {
  const { label, text: initial = "", submit, busy, error, onSubmit, onCancel, draft } = props;
  const [text, setText] = useState(() => draft?.read() ?? initial);
  const save = (): void => {
    if (text.trim() !== "" && !busy) onSubmit(text);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    event.stopPropagation(); // the lines around the form handle keys too
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) save();
    else if (event.key === "Escape" && text === initial) onCancel();
  };
  return (
    <Form onSubmit={save} className="my-1.5 flex flex-col gap-2 font-sans whitespace-normal">
      <TextArea
        label={label}
        value={text}
        rows={3}
        maxLength={10_000}
        autoFocus
        onChange={({ target: { value } }) => {
          draft?.write(value);
          setText(value);
        }}
        onKeyDown={onKeyDown}
      />
      <ErrorNotice error={error} />
      <div className="flex justify-end gap-2">
        <Button size="sm" onClick={onCancel}>
          Cancel
        </Button>
        <Button size="sm" variant="primary" type="submit" busy={busy} disabled={text.trim() === ""}>
          {submit}
        </Button>
      </div>
    </Form>
  );
}
