import { type RefObject, useEffect, useRef, useState } from "react";
import { answerKeys, useShortcuts } from "../app/shortcuts.ts";
import { Button } from "../ui/button.tsx";
import { Form, TextArea } from "../ui/field.tsx";
import type { PermissionAnswer } from "./question-form.tsx";
import { RememberMenu } from "./remember-menu.tsx";

/** Delays keys for a request that just appeared or replaced another, because the key may have been meant for something else. */
const settleMs = 700;
let settledAtMs = 0;

function settle(): void {
  settledAtMs = performance.now() + settleMs;
}

/** Allow, for once or for longer, or deny with an optional message. */
export function Decision(props: {
  readonly plan: boolean;
  /** The request; null if its answer can apply only once. */
  readonly remembers: { readonly sessionId: string; readonly permissionId: string } | null;
  readonly act: { readonly isPending: boolean; readonly error: Error | null };
  readonly onAnswer: (answer: PermissionAnswer) => void;
}) {
  const { plan, remembers, act, onAnswer } = props;
  const busy = act.isPending;
  /** After Back, the focus returns to “Deny …”. */
  const [stage, setStage] = useState<"open" | "denying" | "back">("open");
  const [message, setMessage] = useState("");
  const place = useRef<HTMLDivElement>(null);
  const allow = (): void => onAnswer({ decision: "allow" });
  const back = (): void => setStage("back");
  const deny = (): void => {
    const words = message.trim();
    onAnswer(words === "" ? { decision: "deny" } : { decision: "deny", message: words });
  };
  useEffect(() => {
    settle();
    return settle;
  }, []);
  const ifMeant = (run: () => void) => (): void => {
    if (!busy && stage !== "denying" && isMeant(place)) run();
  };
  useShortcuts([
    { keys: answerKeys.allow, label: "Allow", run: ifMeant(allow) },
    { keys: answerKeys.deny, label: "Deny", run: ifMeant(() => setStage("denying")) },
  ]);
  if (stage === "denying") {
    return (
      <Form onSubmit={deny}>
        <TextArea
          autoFocus
          label="What should it do instead? (optional)"
          rows={2}
          maxLength={10_000}
          value={message}
          onChange={(event) => setMessage(event.target.value)}
          onKeyDown={(event) => {
            if (busy || event.nativeEvent.isComposing) return;
            if (event.key === "Escape") back();
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) deny();
          }}
        />
        <div className="mt-2 flex justify-end gap-2">
          <Button onClick={back}>Back</Button>
          <Button type="submit" variant="danger" busy={busy}>
            {plan ? "Reject plan" : "Deny"}
          </Button>
        </div>
      </Form>
    );
  }
  return (
    <div ref={place} data-decision className="flex flex-wrap items-center gap-2">
      <span className="flex">
        <Button
          variant="primary"
          busy={busy}
          aria-keyshortcuts={answerKeys.allow}
          onClick={allow}
          {...(remembers !== null && { className: "rounded-r-none" })}
        >
          {plan ? "Approve plan" : "Allow"}
        </Button>
        {remembers !== null && <RememberMenu request={remembers} act={act} onAnswer={onAnswer} />}
      </span>
      <Button
        disabled={busy}
        aria-keyshortcuts={answerKeys.deny}
        autoFocus={stage === "back"}
        onClick={() => setStage("denying")}
      >
        {plan ? "Reject …" : "Deny …"}
      </Button>
      <p className="ml-auto text-2xs text-ink-faint pointer-coarse:hidden">
        <kbd>A</kbd> {plan ? "approves" : "allows"}, <kbd>D</kbd> {plan ? "rejects" : "denies"}
      </p>
    </div>
  );
}

/** Keys answer the focused request, or else the first one. They are off while something else is open above the page. */
function isMeant(place: RefObject<HTMLDivElement | null>): boolean {
  if (performance.now() < settledAtMs) return false;
  if (document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"], [role="listbox"]') !== null)
    return false;
  const all = [...document.querySelectorAll("[data-decision]")];
  const focused = all.find((one) => one.closest("section")?.contains(document.activeElement) === true);
  return place.current !== null && (focused ?? all[0]) === place.current;
}
