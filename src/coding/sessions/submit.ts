import type { Clock } from "../../core/clock.ts";
import { hasCode } from "../../core/errors.ts";
import type { TerminalHostClient } from "../../terminal-host/terminal-info.ts";
import type { AgentTemplate } from "../agents/template.ts";

/** What typing works with. */
export interface TypingDeps {
  readonly host: TerminalHostClient;
  readonly clock: Clock;
}

/** The terminal that is typed into. */
export interface TypingTerminal {
  readonly terminalId: string;
  readonly template: AgentTemplate;
}

/** What was put into a composer. */
export interface TypedText {
  readonly text: string;
  /** What the composer showed before; null for an agent whose composer is not read. */
  readonly before: string | null;
  readonly maySend: () => Promise<boolean>;
}

const pollMs = 50;
// A busy machine lets an agent read what was typed after seconds; a prompt that it shows only later is submitted all the same.
const shownMs = 10_000;
// An agent that has not shown what Enter did by then shows nothing.
const goneMs = 10_000;
// Each one more that became a new line was seen to have done so.
const maxEnters = 5;

/** What the composer of this terminal shows; null for an agent whose composer is not read, and where there is none. */
export async function composerText(
  { host }: TypingDeps,
  { terminalId, template }: TypingTerminal,
): Promise<string | null> {
  if (template.composer === undefined) return null;
  return template.composer.text((await host.look(terminalId)).lines);
}

/**
 * Waits until the composer shows what was typed: Enter that an agent reads together with a paste is a part of it. A composer that is not
 * there is waited for as well.
 */
export async function untilShown(deps: TypingDeps, terminal: TypingTerminal, { before }: TypedText): Promise<void> {
  const deadline = deps.clock.now() + shownMs;
  while (before !== null && deps.clock.now() < deadline) {
    const now = await composerText(deps, terminal);
    if (now !== null && now !== before) return;
    await deps.clock.sleep(pollMs);
  }
}

/**
 * Presses Enter, and once more for each one that shows as a new line. A dialog that opened in between, in the composer's place perhaps,
 * takes Enter for itself: then it is not pressed.
 *
 * @returns `held` when every one became a new line; `typed` also when the agent showed nothing, which may take Enter later
 */
export async function submit(deps: TypingDeps, terminal: TypingTerminal, typed: TypedText): Promise<"typed" | "held"> {
  const { terminalId, template } = terminal;
  for (let enters = 1; await typed.maySend(); enters += 1) {
    const shown = typed.before === null ? null : await composerText(deps, terminal);
    if (typed.before !== null && shown === null) return "typed";
    await deps.host.write(terminalId, "\r");
    if (shown === null || (await afterEnter(deps, terminal, { ...typed, shown })) !== "new_line") return "typed";
    if (enters === maxEnters) return "held";
    await deps.clock.sleep(template.paste.enterDelayMs);
  }
  return "typed";
}

async function afterEnter(
  deps: TypingDeps,
  terminal: TypingTerminal,
  { before, shown, text, maySend }: TypedText & { readonly shown: string },
): Promise<"gone" | "new_line" | "unmoved"> {
  const deadline = deps.clock.now() + goneMs;
  while (deps.clock.now() < deadline) {
    await deps.clock.sleep(pollMs);
    try {
      const now = await composerText(deps, terminal);
      if (now === null || now === before || !isOf(now, text) || !(await maySend())) return "gone";
      if (now !== shown && compact(now) === compact(shown)) return "new_line";
    } catch (error) {
      if (hasCode(error, "terminal_gone")) return "gone"; // as by a command that ends the agent
      throw error;
    }
  }
  return "unmoved";
}

/** Empties a composer in which this text was left, so that the next one is not typed behind it. */
export async function takeOut(deps: TypingDeps, terminal: TypingTerminal, text: string): Promise<void> {
  const now = await composerText(deps, terminal);
  const { composer } = terminal.template;
  if (composer === undefined || now === null || !isOf(now, text)) return;
  await deps.host.write(terminal.terminalId, composer.clearKeys);
}

/** Whether a composer shows this text or a part of it, with what the agent may have put behind it. */
function isOf(shown: string, text: string): boolean {
  const [part, whole] = [compact(shown), compact(text)];
  return part !== "" && (whole.includes(part) || part.startsWith(whole) || part.startsWith("[PastedText:"));
}

/** The agent folds lines, and Enter may have added one. */
function compact(text: string): string {
  return text.replaceAll(/\s+/g, "");
}
