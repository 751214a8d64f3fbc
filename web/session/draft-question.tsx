import { CircleHelp } from "lucide-react";
import { useEffect, useRef } from "react";
import type { OnDraft } from "../../src/wire/coding.ts";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { visibleText } from "../ui/untrusted.tsx";
import { draftQuestion } from "./session-words.ts";

/** Asks what to do with text that is already in the terminal's composer. */
export function DraftQuestion(props: {
  readonly draft: string;
  /** Whether the prompt is a command, which cannot be appended to the draft. */
  readonly isCommand: boolean;
  readonly onChoose: (onDraft: OnDraft) => void;
  readonly onCancel: () => void;
}) {
  const { draft, isCommand, onChoose, onCancel } = props;
  const group = useRef<HTMLDivElement>(null);
  // No button gets the focus, so that a second Enter in the prompt box does not choose one.
  useEffect(() => group.current?.focus(), []);
  useEffect(() => {
    const element = group.current;
    const onKeyDown = ({ key }: globalThis.KeyboardEvent): void => {
      if (key === "Escape") onCancel();
    };
    element?.addEventListener("keydown", onKeyDown);
    return () => element?.removeEventListener("keydown", onKeyDown);
  }, [onCancel]);
  const question = draftQuestion(draft);
  return (
    <div ref={group} role="alertdialog" aria-label={question} tabIndex={-1} className="mb-2 rounded-lg">
      <Notice tone="lamp" icon={CircleHelp}>
        <p className="wrap-anywhere">{question}</p>
        <div className="mt-2 flex flex-wrap gap-2">
          <Button size="sm" onClick={() => onChoose("clear")}>
            Clear and send
          </Button>
          {!isCommand && (
            <Button size="sm" onClick={() => onChoose("append")}>
              Send both
            </Button>
          )}
          <Button size="sm" variant="ghost" onClick={onCancel}>
            Cancel
          </Button>
        </div>
      </Notice>
    </div>
  );
}

/** Asks which of two drafts to keep. Typing continues in this browser's draft. */
export function OtherDraft(props: { readonly text: string; readonly onChoose: (which: "this" | "other") => void }) {
  const { text, onChoose } = props;
  return (
    <div role="group" aria-label="Draft on another device" className="mb-2">
      <Notice tone="lamp" icon={CircleHelp}>
        <p>You also have a draft from another device:</p>
        <p className="mt-1 line-clamp-3 text-ink-soft wrap-anywhere">{visibleText(text)}</p>
        <div className="mt-2 flex flex-wrap gap-2">
          <Button size="sm" onClick={() => onChoose("this")}>
            Keep this one
          </Button>
          <Button size="sm" onClick={() => onChoose("other")}>
            Use the other one
          </Button>
        </div>
      </Notice>
    </div>
  );
}
