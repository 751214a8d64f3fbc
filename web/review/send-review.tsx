import { useState } from "react";
import { PosternClientError } from "../../src/client/index.ts";
import { reviewPromptSchema } from "../../src/wire/reviews.ts";
import { reading } from "../api/client.ts";
import { useRead } from "../api/query.ts";
import { counted } from "../session/session-words.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorNotice, QueryState } from "../ui/notice.tsx";
import type { Review } from "./use-review.ts";

/** The number of open comments, and a button to send them. Empty if there are none. */
export function SendReview({ review }: { readonly review: Review }) {
  const [asking, setAsking] = useState(false);
  const open = review.comments.filter(({ state }) => state === "open").length;
  if (open === 0 && !asking) return null;
  return (
    <div className="flex shrink-0 items-center justify-end gap-3 border-t border-line bg-panel px-3 py-2">
      <Button
        variant="primary"
        onClick={() => {
          review.send.reset();
          setAsking(true);
        }}
      >
        Send {counted(open, "comment")}
      </Button>
      {asking && <SendDialog review={review} onClose={() => setAsking(false)} />}
    </div>
  );
}

function SendDialog({ review, onClose }: { readonly review: Review; readonly onClose: () => void }) {
  const { sessionId, send } = review;
  const key = ["review", sessionId, "prompt"];
  const preview = useRead(
    key,
    ({ signal }) => reading.previewReview({ sessionId }, { signal, output: reviewPromptSchema }),
    {
      staleTime: 0,
    },
  );
  const { data } = preview;
  // Only the comments shown, because another caller of the account can add some at the same time.
  const commentIds = data?.commentIds ?? [];
  const drafted = send.error instanceof PosternClientError && send.error.code === "composer_not_empty";
  return (
    <Dialog
      onClose={onClose}
      title="Send comments to the agent"
      description="The agent gets this prompt. While it works, the prompt waits in the queue."
      wide
    >
      <QueryState query={preview} label="Loading the prompt" rows={3} />
      {data !== undefined && (
        <pre
          aria-label="Prompt"
          role="region"
          tabIndex={0}
          className="max-h-[45dvh] overflow-auto rounded-lg border border-line bg-well px-3 py-2 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
        >
          {data.prompt === "" ? "No open comments." : data.prompt}
        </pre>
      )}
      {data !== undefined && data.left > 0 && (
        <p className="mt-2 text-xs text-ink-faint">
          {counted(data.left, "comment")} {data.left === 1 ? "does" : "do"} not fit. Send again for the rest.
        </p>
      )}
      <ErrorNotice error={send.error} className="mt-3" />
      <div className="mt-3 flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        {drafted && (
          <Button
            busy={send.isPending}
            onClick={() => send.mutate({ commentIds, onDraft: "clear" }, { onSuccess: onClose })}
          >
            Clear the text and send
          </Button>
        )}
        <Button
          variant="primary"
          busy={send.isPending}
          disabled={data === undefined || data.prompt === ""}
          onClick={() => send.mutate({ commentIds }, { onSuccess: onClose })}
        >
          Send
        </Button>
      </div>
    </Dialog>
  );
}
