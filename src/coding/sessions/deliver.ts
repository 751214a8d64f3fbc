import type { Clock } from "../../core/clock.ts";
import type { TerminalHostClient } from "../../terminal-host/terminal-info.ts";
import type { AgentTemplate } from "../agents/template.ts";

/** How a paste ended: Enter was pressed, or the terminal was not ready and nothing was typed. */
export type TypedPrompt = "typed" | "not_ready";

const composerWaitMs = 15_000;
const composerPollMs = 50;

/**
 * Types a prompt into a live TUI: waits for the painted composer, pastes, and presses Enter. A paste into a permission dialog would
 * approve it, so `maySend` is asked before the paste and again before Enter; a dialog also covers the composer.
 *
 * `onTyping` is called just before the first byte goes out; from then on the prompt must never be sent again.
 */
export async function typePrompt(
  deps: { readonly host: TerminalHostClient; readonly clock: Clock },
  terminal: { readonly terminalId: string; readonly template: AgentTemplate },
  prompt: { readonly text: string; readonly maySend: () => boolean; readonly onTyping: () => Promise<void> },
): Promise<TypedPrompt> {
  const { host, clock } = deps;
  const { terminalId, template } = terminal;
  if (!(await composerReady(deps, terminal, prompt.maySend))) return "not_ready";
  await prompt.onTyping();
  const pasted = template.paste.bracketed ? `\u001b[200~${prompt.text}\u001b[201~` : prompt.text;
  await host.write(terminalId, pasted);
  await clock.sleep(template.paste.enterDelayMs);
  // A dialog that opened in between takes Enter for itself; the caller presses it once the dialog is gone.
  if (prompt.maySend()) await host.write(terminalId, "\r");
  return "typed";
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
  maySend: () => boolean,
): Promise<boolean> {
  const deadline = clock.now() + composerWaitMs;
  while (clock.now() < deadline) {
    if (!maySend()) return false;
    if (await composerOnScreen(host, terminal)) return maySend();
    await clock.sleep(composerPollMs);
  }
  return false;
}
