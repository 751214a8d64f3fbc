import { Check, Copy, type LucideIcon } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Button, IconButton } from "./button.tsx";

const shownMs = 1_500;

/** Copies a text. Without `children` it is an icon named `label`. */
export function CopyButton(props: {
  readonly text: string;
  readonly label?: string;
  readonly children?: string;
  readonly className?: string;
  readonly icon?: LucideIcon;
}) {
  const { text, label = "Copy", children, className, icon: shown = Copy } = props;
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready");
  useEffect(() => {
    if (state === "ready") return;
    const timer = setTimeout(() => setState("ready"), shownMs);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (): void => {
    void copyText(text).then((copied) => setState(copied ? "copied" : "failed"));
  };
  const said = state === "ready" ? label : state === "copied" ? "Copied" : "Could not copy";
  const icon = state === "copied" ? Check : shown;
  if (children === undefined)
    return <IconButton label={said} icon={icon} onClick={copy} {...(className === undefined ? {} : { className })} />;
  return (
    <Button icon={icon} onClick={copy} {...(className === undefined ? {} : { className })}>
      {state === "ready" ? children : said}
    </Button>
  );
}

/** Works without the clipboard API too, which requires https or localhost. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyThroughSelection(text);
  }
}

function copyThroughSelection(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.className = "fixed top-0 left-0 opacity-0";
  const host = document.querySelector('[role="dialog"]') ?? document.body;
  host.append(area);
  const before = document.activeElement;
  area.select();
  // The only way on plain http.
  const copied = document.execCommand("copy");
  area.remove();
  if (before instanceof HTMLElement) before.focus();
  return copied;
}

export function CopyField({ label, text, children }: Readonly<{ label: string; text: string; children?: ReactNode }>) {
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <span className="text-xs font-medium text-ink-soft">{label}</span>
      <div className="flex min-w-0 items-center gap-1 rounded-md bg-well py-1 pr-1 pl-3">
        <output aria-label={label} className="min-w-0 flex-1 font-mono text-xs wrap-anywhere select-all">
          {text}
        </output>
        <CopyButton text={text} label={`Copy: ${label}`} />
      </div>
      {children !== undefined && <p className="text-xs text-ink-faint">{children}</p>}
    </div>
  );
}
