import { sha256 } from "../../core/ids.ts";

/** A dialog of an agent's own, read from its screen. */
export interface ScreenDialog {
  /** What it is about, in a few words. */
  readonly title: string;
  /** All its text, from the screen. Untrusted. */
  readonly text: string;
  /** What can be chosen, in the order on the screen. */
  readonly choices: readonly DialogChoice[];
}

/** One line that a dialog offers. */
export interface DialogChoice {
  /** As it stands on the screen. */
  readonly label: string;
  /** What picks it, whichever line is selected. */
  readonly keys: string;
  /** For the dialog of a permission: what this choice decides. */
  readonly decides?: "allow" | "deny";
}

/** The same for the same dialog with the same text, whatever else is on the screen. */
export function dialogIdOf({ title, text, choices }: ScreenDialog): string {
  return sha256(JSON.stringify([title, text, choices.map(({ label }) => label)])).slice(0, 32);
}
