import { useRef, useState } from "react";
import { useNavigate } from "react-router";
import { maxLogCharacters } from "../../src/wire/logs.ts";
import { fieldError } from "../api/api-error.ts";
import { useSubmitLog } from "../api/logs.ts";
import { useMe } from "../api/me.ts";
import { idempotencyKey, keepNoteDraft, type NoteDraft, noteDraftOf } from "../session/drafts.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Form, TextArea, TextField } from "../ui/field.tsx";
import { ErrorNotice } from "../ui/notice.tsx";

/** Writes a note into the memory. A draft that is neither kept nor discarded lasts as long as the tab. */
export function NoteDialog({ onClose }: { readonly onClose: () => void }) {
  const navigate = useNavigate();
  const submit = useSubmitLog();
  const accountId = useMe().data?.account.accountId ?? "";
  const [draft, setDraft] = useState(() => noteDraftOf(sessionStorage, accountId));
  const { title, content } = draft;
  const written = title.trim() !== "" || content.trim() !== "";
  /** The same note that is sent again, as its answer was lost, is the same: it is kept once. */
  const sending = useRef({ draft, key: "" });
  const change = (next: NoteDraft): void => {
    setDraft(next);
    keepNoteDraft(sessionStorage, accountId, next);
  };
  const forgetDraft = (): void => keepNoteDraft(sessionStorage, accountId, { title: "", content: "" });
  const keep = (): void => {
    if (submit.isPending || content.trim() === "") return;
    if (sending.current.draft !== draft || sending.current.key === "") {
      sending.current = { draft, key: idempotencyKey() };
    }
    const named = title.trim() === "" ? {} : { title: title.trim() };
    submit.mutate(
      { note: { ...named, content }, key: sending.current.key },
      {
        onSuccess: ({ logId }) => {
          forgetDraft();
          void navigate(`/memory/${encodeURIComponent(logId)}`);
        },
      },
    );
  };
  return (
    <Dialog
      onClose={onClose}
      holds={written}
      title="Add note"
      description="Stored in your account’s memory, next to your sessions."
    >
      <Form className="flex flex-col gap-3" onSubmit={keep}>
        <TextField
          label="Title"
          value={title}
          maxLength={500}
          onChange={(event) => change({ title: event.target.value, content })}
          error={fieldError(submit.error, "title")}
        />
        <TextArea
          label="Text"
          rows={6}
          required
          value={content}
          maxLength={maxLogCharacters}
          onChange={(event) => change({ title, content: event.target.value })}
          error={fieldError(submit.error, "content")}
          hint={
            <>
              A line <code>Decision: the timeout = 30 s</code> is stored as a decision that is current until the next
              one about it. A line <code>Remember: …</code> is stored as a reminder. Anything that looks like a key or a
              password is masked.
            </>
          }
        />
        {submit.error !== null && <ErrorNotice error={submit.error} />}
        <div className="flex justify-end gap-2">
          <Button
            onClick={() => {
              forgetDraft();
              onClose();
            }}
          >
            {written ? "Discard" : "Cancel"}
          </Button>
          <Button variant="primary" type="submit" busy={submit.isPending} disabled={content.trim() === ""}>
            Save note
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
