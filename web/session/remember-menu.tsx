import { ChevronDown } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import { lazy, Suspense, useState } from "react";
import { Button } from "../ui/button.tsx";
import type { PermissionAnswer } from "./question-form.tsx";
import { MenuItem } from "./session-menu.tsx";

const RememberDialog = lazy(async () => ({ default: (await import("./remember-dialog.tsx")).RememberDialog }));

/** How long an answer applies. */
export interface RememberChoice {
  readonly label: string;
  readonly for: "session" | "folder";
  readonly until?: string;
}

/** A choice ends at 18:00, midnight or 18:00 tomorrow: the first that is at least this far away. */
const leastMs = 30 * 60_000;

export function rememberChoices(now: Date): readonly RememberChoice[] {
  const at = (days: number, hour: number): Date =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour);
  const ends = [
    { end: at(0, 18), words: "18:00" },
    { end: at(1, 0), words: "midnight" },
    { end: at(1, 18), words: "18:00 tomorrow" },
  ];
  const next = ends.find(({ end }) => end.getTime() - now.getTime() >= leastMs);
  return [
    { label: "For this session…", for: "session" },
    ...(next === undefined
      ? []
      : [{ label: `In this folder until ${next.words}…`, for: "folder", until: next.end.toISOString() } as const]),
    { label: "Always in this folder…", for: "folder" },
  ];
}

/** Next to Allow: applies the same answer to later requests. Each choice first shows a description of the rule. */
export function RememberMenu(props: {
  readonly request: { readonly sessionId: string; readonly permissionId: string };
  readonly act: { readonly isPending: boolean; readonly error: Error | null };
  readonly onAnswer: (answer: PermissionAnswer) => void;
}) {
  const { request, act, onAnswer } = props;
  const [choices, setChoices] = useState<readonly RememberChoice[]>([]);
  const [choice, setChoice] = useState<RememberChoice | null>(null);
  return (
    <>
      <DropdownMenu.Root modal={false} onOpenChange={(open) => open && setChoices(rememberChoices(new Date()))}>
        <DropdownMenu.Trigger asChild>
          <Button
            variant="primary"
            disabled={act.isPending}
            aria-label="Remember the answer"
            title="Remember the answer"
            className="rounded-l-none border-l-accent-ink/40 px-1.5 pointer-coarse:min-w-11"
          >
            <ChevronDown aria-hidden className="size-4" />
          </Button>
        </DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content
            align="start"
            sideOffset={4}
            collisionPadding={8}
            className="z-30 w-64 rounded-lg border border-line bg-panel p-1 text-sm shadow-float"
          >
            {choices.map((one) => (
              <MenuItem key={one.label} onSelect={() => setChoice(one)}>
                {one.label}
              </MenuItem>
            ))}
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      {choice !== null && (
        <Suspense>
          <RememberDialog {...{ request, choice, act, onAnswer }} onClose={() => setChoice(null)} />
        </Suspense>
      )}
    </>
  );
}
