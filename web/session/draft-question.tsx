import { CircleHelp } from "lucide-react";
import { useEffect, useRef } from "react";
import type { OnDraft } from "../../src/wire/coding.ts";
import { Button } from "../ui/button.tsx";
import { Notice } from "../ui/notice.tsx";
import { draftQuestion } from "./session-words.ts";

/** Asks what to do with text that is already in the terminal's composer. */
export function DraftQuestion(props: {
  readonly draft: string;
  readonly onChoose: (onDraft: OnDraft) => void;
  readonly onCancel: () => void;
}) {
  const { draft, onChoose, onCancel } = props;
  const group = useRef<HTMLDivElement>(null);
  // Not one of the buttons: a second Enter in the prompt box must not choose.
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
          <Button size="sm" onClick={() => onChoose("append")}>
            Send both
          </Button>
          <Button size="sm" variant="ghost" onClick={onCancel}>
            Cancel
          </Button>
        </div>
      </Notice>
    </div>
  );
}
