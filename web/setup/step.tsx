import { Check, Circle, CircleDashed, Minus } from "lucide-react";
import type { ReactNode } from "react";
import { classNames } from "../ui/class-names.ts";
import type { StepState } from "./setup-words.ts";

const looks = {
  done: { icon: Check, words: "done", className: "bg-accent-soft text-accent" },
  skipped: { icon: Minus, words: "not needed", className: "bg-well text-ink-soft" },
  open: { icon: Circle, words: "to be done", className: "bg-lamp-soft text-lamp" },
  later: { icon: CircleDashed, words: "later", className: "bg-well text-ink-faint" },
} as const;

/** One step of set-up: how far it is, in a sign and in words, and what can be done. */
export function Step({
  title,
  state,
  children,
}: {
  readonly title: string;
  readonly state: StepState;
  readonly children: ReactNode;
}) {
  const { icon: Icon, words, className } = looks[state];
  return (
    <li className="flex gap-3 px-4 py-4">
      <span className={classNames("mt-0.5 flex size-5 shrink-0 items-center justify-center rounded-full", className)}>
        <Icon aria-hidden className="size-3" />
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-3 text-sm">
        <h2 className="font-semibold">
          {title}
          <span className="sr-only">, {words}</span>
        </h2>
        {children}
      </div>
    </li>
  );
}
