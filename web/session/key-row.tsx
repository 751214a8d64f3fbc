import {
  ArrowDown,
  ArrowLeft,
  ArrowRight,
  ArrowUp,
  ClipboardPaste,
  CornerDownLeft,
  type LucideIcon,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import { classNames } from "../ui/class-names.ts";
import type { TerminalKey } from "./terminal-session.ts";

const arrows: readonly (readonly [TerminalKey, LucideIcon])[] = [
  ["Left", ArrowLeft],
  ["Up", ArrowUp],
  ["Down", ArrowDown],
  ["Right", ArrowRight],
];

export function KeyRow(props: {
  readonly ctrlHeld: boolean;
  readonly onCtrl: () => void;
  readonly onKey: (key: TerminalKey) => void;
  readonly onPaste: (text: string) => void;
}) {
  const { ctrlHeld, onCtrl, onKey, onPaste } = props;
  const [failed, setFailed] = useState(false);
  const paste = (): void => {
    // Missing on plain http, except on localhost.
    const reading = navigator.clipboard?.readText?.() ?? Promise.reject(new Error("no clipboard"));
    reading.then(onPaste).catch(() => setFailed(true));
  };
  return (
    <div
      role="toolbar"
      aria-label="Keys"
      className="hidden border-t border-line bg-panel p-1 pointer-coarse:block max-md:block"
    >
      {failed && (
        <p className="px-1 pb-1 text-xs text-ink-soft">
          The browser does not allow clipboard access here. Press and hold the terminal to paste.
        </p>
      )}
      <div className="flex gap-1 overflow-x-auto">
        <Key label="Esc" onPress={() => onKey("Escape")}>
          Esc
        </Key>
        <Key label="Shift+Tab" onPress={() => onKey("ShiftTab")}>
          <span className="whitespace-nowrap">⇧ Tab</span>
        </Key>
        <Key label="Ctrl+C" onPress={() => onKey("Interrupt")}>
          <span className="whitespace-nowrap">Ctrl C</span>
        </Key>
        <Key label="Paste" onPress={paste}>
          <ClipboardPaste aria-hidden className="size-4" />
        </Key>
        <Key label="Tab" onPress={() => onKey("Tab")}>
          Tab
        </Key>
        <Key label="Ctrl, for the next key" pressed={ctrlHeld} onPress={onCtrl}>
          Ctrl
        </Key>
        {arrows.map(([key, Icon]) => (
          <Key key={key} label={`${key} arrow`} onPress={() => onKey(key)}>
            <Icon aria-hidden className="size-4" />
          </Key>
        ))}
        <Key label="Enter" onPress={() => onKey("Enter")}>
          <CornerDownLeft aria-hidden className="size-4" />
        </Key>
      </div>
    </div>
  );
}

function Key(props: {
  readonly label: string;
  readonly pressed?: boolean;
  readonly onPress: () => void;
  readonly children: ReactNode;
}) {
  const { label, pressed, onPress, children } = props;
  return (
    <button
      type="button"
      aria-label={label}
      aria-pressed={pressed}
      // Keeps the focus in the terminal, so that the keyboard stays open.
      onPointerDown={(event) => event.preventDefault()}
      onClick={onPress}
      className={classNames(
        "inline-flex h-11 min-w-11 [@media(max-height:480px)]:h-9 flex-1 items-center justify-center rounded-md border px-1.5 text-xs font-medium select-none active:bg-hover",
        pressed === true ? "border-accent bg-accent-soft text-accent" : "border-line bg-raised text-ink-soft",
      )}
    >
      {children}
    </button>
  );
}
