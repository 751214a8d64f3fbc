import { useQueryClient } from "@tanstack/react-query";
import { ArrowDown, ArrowUp, Paperclip, Pencil, Square, X } from "lucide-react";
import { type DragEvent, type KeyboardEvent, useState } from "react";
import { askOutputSchema, interruptOutputSchema, type SessionSummary } from "../../src/wire/coding.ts";
import {
  type CancelledPrompt,
  cancelledPromptSchema,
  changedPromptSchema,
  promptQueueSchema,
  type QueuedPrompt,
} from "../../src/wire/queue.ts";
import { hasCode } from "../api/api-error.ts";
import { acting, reading } from "../api/client.ts";
import { queryKeys, useAct, useRead } from "../api/query.ts";
import { useMay } from "../api/sign-in.ts";
import { Button, IconButton } from "../ui/button.tsx";
import { ErrorNotice } from "../ui/notice.tsx";

interface Change {
  readonly promptId: string;
  readonly text?: string;
  readonly position?: number;
  readonly sendNow?: boolean;
}

/** The prompts that wait in a session, above its prompt box. */
export function QueueList({ summary, sessionId }: { readonly summary: SessionSummary; readonly sessionId: string }) {
  const client = useQueryClient();
  const mayWrite = useMay("coding:write");
  const [editing, setEditing] = useState<string | null>(null);
  const [cancelled, setCancelled] = useState<CancelledPrompt["cancelled"] | null>(null);
  const key = queryKeys.session(sessionId);
  const named = { sessionId: summary.sessionId };
  const queue = useRead(
    [...key, "queue"],
    ({ signal }) => reading.listQueuedPrompts(named, { signal, output: promptQueueSchema }),
    { enabled: summary.queuedPrompts > 0, staleTime: 0 },
  );
  const refresh = () => void client.invalidateQueries({ queryKey: key });
  const change = useAct({
    mutationFn: (input: Change) => acting.changeQueuedPrompt({ ...named, ...input }, { output: changedPromptSchema }),
    onSuccess: () => setEditing(null),
    onSettled: refresh,
  });
  const cancel = useAct({
    mutationFn: (promptId: string) =>
      acting.cancelQueuedPrompt({ ...named, promptId }, { output: cancelledPromptSchema }),
    onSuccess: (answer) => setCancelled(answer.cancelled),
    onSettled: refresh,
  });
  const undo = useAct({
    mutationFn: (prompt: QueuedPrompt) => queueAgain(prompt, { ...named, dir: summary.dir }),
    onSuccess: () => setCancelled(null),
    onSettled: refresh,
  });
  const prompts = summary.queuedPrompts > 0 ? (queue.data?.prompts ?? []) : [];
  const error = change.error ?? cancel.error ?? undo.error;
  if (prompts.length === 0 && cancelled === null && error === null) return null;
  const busy = change.isPending || cancel.isPending;
  return (
    <section aria-label="Queued prompts" className="mb-2 space-y-1">
      <ErrorNotice error={error} />
      <ol className="max-h-[30dvh] space-y-1 overflow-y-auto">
        {prompts.map((prompt) => (
          <li key={prompt.promptId} {...(mayWrite && prompt.canChange ? dragOf(prompt, change.mutate) : {})}>
            {editing === prompt.promptId ? (
              <EditForm
                prompt={prompt}
                busy={busy}
                onSave={(text) => change.mutate({ promptId: prompt.promptId, text })}
                onClose={() => setEditing(null)}
              />
            ) : (
              <div className="flex flex-wrap items-center gap-1 rounded-lg border border-line bg-raised py-1 pr-1 pl-2.5">
                <span className="min-w-32 flex-1 truncate text-xs text-ink-soft" title={prompt.text}>
                  {prompt.text}
                </span>
                <Files prompt={prompt} />
                {mayWrite && prompt.canChange && (
                  <span className="flex items-center">
                    <IconButton
                      icon={ArrowUp}
                      label="Move up"
                      disabled={busy || prompt.position === 0}
                      onClick={() => change.mutate({ promptId: prompt.promptId, position: prompt.position - 1 })}
                    />
                    <IconButton
                      icon={ArrowDown}
                      label="Move down"
                      disabled={busy || prompt.position === prompts.length - 1}
                      onClick={() => change.mutate({ promptId: prompt.promptId, position: prompt.position + 1 })}
                    />
                    <IconButton
                      icon={Pencil}
                      label="Edit"
                      disabled={busy}
                      onClick={() => setEditing(prompt.promptId)}
                    />
                    <Button
                      variant="ghost"
                      size="sm"
                      disabled={busy}
                      onClick={() => change.mutate({ promptId: prompt.promptId, sendNow: true })}
                    >
                      Send now
                    </Button>
                    <IconButton
                      icon={X}
                      label="Cancel prompt"
                      disabled={busy}
                      onClick={() => cancel.mutate(prompt.promptId)}
                    />
                  </span>
                )}
              </div>
            )}
          </li>
        ))}
      </ol>
      {cancelled !== null && (
        <div role="status" className="flex items-center gap-2 pl-2.5 text-xs text-ink-soft">
          <span className="min-w-0 flex-1 truncate">Cancelled: {cancelled.text}</span>
          <Files prompt={cancelled} />
          <Button variant="ghost" size="sm" busy={undo.isPending} onClick={() => undo.mutate(cancelled)}>
            Undo
          </Button>
          <IconButton icon={X} label="Dismiss" onClick={() => setCancelled(null)} />
        </div>
      )}
    </section>
  );
}

/** How many files go with a prompt. */
function Files({ prompt: { attachments } }: { readonly prompt: QueuedPrompt }) {
  if (attachments.length === 0) return null;
  const names = attachments.map(({ name }) => name).join(", ");
  return (
    <span className="flex shrink-0 items-center gap-0.5 text-2xs text-ink-faint" title={names}>
      <Paperclip aria-hidden className="size-3" />
      <span className="sr-only">Attached: {names}</span>
      <span aria-hidden>{attachments.length}</span>
    </span>
  );
}

/** Replaces Send while the agent works and there is nothing to send. */
export function StopButton({ sessionId }: { readonly sessionId: string }) {
  const stop = useAct({
    mutationFn: () => acting.codingInterrupt({ sessionId }, { output: interruptOutputSchema }),
  });
  return (
    <Button size="sm" icon={Square} busy={stop.isPending} onClick={() => stop.mutate()}>
      Stop
    </Button>
  );
}

/** Queues a cancelled prompt with its files, in its former place. */
async function queueAgain(
  { promptId: cancelledId, text, kind, attachments, position }: QueuedPrompt,
  session: { readonly sessionId: string; readonly dir: string },
): Promise<void> {
  const { promptId } = await acting.codingAsk(
    {
      ...session,
      prompt: text,
      // Queued only once, even if responses are lost.
      idempotencyKey: `undo-${cancelledId}`,
      ...(kind === "command" ? { allowCommands: true } : {}),
      ...(attachments.length === 0 ? {} : { attachments: attachments.map(({ attachmentId }) => attachmentId) }),
    },
    { output: askOutputSchema },
  );
  const { sessionId } = session;
  try {
    await acting.changeQueuedPrompt({ sessionId, promptId, position }, { output: changedPromptSchema });
  } catch (error) {
    if (!hasCode(error, "prompt_already_sent")) throw error; // the agent was free, so nothing is queued
  }
}

const dragType = "application/x-postern-prompt";

/** A prompt that is dropped on another takes its position. */
function dragOf({ promptId, position }: QueuedPrompt, move: (change: Change) => void) {
  return {
    draggable: true,
    onDragStart: (event: DragEvent) => event.dataTransfer.setData(dragType, promptId),
    onDragOver: (event: DragEvent) => {
      if (event.dataTransfer.types.includes(dragType)) event.preventDefault();
    },
    onDrop: (event: DragEvent) => {
      const moved = event.dataTransfer.getData(dragType);
      if (moved === "") return;
      event.preventDefault();
      if (moved !== promptId) move({ promptId: moved, position });
    },
  };
}

/** Keeps the text when a change is refused. */
function EditForm(props: {
  readonly prompt: QueuedPrompt;
  readonly busy: boolean;
  readonly onSave: (text: string) => void;
  readonly onClose: () => void;
}) {
  const { prompt, busy, onSave, onClose } = props;
  const [text, setText] = useState(prompt.text);
  const save = (): void => {
    if (text.trim() !== "" && !busy) onSave(text);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === "Escape") return onClose();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    save();
  };
  return (
    <div className="rounded-lg border border-accent bg-raised p-2">
      <textarea
        // biome-ignore lint/a11y/noAutofocus: the user has just asked to edit it
        autoFocus
        rows={3}
        value={text}
        aria-label="Queued prompt"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        className="w-full resize-none bg-transparent text-sm leading-5 outline-none"
      />
      <div className="flex justify-end gap-2">
        <Button variant="ghost" size="sm" onClick={onClose}>
          Cancel
        </Button>
        <Button variant="primary" size="sm" busy={busy} disabled={text.trim() === ""} onClick={save}>
          Save
        </Button>
      </div>
    </div>
  );
}
