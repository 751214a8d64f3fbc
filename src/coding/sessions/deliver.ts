import { existsSync } from "node:fs";
import { rm, unlink, writeFile } from "node:fs/promises";
import type { Clock } from "../../core/clock.ts";
import { isErrno } from "../../core/errors.ts";
import type { TerminalHostClient } from "../../terminal-host/terminal-info.ts";
import type { AgentTemplate } from "../agents/template.ts";
import { composerText, submit, untilShown } from "./submit.ts";

/**
 * How a delivery ended.
 * - `typed`: the text is in the composer and Enter was pressed, or a dialog that opened in between kept Enter back.
 * - `held`: every Enter became a new line, and the text stays in the composer.
 * - `not_ready`: the terminal did not take input; `onTyping` was not called.
 * - `lost`: `onTyping` was called, but no editor came and the composer is gone, so nothing was typed. Not to be sent again.
 */
export type TypedPrompt = "typed" | "held" | "not_ready" | "lost";

const composerWaitMs = 15_000;
const composerPollMs = 50;

/**
 * Types a prompt into a live TUI, byte for byte: waits for the painted composer, puts the text in, and presses Enter. A paste into a
 * permission dialog would approve it, so `maySend` is asked before the text and again before Enter; a dialog also covers the composer.
 *
 * `onTyping` is called just before the first byte goes out; from then on the prompt must never be sent again.
 */
export async function typePrompt(
  deps: { readonly host: TerminalHostClient; readonly clock: Clock },
  terminal: { readonly terminalId: string; readonly template: AgentTemplate; readonly promptPath: string },
  prompt: { readonly text: string; readonly maySend: () => Promise<boolean>; readonly onTyping: () => Promise<void> },
): Promise<TypedPrompt> {
  const { host, clock } = deps;
  const { terminalId, template } = terminal;
  const { maySend } = prompt;
  if (!(await composerReady(deps, terminal, { maySend, timeoutMs: composerWaitMs }))) return "not_ready";
  const before = await composerText(deps, terminal);
  await prompt.onTyping();
  const { paste } = template;
  const text = prompt.text + paste.suffix;
  const editor = paste.isExact(prompt.text) ? "unused" : await throughEditor(deps, terminal, text);
  // Whatever took the composer's place, another program perhaps, would take the text as keystrokes.
  if (editor === "absent" && !((await maySend()) && (await composerOnScreen(host, terminal)))) return "lost";
  if (editor !== "done") await host.write(terminalId, paste.bracketed ? `\u001b[200~${text}\u001b[201~` : text);
  const typed = { text, before, maySend };
  await untilShown(deps, terminal, typed);
  await clock.sleep(paste.enterDelayMs);
  // A long text may fill the screen and hide the composer's frame: then its time has to do.
  if (editor === "done") await composerReady(deps, terminal, { maySend, timeoutMs: redrawMs });
  // A dialog that opened in between takes Enter for itself; the caller presses it once the dialog is gone.
  return submit(deps, terminal, typed);
}

// After its editor an agent draws itself again within 0.1 s; 110 KB took one of them 1.5 s.
const redrawMs = 2_000;

// An agent starts its editor within 0.2 s, on a loaded machine in seconds; one whose key was bound to something else never does.
const editorWaitMs = 10_000;

/**
 * Hands the text over as the result of the agent's own "open in editor". An editor that comes too late for the text finds the mark
 * instead, takes it away and changes nothing, so that what is pasted meanwhile reaches the agent and not the user's editor.
 *
 * @returns `unused` when the agent has no key for an editor, `absent` when none came for the text
 */
async function throughEditor(
  { host, clock }: { readonly host: TerminalHostClient; readonly clock: Clock },
  terminal: { readonly terminalId: string; readonly template: AgentTemplate; readonly promptPath: string },
  text: string,
): Promise<"done" | "unused" | "absent"> {
  const { editorKey } = terminal.template.paste;
  if (editorKey === null) return "unused";
  const { promptPath } = terminal;
  const markPath = `${promptPath}.pending`;
  try {
    await writeFile(markPath, "", { mode: 0o600 });
    await writeFile(promptPath, text, { mode: 0o600 });
    await host.write(terminal.terminalId, editorKey);
    const deadline = clock.now() + editorWaitMs;
    while (clock.now() < deadline) {
      await clock.sleep(composerPollMs);
      if (!existsSync(promptPath)) return "done";
    }
    return (await takeBack(promptPath)) ? "absent" : "done";
  } catch (error) {
    await Promise.all([rm(promptPath, { force: true }), rm(markPath, { force: true })]);
    throw error;
  }
}

/** @returns false when the editor was faster */
async function takeBack(path: string): Promise<boolean> {
  try {
    await unlink(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}

/** Whether the composer is on the screen now, as far as the template can tell. */
export async function composerOnScreen(
  host: TerminalHostClient,
  { terminalId, template }: { readonly terminalId: string; readonly template: AgentTemplate },
): Promise<boolean> {
  const { lines } = await host.look(terminalId);
  return template.composerPainted(lines);
}

async function composerReady(
  { host, clock }: { readonly host: TerminalHostClient; readonly clock: Clock },
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
