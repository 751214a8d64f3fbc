import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import type { AttachEnd } from "./attach/attach.ts";
import { type DetachKey, defaultDetachKey, detachKey } from "./attach/keys.ts";
import { type CommonOptions, describe, exitCodes } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { sessionIdHelp } from "./session-id.ts";

interface AttachCommandOptions extends CommonOptions {
  readonly observe?: true;
  readonly detachKey?: DetachKey;
}

/**
 * `postern attach`: shows a session's terminal.
 * @param setExitCode called with the agent's exit code
 */
export function addAttachCommand(program: Command, context: CliContext, setExitCode: (code: number) => void): void {
  describe(program.command("attach"), [
    "postern attach 0b0c…",
    "postern attach 0b0c… --observe",
    "postern attach 0b0c… --detach-key ctrl+]",
  ])
    .description(
      "attach this terminal to a session's terminal, until you detach or the agent exits; resumes an agent that is not running",
    )
    .argument("<sessionId>", sessionIdHelp)
    .option("--observe", "view only: no typing, resizing or resuming")
    .option(
      "--detach-key <key>",
      `key that detaches and keeps the agent running (default: ${defaultDetachKey})`,
      detachKey,
    )
    .addHelpText(
      "after",
      "\nExits with the agent's exit code when the agent exits, and with 0 when you\ndetach. While you are attached, the agent asks for permissions in its own\nterminal. It reconnects automatically when the gateway restarts.",
    )
    .action(async (sessionId: string, options: AttachCommandOptions) => {
      const terminal = context.terminal();
      if (terminal === null) {
        throw new PosternError(
          "not_a_terminal",
          "`postern attach` needs a terminal for input and output. To read a session without one, run `postern coding read`.",
        );
      }
      const { attach } = await import("./attach/attach.ts"); // slow to load
      const end = await attach(
        { terminal, clock: context.clock, socketPath: await context.ports.socketPath() },
        {
          sessionId,
          mode: options.observe ? "observe" : undefined,
          detach: options.detachKey ?? detachKey(defaultDetachKey),
        },
      );
      setExitCode(end.kind === "ended" ? end.exit.exitCode : exitCodes.ok);
      if (options.json) return context.stdout(`${printableJson(reportOf(sessionId, end))}\n`);
      return context.stderr(`${farewell(sessionId, end)}\n`);
    });
}

function farewell(sessionId: string, end: AttachEnd): string {
  const id = plainLine(sessionId);
  if (end.kind === "detached") return `Detached. The agent keeps running. Reattach with: postern attach ${id}`;
  const { exitCode, signal } = end.exit;
  return `The agent of ${id} ${signal === null ? `exited with code ${exitCode}` : `was stopped by ${plainLine(signal)}`}.`;
}

function reportOf(sessionId: string, end: AttachEnd) {
  if (end.kind === "detached") return { sessionId, ended: false, exitCode: null, signal: null };
  const { exitCode, signal } = end.exit;
  return { sessionId, ended: true, exitCode, signal };
}
