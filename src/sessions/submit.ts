import type { AgentTemplate } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import type { TerminalHostClient, TerminalLook } from "../terminal-host/terminal-info.ts";
import { asReported } from "./prompts.ts";

/** The part of a terminal host that typing needs. */
export type TypingHost = Pick<TerminalHostClient, "look" | "writeIfUnchanged">;

/** What typing works with. */
export interface TypingDeps {
  readonly host: TypingHost;
  readonly clock: Clock;
}

/** The terminal that is typed into. */
export interface TypingTerminal {
  readonly terminalId: string;
  readonly template: AgentTemplate;
}

/** A text in a composer, after the draft that was there before. */
export interface ComposedText {
  readonly text: string;
  readonly draft?: string | undefined;
}

/** What was put into a composer. */
export interface TypedText extends ComposedText {
  /** The composer's text before; null if it cannot be read. */
  readonly before: string | null;
  readonly maySend: () => Promise<boolean>;
  /** Like `maySend`, but answered immediately from what is already known. */
  readonly mayWrite: () => boolean;
}

const pollMs = 50;
// On a busy machine, an agent reads typed text only after seconds. A prompt that it shows later is still submitted.
const shownMs = 10_000;
// An agent that shows no reaction to Enter within this time never shows one.
const goneMs = 10_000;
// Each further Enter is pressed only after the previous one was seen to become a new line.
const maxEnters = 5;
// An agent repaints an emptied composer within 0.1 s; a composer with more lines than the screen shows takes several rounds.
const emptiedMs = 1_500;
const maxClearings = 3;

/** The text in the composer of this terminal, without hints; null if it cannot be read or there is no composer. */
export async function composerText(
  { host }: { readonly host: Pick<TypingHost, "look"> },
  { terminalId, template }: TypingTerminal,
): Promise<string | null> {
  if (template.composer === undefined) return null;
  return template.composer.text(await host.look(terminalId));
}

/**
 * Waits until the composer shows the typed text, because an agent treats Enter that it reads together with a paste as part of the paste. Also
 * waits for a missing composer.
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
 * Presses Enter, and again for each Enter that appears as a new line. A dialog that opened in between would receive Enter, so Enter is not
 * pressed then.
 *
 * @returns `held` if every Enter became a new line, or none was pressed; `typed` even if the agent showed no change, because it can accept
 *   the Enter later
 */
export async function submit(deps: TypingDeps, terminal: TypingTerminal, typed: TypedText): Promise<"typed" | "held"> {
  const { terminalId, template } = terminal;
  for (let enters = 1; await typed.maySend(); enters += 1) {
    const readComposer = (screen: TerminalLook): string | null =>
      typed.before === null ? null : (template.composer?.text(screen) ?? null);
    const seen = await writeAsSeen(deps, terminalId, (screen) => {
      const isGone = typed.before === null ? isCovered(terminal, screen) : readComposer(screen) === null;
      return typed.mayWrite() && !isGone ? "\r" : null;
    });
    if (seen === null) return "held";
    const shown = readComposer(seen);
    if (shown === null || (await afterEnter(deps, terminal, { ...typed, shown })) !== "new_line") return "typed";
    if (enters === maxEnters) return "held";
    await deps.clock.sleep(template.paste.enterDelayMs);
  }
  return "typed";
}

/** Whether a dialog replaced the composer. A missing composer alone does not show that: a long text in it can hide it. */
function isCovered({ template }: TypingTerminal, { lines }: TerminalLook): boolean {
  return !template.composerPainted(lines) && (template.readDialog?.(lines) ?? null) !== null;
}

/** Presses Enter only for a text that an agent left in its composer. */
export async function pressEnter(
  deps: TypingDeps,
  terminal: TypingTerminal,
  { mayWrite, ...composed }: ComposedText & Pick<TypedText, "mayWrite">,
): Promise<void> {
  await writeAsSeen(deps, terminal.terminalId, (screen) => {
    const shown = terminal.template.composer?.text(screen) ?? null;
    return mayWrite() && shown !== null && isOf(shown, composed, terminal) ? "\r" : null;
  });
}

async function afterEnter(
  deps: TypingDeps,
  terminal: TypingTerminal,
  typed: TypedText & { readonly shown: string },
): Promise<"gone" | "new_line" | "unmoved"> {
  const deadline = deps.clock.now() + goneMs;
  while (deps.clock.now() < deadline) {
    await deps.clock.sleep(pollMs);
    const now = await unlessGone(composerText(deps, terminal), null); // the terminal is gone, as after a command that ends the agent
    if (now === null || now === typed.before || !isOf(now, typed, terminal)) return "gone";
    if (!(await typed.maySend())) return "gone";
    if (now !== typed.shown && compact(now) === compact(typed.shown)) return "new_line";
  }
  return "unmoved";
}

/** The result of `task`, or `gone` if its terminal ended, which the terminal host reports separately. */
export async function unlessGone<T>(task: Promise<T>, gone: T): Promise<T> {
  try {
    return await task;
  } catch (error) {
    if (hasCode(error, "terminal_gone")) return gone;
    throw error;
  }
}

/** Whether the composer holds this text; null when it cannot be read. */
export async function composerHolds(
  deps: { readonly host: Pick<TypingHost, "look"> },
  terminal: TypingTerminal,
  composed: ComposedText,
): Promise<boolean | null> {
  const now = await composerText(deps, terminal);
  return now === null ? null : isOf(now, composed, terminal);
}

/**
 * Clears a composer in which this text was left, so that the next text is not typed after it. @returns whether it was there and was removed
 */
export async function clearComposer(
  deps: TypingDeps,
  terminal: TypingTerminal,
  composed: ComposedText,
): Promise<boolean> {
  return (await composerHolds(deps, terminal, composed)) === true && (await emptyComposer(deps, terminal));
}

/** @returns whether it is empty now */
export async function emptyComposer(deps: TypingDeps, terminal: TypingTerminal): Promise<boolean> {
  const { composer } = terminal.template;
  for (let clearing = 0; composer !== undefined && clearing < maxClearings; clearing += 1) {
    const seen = await writeAsSeen(deps, terminal.terminalId, (screen) => {
      const text = composer.text(screen);
      return text ? composer.clearKeys(text) : null;
    });
    if (seen === null) return (await composerText(deps, terminal)) === "";
    const deadline = deps.clock.now() + emptiedMs;
    while (deps.clock.now() < deadline) {
      await deps.clock.sleep(pollMs);
      if ((await composerText(deps, terminal)) === "") return true;
    }
  }
  return false;
}

/** Whether a composer shows this text or a part of it, possibly followed by text of the agent. */
function isOf(shown: string, { text, draft = "" }: ComposedText, { template }: TypingTerminal): boolean {
  const [all, before, whole] = [compact(shown), compact(draft), compact(text)];
  if (all === before) return false;
  const part = all.startsWith(before) ? all.slice(before.length) : all;
  const word = template.composer?.pastedWord.exec(shown.slice(-pastedWordLength)) ?? null;
  return part !== "" && (whole.includes(part) || part.startsWith(whole) || word !== null);
}

// `[Pasted text #12 +3400 lines]`, the same in all agents.
const pastedWordLength = 80;

/** The text in a form for comparison: agents fold lines, compose accents and drop invisible characters, and Enter may have added a line. */
function compact(text: string): string {
  return asReported(text).replaceAll(/\s+/g, "");
}

// Agents that work repaint every 30 to 150 ms (measured), in several pieces; a look and its write take 1 to 3 ms.
const againMs = 10;
const unchangedMs = 3_000;

/**
 * Writes the keys that `keysFor` returns for the screen, and looks again if the program wrote anything between the look and the write, so
 * that a dialog that opens in between is noticed before a key reaches it. A dialog that opens after the terminal received the keys cannot
 * be noticed.
 *
 * @param keysFor returns null if nothing may be written on this screen; also checks all other conditions
 * @returns the screen on which it was written; null if nothing was written, for example because the screen kept changing
 */
export async function writeAsSeen(
  { host, clock }: { readonly host: Pick<TerminalHostClient, "look" | "writeIfUnchanged">; readonly clock: Clock },
  terminalId: string,
  keysFor: (screen: TerminalLook) => string | null,
): Promise<TerminalLook | null> {
  const deadline = clock.now() + unchangedMs;
  for (;;) {
    const screen = await host.look(terminalId);
    const keys = keysFor(screen);
    if (keys === null) return null;
    if (await host.writeIfUnchanged(terminalId, keys, screen)) return screen;
    if (clock.now() >= deadline) return null;
    await clock.sleep(againMs);
  }
}
