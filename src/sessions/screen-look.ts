import type { AgentTemplate, Environment } from "../agents/index.ts";
import type { Log } from "../core/log.ts";
import { hasRunningThread } from "../platform/process-table.ts";
import { descendantsOf } from "../platform/processes.ts";
import type { TerminalHostClient } from "../terminal-host/terminal-info.ts";
import type { ScreenLook } from "./screen-view.ts";

const maxScreenCharacters = 8_000;

/** Reads a terminal's screen as a person would. */
export async function lookAtScreen(
  { host }: { readonly host: Pick<TerminalHostClient, "look"> },
  terminal: {
    readonly terminalId: string;
    readonly template: Pick<AgentTemplate, "composerPainted" | "isStarting" | "readDialog">;
  },
): Promise<ScreenLook> {
  const { template, terminalId } = terminal;
  const { lines, title } = await host.look(terminalId);
  const text = screenText(lines);
  return {
    composer: template.composerPainted(lines),
    text,
    title,
    // The last line shows that the agent is busy: "Resuming session…".
    starting: /(?:…|\.\.\.)$/.test(text) || template.isStarting?.(lines) === true,
    dialog: template.readDialog?.(lines) ?? null,
  };
}

/** Whether the process uses the CPU, in any thread. Agents sleep while their hooks compute. @param children whether child processes count */
export function isComputing(pid: number, children: boolean): boolean {
  return hasRunningThread(pid) || (children && descendantsOf(pid).some((child) => hasRunningThread(child.pid)));
}

/** Ends an agent that hung during startup before it painted anything, as a failed start. @param certain whether no start takes this long */
export async function endIfHung(
  { host, log }: { readonly host: Pick<TerminalHostClient, "end">; readonly log: Log },
  agent: {
    readonly template: Pick<AgentTemplate, "name" | "hasHung">;
    readonly terminalId: string;
    readonly pid: number;
    readonly env: Environment;
  },
  certain: boolean,
): Promise<void> {
  const { template, terminalId, pid } = agent;
  if (template.hasHung === undefined || (!certain && !template.hasHung(agent))) return;
  log.warn({ agent: template.name, pid }, "ending an agent that hung during startup");
  await host.end(terminalId);
}

// Control and format characters; a terminal drops most of them, and the others could reorder the text.
const invisible = /[\p{Cc}\p{Cf}]/gu;

function screenText(lines: readonly string[]): string {
  const text = lines.map((line) => line.replaceAll(invisible, "").trimEnd()).join("\n");
  return text
    .replaceAll(/\n{3,}/g, "\n\n")
    .replace(/^\n+/, "")
    .trimEnd()
    .slice(0, maxScreenCharacters)
    .toWellFormed();
}
