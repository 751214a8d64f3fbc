import { useQueryClient } from "@tanstack/react-query";
import { SendHorizontal } from "lucide-react";
import { type KeyboardEvent, useLayoutEffect, useMemo, useRef, useState } from "react";
import { PosternClientError } from "../../src/client/index.ts";
import { askOutputSchema, type OnDraft, type SessionSummary } from "../../src/wire/coding.ts";
import type { Turn } from "../../src/wire/turn.ts";
import { detailOf } from "../api/api-error.ts";
import { acting } from "../api/client.ts";
import { useAct } from "../api/query.ts";
import { useMay } from "../api/sign-in.ts";
import { Button } from "../ui/button.tsx";
import { Form } from "../ui/field.tsx";
import { ErrorNotice } from "../ui/notice.tsx";
import { agentName } from "../ui/session-state.ts";
import { AttachButton, AttachmentStrip, useAttachments } from "./attachments.tsx";
import { useCompletion } from "./completion.tsx";
import { DraftQuestion, OtherDraft } from "./draft-question.tsx";
import { draftOf, idempotencyKey, keepDraft } from "./drafts.ts";
import { keepSent, nothingRecalled, promptHistory, recall } from "./prompt-history.ts";
import { QueueList, StopButton } from "./queue-list.tsx";
import { behindDraftWords, counted, deliveryWords } from "./session-words.ts";
import { sessionDraft, useSharedDraft } from "./shared-draft.ts";
import { takeSummary } from "./use-session.ts";

/** Without a choice, the gateway refuses prompts that need one. */
interface Choices {
  readonly kind?: "command";
  readonly allowCommands?: true;
  readonly onDraft?: OnDraft;
}

const nothingSent: { readonly text: string; readonly key: string; readonly choices: Choices } = {
  text: "",
  key: "",
  choices: {},
};

/** Keeps the text until the agent has it, and over a reload. */
export function PromptBox(props: {
  readonly summary: SessionSummary;
  readonly turns: readonly Turn[];
  readonly sessionId: string;
}) {
  const { summary, sessionId, turns } = props;
  const client = useQueryClient();
  const mayWrite = useMay("coding:write");
  const mayDrive = useMay("coding:drive");
  const [text, setText] = useState(() => draftOf(localStorage, sessionId));
  const box = useGrowing(text);
  const place = useMemo(() => ({ sessionId }), [sessionId]);
  const attachments = useAttachments(sessionId, mayWrite);
  /** Resending the same text does not reach the agent twice. */
  const sending = useRef(nothingSent);
  /** The last prompt, the number of turns before it, whether it was appended to the terminal's text, and whether it was sent as a command. */
  const [sent, setSent] = useState({ text: "", turnCount: 0, behindDraft: false, isCommand: false });

  const shared = useSharedDraft({
    name: sessionId,
    place: useMemo(() => sessionDraft(sessionId), [sessionId]),
    text,
    onTake: (next) => change(next),
    enabled: mayWrite,
  });

  const change = (next: string): void => {
    setText(next);
    keepDraft(localStorage, sessionId, next);
    if (ask.isSuccess || ask.isError) ask.reset();
  };
  const ask = useAct({
    mutationFn: ({ prompt, choices }: { readonly prompt: string; readonly choices: Choices }) => {
      const { ids } = attachments;
      const content = [prompt, ...ids].join("\n");
      const known = sending.current.text === content ? sending.current : { ...nothingSent, key: idempotencyKey() };
      sending.current = { ...known, text: content, choices: { ...known.choices, ...choices } };
      const input = {
        sessionId: summary.sessionId,
        dir: summary.dir,
        prompt,
        idempotencyKey: sending.current.key,
        ...(ids.length === 0 ? {} : { attachments: [...ids] }),
        ...sending.current.choices,
      };
      return acting.codingAsk(input, { output: askOutputSchema });
    },
    onSuccess: (answer, { prompt }) => {
      const { onDraft, kind } = sending.current.choices;
      sending.current = nothingSent;
      keepSent(localStorage, sessionId, prompt);
      setSent({
        text: prompt,
        turnCount: summary.turnCount,
        behindDraft: onDraft === "append",
        isCommand: kind === "command",
      });
      const {
        started: _started,
        delivered,
        deliveryState: _state,
        promptId: _promptId,
        ignored: _ignored,
        turns: _turns,
        ...asked
      } = answer;
      if (delivered !== false) attachments.clear();
      if (delivered !== false) setText((now) => (now === prompt ? "" : now));
      if (delivered !== false && box.current?.value === prompt) keepDraft(localStorage, sessionId, "");
      if (delivered !== false) void shared.sent();
      takeSummary(client, sessionId, asked);
    },
    onError: (error) => {
      // A refusal resets the choices, unless it asks for another choice, because the terminal's text may have changed.
      if (error instanceof PosternClientError && error.status >= 400 && error.status < 500 && !asksForChoice(error))
        sending.current = nothingSent;
    },
  });
  const send = (choices: Choices = {}): void => {
    if (text.trim() === "" || ask.isPending || attachments.isBlocked) return;
    const isCommand = mayDrive && choices.allowCommands === undefined && completion.isCommand(text);
    ask.mutate({ prompt: text, choices: isCommand ? { kind: "command", ...choices } : choices });
  };
  const draft = detailOf(ask.error, "draft");
  const leaveDraft = (): void => {
    ask.reset();
    sending.current = nothingSent;
    box.current?.focus();
  };
  const completion = useCompletion({ box, text, onChange: change, place: mayWrite ? place : null });
  const recalled = useRef(nothingRecalled);
  const recallPrompt = (event: KeyboardEvent<HTMLTextAreaElement>): boolean => {
    const { selectionStart: caret, selectionEnd } = event.currentTarget;
    if (caret !== selectionEnd || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return false;
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return false;
    const history = promptHistory(localStorage, { sessionId, turns });
    const next = recall(history, { recalled: recalled.current, key: event.key, text, caret });
    if (next === null) return false;
    recalled.current = next;
    change(next.text);
    event.preventDefault();
    return true;
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    if (completion.onKeyDown(event) || recallPrompt(event)) return;
    if (event.key === "Escape" && draft !== null) return leaveDraft();
    if (event.key === "Escape") box.current?.blur();
    // Enter may end an IME composition.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };
  const waiting = summary.permissions.length > 0 || summary.activity === "needs_attention";
  const refusedAsCommand = ask.error instanceof PosternClientError && ask.error.code === "prompt_not_text";
  const arrived = sent.text !== "" && isAmong(turns, sent);
  const failed = ask.data?.delivered === false && !arrived;
  const behindDraft = summary.draft && summary.queuedPrompts > 0 && !failed;
  const said = behindDraft
    ? behindDraftWords(summary.queuedPrompts)
    : ask.isSuccess
      ? deliveryWords(arrived || ask.data.delivered, {
          queuedPrompts: arrived ? 0 : summary.queuedPrompts,
          isCommand: sent.isCommand,
        })
      : null;
  const tone = failed ? "font-medium text-danger" : behindDraft ? "font-medium text-lamp" : undefined;
  return (
    <div className="border-t border-line bg-panel px-3 pt-2.5 pb-2.5">
      {shared.other !== null && <OtherDraft text={shared.other.text} onChoose={shared.choose} />}
      {draft !== null && (
        <DraftQuestion
          draft={draft}
          isCommand={ask.variables?.choices.kind === "command"}
          onCancel={leaveDraft}
          onChoose={(onDraft) => {
            box.current?.focus();
            send({ onDraft });
          }}
        />
      )}
      {ask.error !== null && draft === null && (
        <div className="mb-2">
          <ErrorNotice error={ask.error} />
          {refusedAsCommand && mayDrive && /^[/!]/.test(text) && (
            <Button size="sm" className="mt-1.5" onClick={() => send({ allowCommands: true })}>
              Send as command
            </Button>
          )}
        </div>
      )}
      <QueueList summary={summary} sessionId={sessionId} />
      <Form onSubmit={() => send()} {...attachments.dropTarget}>
        <AttachmentStrip attachments={attachments} />
        <div className="relative flex items-end gap-2 rounded-xl border border-line-strong bg-raised p-1.5 pl-3 focus-within:border-accent">
          {completion.list}
          <textarea
            ref={box}
            {...completion.attributes}
            rows={1}
            value={text}
            disabled={!mayWrite}
            data-after-terminal=""
            aria-label={`Prompt to ${agentName(summary.agent)}`}
            placeholder={mayWrite ? placeholderOf(summary) : "Your account can only read."}
            onChange={(event) => change(event.target.value)}
            onKeyDown={onKeyDown}
            className="max-h-[40dvh] min-h-7 min-w-0 flex-1 resize-none bg-transparent py-1 text-sm leading-5 outline-none pointer-coarse:py-2.5 placeholder:text-ink-faint"
          />
          <AttachButton attachments={attachments} disabled={!mayWrite} />
          {mayWrite && summary.activity === "working" && text === "" && !attachments.isBlocked ? (
            <StopButton sessionId={summary.sessionId} />
          ) : (
            <Button
              type="submit"
              variant="primary"
              size="sm"
              icon={SendHorizontal}
              busy={ask.isPending}
              disabled={!mayWrite || waiting || text.trim() === "" || attachments.isBlocked}
            >
              Send
            </Button>
          )}
        </div>
      </Form>
      <p aria-live="polite" className="sr-only">
        {completion.announcement}
      </p>
      <p role="status" className="mt-1 flex min-h-4 flex-wrap justify-between gap-x-3 text-2xs text-ink-faint">
        <span className={tone}>
          {ask.isPending ? "Sending…" : (said ?? (waiting ? "Answer the request above first." : ""))}
          {said === null && summary.queuedPrompts > 0 && ` ${counted(summary.queuedPrompts, "prompt")} waiting.`}
        </span>
        <span className="max-sm:hidden">Enter to send, Shift+Enter for a new line</span>
      </p>
    </div>
  );
}

function placeholderOf({ status, activity, agent }: SessionSummary): string {
  // Short: a phone has room for about twenty letters.
  if (activity === "working") return "Queue a message";
  const verb = status === "completed" || status === "failed" ? "Continue with" : "Message";
  return `${verb} ${agentName(agent)}`;
}

function asksForChoice({ code }: PosternClientError): boolean {
  return code === "composer_not_empty" || code === "prompt_not_text";
}

/** Whether the prompt has become a turn. Agents trim prompts. */
function isAmong(
  turns: readonly Turn[],
  {
    text,
    turnCount,
    behindDraft,
  }: { readonly text: string; readonly turnCount: number; readonly behindDraft: boolean },
): boolean {
  const prompt = text.trim();
  return turns
    .filter(({ index, role }) => index >= turnCount && role === "user")
    .map((turn) => turn.text.trim())
    .some((taken) => taken === prompt || (behindDraft && taken.endsWith(prompt)));
}

/** Grows the textarea with its text. */
function useGrowing(text: string) {
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = text === "" ? "" : `${element.scrollHeight}px`;
  }, [text]);
  return box;
}
