import type { Clock } from "../core/clock.ts";
import type { TerminalHostClient, TerminalLook } from "../terminal-host/terminal-info.ts";

// Agents that work repaint every 30 to 150 ms (measured), in several pieces; a look and its write take 1 to 3 ms.
const againMs = 10;
const unchangedMs = 3_000;

/**
 * Writes what `keysFor` gives for the screen, and looks again when the program wrote anything between the look and the write: what opens
 * there, such as a dialog, is judged before a key reaches it. A dialog that opens after the terminal took the keys cannot be known.
 *
 * @param keysFor null when nothing may be written on this screen; checks what else must hold, too
 * @returns the screen on which it was written; null when it was not, also because the screen did not stand still
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
