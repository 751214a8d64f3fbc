import { ChevronDown, ChevronUp, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { IconButton } from "../ui/button.tsx";

/** The search within a terminal. */
export function TerminalFind({
  matches,
  onFind,
  onClose,
}: {
  readonly matches: { readonly index: number; readonly count: number };
  readonly onFind: (text: string, direction: "next" | "previous") => void;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const found = text === "" ? "" : matches.count === 0 ? "None" : `${matches.index} of ${matches.count}`;
  return (
    <search className="absolute top-2 right-4 z-10 flex items-center gap-1 rounded-lg border border-line bg-raised p-1 pl-2 shadow-float">
      <input
        ref={input}
        type="text"
        aria-label="Search in the terminal"
        placeholder="Search"
        autoComplete="off"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          onFind(event.target.value, "next");
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") onClose();
          if (event.key === "Enter") onFind(text, event.shiftKey ? "previous" : "next");
        }}
        className="h-7 w-36 rounded border border-line bg-panel px-2 text-xs"
      />
      <span role="status" className="w-16 text-center text-2xs text-ink-faint">
        {found}
      </span>
      <IconButton label="Previous match" icon={ChevronUp} onClick={() => onFind(text, "previous")} />
      <IconButton label="Next match" icon={ChevronDown} onClick={() => onFind(text, "next")} />
      <IconButton label="Close the search" icon={X} onClick={onClose} />
    </search>
  );
}
