import type { Clock } from "../../core/clock.ts";
import { isoTime } from "../../core/clock.ts";
import type { TerminalHostClient } from "../../terminal-host/terminal-info.ts";
import type { PendingPermission } from "../../wire/coding.ts";
import { dialogIdOf, type ScreenDialog } from "../agents/screen-dialog.ts";
import type { AgentTemplate } from "../agents/template.ts";
import type { ActivityState } from "./activity.ts";

const pollMs = 50;
// An agent drops keys for a second after it painted a dialog, so that nobody answers what they have not read (measured: Claude Code, Codex).
const takenMs = 1_500;
const maxPresses = 3;

/** The dialog that keeps a session from going on, as something that can be answered; null when none is known. */
export function dialogAsked({ standing }: Pick<ActivityState, "standing">): PendingPermission | null {
  const dialog = standing?.dialog ?? null;
  if (dialog === null) return null;
  return {
    permissionId: dialog.dialogId,
    kind: "dialog",
    tool: dialog.title,
    input: { text: dialog.text },
    askedAt: isoTime(dialog.seenAt),
    answerable: dialog.choices.length > 0,
    choices: dialog.choices.map(({ label }, index) => ({ choiceId: String(index + 1), label })),
  };
}

/** Answers dialogs of an agent's own by the keys that a person would press. */
export class DialogDesk {
  readonly #host: Pick<TerminalHostClient, "look" | "write">;
  readonly #clock: Clock;
  readonly #terminalId: string;
  readonly #template: Pick<AgentTemplate, "readDialog">;
  #pressing: Promise<boolean> = Promise.resolve(false);

  constructor(deps: {
    readonly host: Pick<TerminalHostClient, "look" | "write">;
    readonly clock: Clock;
    readonly terminalId: string;
    readonly template: Pick<AgentTemplate, "readDialog">;
  }) {
    this.#host = deps.host;
    this.#clock = deps.clock;
    this.#terminalId = deps.terminalId;
    this.#template = deps.template;
  }

  /**
   * Presses the keys of a choice, one caller after another. They go out only while the screen shows this very dialog, and again only while
   * nothing on the screen has changed since.
   * @param keysOf what to press in this dialog; null presses nothing
   * @returns whether the dialog took them
   */
  press(dialogId: string, keysOf: (dialog: ScreenDialog) => string | null): Promise<boolean> {
    const pressing = this.#pressing.then(
      () => this.#press(dialogId, keysOf),
      () => this.#press(dialogId, keysOf),
    );
    this.#pressing = pressing;
    return pressing;
  }

  async #press(dialogId: string, keysOf: (dialog: ScreenDialog) => string | null): Promise<boolean> {
    let shown: string | null = null;
    for (let presses = 0; presses < maxPresses; presses += 1) {
      const { lines } = await this.#host.look(this.#terminalId);
      const screen = lines.join("\n");
      if (shown !== null && screen !== shown) return true;
      const dialog = this.#template.readDialog?.(lines) ?? null;
      const keys = dialog !== null && dialogIdOf(dialog) === dialogId ? keysOf(dialog) : null;
      if (keys === null) return false;
      await this.#host.write(this.#terminalId, keys);
      shown = screen;
      if (await this.#changes(screen)) return true;
    }
    return false;
  }

  async #changes(screen: string): Promise<boolean> {
    const deadline = this.#clock.now() + takenMs;
    while (this.#clock.now() < deadline) {
      await this.#clock.sleep(pollMs);
      if ((await this.#host.look(this.#terminalId)).lines.join("\n") !== screen) return true;
    }
    return false;
  }
}
