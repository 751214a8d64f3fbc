import type { TerminalMode } from "../../src/wire/terminal.ts";

/** A session's live terminal. It fills the element that it is in. */
export function TerminalPane({ sessionId, mode }: { readonly sessionId: string; readonly mode: TerminalMode }) {
  return (
    <p>
      Terminal of {sessionId}, {mode}
    </p>
  );
}
