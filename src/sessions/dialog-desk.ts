import type { AgentTemplate } from "../agents/index.ts";
import { dialogIdOf, type ScreenDialog } from "../agents/index.ts";
import { type Clock, isoTime } from "../core/clock.ts";
import type { TerminalLook } from "../terminal-host/terminal-info.ts";
import type { PendingPermission } from "../wire/coding.ts";
import type { ActivityState } from "./activity.ts";
import { type TypingHost, unlessGone, writeAsSeen } from "./submit.ts";
export interface DialogDeskDeps {
  readonly host: TypingHost;
  readonly clock: Clock;
  readonly terminalId: string;
  readonly template: Pick<AgentTemplate, "readDialog">;
}

const pollMs = 50;
// An agent drops keys for a second after it painted a dialog, so that people do not answer what they have not read (measured: Claude Code, Codex).
const takenMs = 3_000;
const maxDropped = 3;
// Keys to reach the choice, some pressed twice, and Enter.
const maxKeys = 30;
const keys = { up: "\x1b[A", down: "\x1b[B", enter: "\r" } as const;

/** The dialog that blocks a session, as a request that can be answered; null when none is known. */
export function dialogAsked({ standing }: Pick<ActivityState, "standing">): PendingPermission | null {
  const dialog = standing?.dialog ?? null;
  if (dialog === null) return null;
  return {
    permissionId: dialog.dialogId,
    kind: "dialog",
    tool: dialog.title,
    input: { text: dialog.text },
    askedAt: isoTime(dialog.seenAt),
    answerable: true,
    choices: dialog.choices.map(({ label }, index) => ({ choiceId: String(index + 1), label })),
  };
}

/** Answers an agent's own dialogs with the keys that a person would press. */
export class DialogDesk {
  readonly #deps: DialogDeskDeps;
  #pressing: Promise<unknown> = Promise.resolve();

  constructor(deps: DialogDeskDeps) {
    this.#deps = deps;
  }

  /**
   * Moves to a choice and presses Enter, one caller after another. Before each key the screen must still show the same dialog, and before
   * Enter this choice must be selected, so that no key ever reaches another dialog. @param choose the index of the wanted choice; null if
   * this is a different dialog @returns whether the dialog accepted it
   */
  press(choose: (dialog: ScreenDialog) => number | null): Promise<boolean> {
    const pressing = this.#pressing.then(
      () => this.#press(choose),
      () => this.#press(choose),
    );
    this.#pressing = pressing;
    return pressing;
  }

  async #press(choose: (dialog: ScreenDialog) => number | null): Promise<boolean> {
    const { terminalId } = this.#deps;
    let dialogId: string | null = null;
    let dropped = 0;
    const keyFor = (dialog: ScreenDialog | null): string | null => {
      if (dialog === null) return null;
      dialogId ??= dialogIdOf(dialog);
      if (dialogIdOf(dialog) !== dialogId) return null;
      const wanted = choose(dialog);
      if (wanted === null || dialog.choices[wanted] === undefined) return null;
      if (dialog.selected === wanted) return keys.enter;
      return dialog.selected < wanted ? keys.down : keys.up;
    };
    for (let pressed = 0; pressed < maxKeys; pressed += 1) {
      let key: string | null = null;
      const writing = writeAsSeen(this.#deps, terminalId, (screen) => {
        key = keyFor(this.#read(screen));
        return key;
      });
      const seen = await unlessGone(writing, null);
      const dialog = seen === null ? null : this.#read(seen);
      if (dialog === null) return false;
      const after = await this.#afterKey(dialog);
      if (key === keys.enter && after === "gone") return true;
      dropped = after === "unmoved" ? dropped + 1 : 0;
      if (dropped === maxDropped) return false;
    }
    return false;
  }

  async #dialog(): Promise<ScreenDialog | null> {
    const { host, terminalId } = this.#deps;
    const screen = await unlessGone(host.look(terminalId), null); // a choice may end the agent
    return screen === null ? null : this.#read(screen);
  }

  #read({ lines }: TerminalLook): ScreenDialog | null {
    return this.#deps.template.readDialog?.(lines) ?? null;
  }

  /** Waits until the key has had a visible effect. A dropped key is pressed again. */
  async #afterKey({ selected, ...before }: ScreenDialog): Promise<"gone" | "moved" | "unmoved"> {
    const { clock } = this.#deps;
    const dialogId = dialogIdOf({ selected, ...before });
    const deadline = clock.now() + takenMs;
    while (clock.now() < deadline) {
      await clock.sleep(pollMs);
      const now = await this.#dialog();
      if (now === null || dialogIdOf(now) !== dialogId) return "gone";
      if (now.selected !== selected) return "moved";
    }
    return "unmoved";
  }
}
