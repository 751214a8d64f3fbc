import { useCallback, useState } from "react";

/** How the panes of a session are arranged on a wide screen. Stored in the browser. */
export interface SessionLayout {
  readonly hidden: "none" | "terminal" | "conversation";
  /** The conversation is on the left. */
  readonly swapped: boolean;
}

const name = "postern.layout";
const usual: SessionLayout = { hidden: "none", swapped: false };

export function useSessionLayout(): readonly [SessionLayout, (change: Partial<SessionLayout>) => void] {
  const [layout, setLayout] = useState(readLayout);
  const change = useCallback((next: Partial<SessionLayout>): void => {
    const changed = { ...readLayout(), ...next };
    localStorage.setItem(name, [changed.hidden, changed.swapped ? "swapped" : ""].join(" "));
    setLayout(changed);
  }, []);
  return [layout, change];
}

function readLayout(): SessionLayout {
  const words = (localStorage.getItem(name) ?? "").split(" ");
  const hidden = words.includes("terminal")
    ? "terminal"
    : words.includes("conversation")
      ? "conversation"
      : usual.hidden;
  return { hidden, swapped: words.includes("swapped") };
}
