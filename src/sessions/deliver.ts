import { existsSync } from "node:fs";
import { rm, unlink, writeFile } from "node:fs/promises";
import { type AgentTemplate, type HandedPrompt, withLines } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { isErrno } from "../core/errors.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import { attachedPathLine } from "../transcripts/index.ts";
import type { OnDraft } from "../wire/coding.ts";
import type { TypedPrompt } from "./prompts.ts";
import { composerText, emptyComposer, submit, type TypingHost, untilShown, writeAsSeen } from "./submit.ts";

/** A prompt to be typed. */
export interface PromptToType extends Pick<HandedPrompt, "text">, Partial<Pick<HandedPrompt, "beside" | "shown">> {
  /** What to do with text that is already in the composer. */
  readonly onDraft?: OnDraft | undefined;
  /** Whether the text can be appended to this draft. Defaults to no. */
  readonly mayFollow?: ((draft: string) => Promise<boolean>) | undefined;
  readonly maySend: () => Promise<boolean>;
  /** Like `maySend`, but answered immediately from what is already known; called right before each write. */
  readonly mayWrite: () => boolean;
  /**
   * Called just before the first byte is written, with the draft that is sent with the prompt. From then on, the prompt must never be sent
   * again, unless the result is `not_typed`. If it returns false, nothing is typed.
   */
  readonly onTyping: (draft: string) => Promise<boolean>;
}

const composerWaitMs = 15_000;
const composerPollMs = 50;

/**
 * Types a prompt into a live TUI, byte for byte: waits for the painted composer, puts the text in, and presses Enter. A paste into a
 * permission dialog would approve it, so `maySend` and the screen are checked before the text and again before Enter, and each is
 * written only if the screen has not changed since.
 */
export async function typePrompt(
  deps: { readonly host: TypingHost; readonly clock: Clock },
  terminal: { readonly terminalId: string; readonly template: AgentTemplate; readonly promptPath: string },
  prompt: PromptToType,
): Promise<TypedPrompt> {
  const { clock } = deps;
  const { terminalId, template } = terminal;
  const { maySend, mayWrite, beside = [], shown = "" } = prompt;
  if (!(await composerReady(deps, terminal, { maySend, timeoutMs: composerWaitMs }))) return "not_ready";
  let draft = await composerText(deps, terminal);
  if (draft && prompt.onDraft === "clear" && (await maySend()) && (await emptyComposer(deps, terminal))) draft = "";
  if (draft && !(prompt.onDraft === "append" && (await prompt.mayFollow?.(draft)) === true)) return "draft";
  const ownDraft = draft;
  if (!(await prompt.onTyping(`${draft ?? ""}${shown}`))) return "given_up";
  /** Anything that covers the composer, such as another program, would receive the text as keystrokes. */
  const type = async (keys: string): Promise<boolean> => {
    if (!(await maySend())) return false;
    const written = await writeAsSeen(deps, terminalId, (screen) => {
      const isThere = template.composerPainted(screen.lines);
      const isAsBefore = draft === null || template.composer?.text(screen) === draft;
      return mayWrite() && isThere && isAsBefore ? keys : null;
    });
    return written !== null;
  };
  const { paste } = template;
  const pasted = (keys: string): string => (paste.bracketed ? `\u001b[200~${keys}\u001b[201~` : keys);
  /** The files must not stay in the composer alone, because the next prompt would be sent with them. */
  const notTyped = async (): Promise<TypedPrompt> =>
    beside.length === 0 || (!ownDraft && (await emptyComposer(deps, terminal))) ? "not_typed" : "held";
  const unplaced: string[] = [];
  for (const path of beside) {
    if (!(await type(pasted(path)))) return notTyped();
    const now = await untilOther(deps, terminal, draft);
    if (now === draft && draft !== null) unplaced.push(path);
    draft = now;
  }
  const text = withLines(prompt.text, unplaced.map(attachedPathLine)) + paste.suffix;
  // The editor would replace the draft.
  const editor = paste.isExact(prompt.text) || draft ? "unused" : await throughEditor(deps, terminal, { text, type });
  if (editor === "not_typed") return notTyped();
  if (editor !== "done" && !(await type(pasted(text)))) return editor === "absent" ? "lost" : notTyped();
  const before = template.composer?.mayHoldEnter === true ? draft : null;
  const typed = { text, before, draft: draft ?? "", maySend, mayWrite };
  await untilShown(deps, terminal, typed);
  await clock.sleep(paste.enterDelayMs);
  // A long text may fill the screen and hide the composer's frame. Then a fixed wait must be enough.
  if (editor === "done") await composerReady(deps, terminal, { maySend, timeoutMs: redrawMs });
  // A dialog that opened in between would receive Enter; the caller presses Enter once the dialog is gone.
  return submit(deps, terminal, typed);
}

// An agent reads a pasted image from disk and shows it within 0.1 s, or within a second for 20 MB on a loaded machine.
const filePlacedMs = 10_000;

/** The composer's text as soon as it differs from `before`; `before` if nothing changed in time, and null if it cannot be read. */
async function untilOther(
  deps: { readonly host: TypingHost; readonly clock: Clock },
  terminal: { readonly terminalId: string; readonly template: AgentTemplate; readonly promptPath: string },
  before: string | null,
): Promise<string | null> {
  const { clock } = deps;
  if (before === null) {
    await clock.sleep(terminal.template.paste.enterDelayMs);
    return null;
  }
  const deadline = clock.now() + filePlacedMs;
  for (;;) {
    const now = await composerText(deps, terminal);
    if ((now !== null && now !== before) || clock.now() >= deadline) return now ?? before;
    await clock.sleep(composerPollMs);
  }
}

// After its editor exits, an agent repaints within 0.1 s; with 110 KB of text, one agent took 1.5 s.
const redrawMs = 2_000;

// An agent starts its editor within 0.2 s, or in seconds on a loaded machine. If its key is bound to something else, it never does.
const editorWaitMs = 10_000;

/**
 * Hands the text over as the result of the agent's own "open in editor". An editor that starts too late finds a mark instead of the text,
 * removes it and changes nothing, so that a paste in the meantime reaches the agent and not the user's editor.
 *
 * @returns `unused` if the agent has no key for an editor, `absent` if no editor fetched the text, `not_typed` if its key was not pressed
 */
async function throughEditor(
  { clock }: { readonly clock: Clock },
  terminal: { readonly template: AgentTemplate; readonly promptPath: string },
  { text, type }: { readonly text: string; readonly type: (keys: string) => Promise<boolean> },
): Promise<"done" | "unused" | "absent" | "not_typed"> {
  const { editorKey } = terminal.template.paste;
  if (editorKey === null) return "unused";
  const { promptPath } = terminal;
  const markPath = `${promptPath}.pending`;
  const remove = () => Promise.all([rm(promptPath, { force: true }), rm(markPath, { force: true })]);
  try {
    await writeFile(markPath, "", { mode: 0o600 });
    await writeFile(promptPath, text, { mode: 0o600 });
    if (!(await type(editorKey))) {
      await remove();
      return "not_typed";
    }
    const deadline = clock.now() + editorWaitMs;
    while (clock.now() < deadline) {
      await clock.sleep(composerPollMs);
      if (!existsSync(promptPath)) return "done";
    }
    return (await takeBack(promptPath)) ? "absent" : "done";
  } catch (error) {
    await remove();
    throw error;
  }
}

/** @returns false if the editor has already read the text */
async function takeBack(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}

/** Whether the composer is on the screen now, according to the template. */
export async function composerOnScreen(
  host: Pick<TerminalHostClient, "look">,
  { terminalId, template }: { readonly terminalId: string; readonly template: AgentTemplate },
): Promise<boolean> {
  const { lines } = await host.look(terminalId);
  return template.composerPainted(lines);
}

async function composerReady(
  { host, clock }: { readonly host: TypingHost; readonly clock: Clock },
  terminal: { readonly terminalId: string; readonly template: AgentTemplate },
  { maySend, timeoutMs }: { readonly maySend: () => Promise<boolean>; readonly timeoutMs: number },
): Promise<boolean> {
  const deadline = clock.now() + timeoutMs;
  while (clock.now() < deadline) {
    if (!(await maySend())) return false;
    if (await composerOnScreen(host, terminal)) return true;
    await clock.sleep(composerPollMs);
  }
  return false;
}
