import { useState } from "react";
import { useNavigate } from "react-router";
import { maxLogCharacters } from "../../src/wire/logs.ts";
import { fieldError } from "../api/api-error.ts";
import { useSubmitLog } from "../api/logs.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { TextArea, TextField } from "../ui/field.tsx";
import { ErrorNotice } from "../ui/notice.tsx";

/** Remembers what somebody writes. */
export function NoteDialog({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const submit = useSubmitLog();
  const [title, setTitle] = useState("");
  const [content, setContent] = useState("");
  const keep = (): void => {
    const named = title.trim() === "" ? {} : { title: title.trim() };
    submit.mutate(
      { ...named, content },
      { onSuccess: ({ logId }) => void navigate(`/memory/${encodeURIComponent(logId)}`) },
    );
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Write a note"
      description="It is kept beside what is remembered of sessions, for your account alone."
    >
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          keep();
        }}
      >
        <TextField
          label="Title"
          value={title}
          maxLength={500}
          onChange={(event) => setTitle(event.target.value)}
          error={fieldError(submit.error, "title")}
        />
        <TextArea
          label="Text"
          rows={6}
          required
          value={content}
          maxLength={maxLogCharacters}
          onChange={(event) => setContent(event.target.value)}
          error={fieldError(submit.error, "content")}
          hint={
            <>
              A line <code>Decision: the timeout = 30 s</code> is kept as a decision that holds until the next one about
              it, a line <code>Remember: …</code> as something to remember. What looks like a key or a password is
              masked.
            </>
          }
        />
        {submit.error !== null && <ErrorNotice error={submit.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button variant="primary" type="submit" busy={submit.isPending} disabled={content.trim() === ""}>
            Remember it
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
