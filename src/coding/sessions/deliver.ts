import { existsSync } from "node:fs";
import { unlink, writeFile } from "node:fs/promises";
import type { Clock } from "../../core/clock.ts";
import { isErrno } from "../../core/errors.ts";
import type { TerminalHostClient } from "../../terminal-host/terminal-info.ts";
import type { AgentTemplate } from "../agents/template.ts";

/** How a paste ended: Enter was pressed, or the terminal was not ready and nothing was typed. */
export type TypedPrompt = "typed" | "not_ready";

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
  if (!(await composerReady(deps, terminal, prompt.maySend))) return "not_ready";
  await prompt.onTyping();
  const { paste } = template;
  const text = prompt.text + paste.suffix;
  const exact = paste.isExact(prompt.text) || !(await throughEditor(deps, terminal, text));
  if (exact) await host.write(terminalId, paste.bracketed ? `\u001b[200~${text}\u001b[201~` : text);
  await clock.sleep(paste.enterDelayMs);
  if (!exact) await composerReady(deps, terminal, prompt.maySend);
  // A dialog that opened in between takes Enter for itself; the caller presses it once the dialog is gone.
  if (await prompt.maySend()) await host.write(terminalId, "\r");
  return "typed";
}

// An agent starts its editor within 0.2 s; one whose key was bound to something else never does.
const editorWaitMs = 3_000;

/** Hands the text over as the result of the agent's own "open in editor". @returns false when no editor came for it */
async function throughEditor(
  { host, clock }: { readonly host: TerminalHostClient; readonly clock: Clock },
  terminal: { readonly terminalId: string; readonly template: AgentTemplate; readonly promptPath: string },
  text: string,
): Promise<boolean> {
  const { editorKey } = terminal.template.paste;
  if (editorKey === null) return false;
  await writeFile(terminal.promptPath, text, { mode: 0o600 });
  await host.write(terminal.terminalId, editorKey);
  const deadline = clock.now() + editorWaitMs;
  while (clock.now() < deadline) {
    await clock.sleep(composerPollMs);
    if (!existsSync(terminal.promptPath)) return true;
  }
  return !(await takeBack(terminal.promptPath));
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
  const snapshot = await host.snapshot(terminalId);
  return template.composerPainted(snapshot.lines);
}

async function composerReady(
  { host, clock }: { readonly host: TerminalHostClient; readonly clock: Clock },
  terminal: { readonly terminalId: string; readonly template: AgentTemplate },
  maySend: () => Promise<boolean>,
): Promise<boolean> {
  const deadline = clock.now() + composerWaitMs;
  while (clock.now() < deadline) {
    if (!(await maySend())) return false;
    if (await composerOnScreen(host, terminal)) return true;
    await clock.sleep(composerPollMs);
  }
  return false;
}
