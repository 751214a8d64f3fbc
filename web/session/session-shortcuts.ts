/**
 * What the session page's keys do; the page's own shortcuts and the sheet of all shortcuts read it. None of them is the second key of a
 * shortcut of two keys.
 */
export const sessionShortcutList = [
  { keys: "e", label: "In a session: enter the terminal", does: "terminal" },
  { keys: "p", label: "In a session: write a prompt", does: "prompt" },
  { keys: "v", label: "In a session: read the turns", does: "turns" },
  { keys: "d", label: "In a session: what has changed", does: "changes" },
  { keys: "r", label: "In a session: play the recording", does: "playback" },
  { keys: "i", label: "In a session: interrupt the turn", does: "interrupt" },
  { keys: "x", label: "In a session: close it", does: "close" },
] as const;

export type SessionDeed = (typeof sessionShortcutList)[number]["does"];

/** Keys of the terminal pane itself, where all others are the agent's. */
export const terminalShortcutList = [
  { keys: "F6", label: "In a terminal: leave it" },
  { keys: "mod+f", label: "In a terminal: search" },
  { keys: "mod+v", label: "In a terminal: paste" },
] as const;
