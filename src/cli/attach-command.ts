import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import type { AttachEnd } from "./attach/attach.ts";
import { type DetachKey, defaultDetachKey, detachKey } from "./attach/keys.ts";
import { exitCodes } from "./exit-code.ts";
import { type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface AttachCommandOptions extends CommonOptions {
  readonly observe?: true;
  readonly detachKey?: DetachKey;
}

/**
 * `postern attach`: a session's live terminal in the user's own.
 * @param setExitCode the agent's own exit code becomes the command's
 */
export function addAttachCommand(program: Command, context: CliContext, setExitCode: (code: number) => void): void {
  describe(program.command("attach"), [
    "postern attach 0b0c…",
    "postern attach 0b0c… --observe",
    "postern attach 0b0c… --detach-key ctrl+]",
  ])
    .description(
      "show a session's terminal in this one, until you detach or the agent ends; an agent that is not running goes on where it was",
    )
    .argument("<sessionId>", "its ID, or one that it had before")
    .option("--observe", "only look: nothing is typed, resized or resumed")
    .option("--detach-key <key>", `leaves, and lets the agent go on (default: ${defaultDetachKey})`, detachKey)
    .addHelpText(
      "after",
      "\nEnds with the agent's exit code when it ends, and with 0 when you detach. While\nyou are here, the agent asks for permissions in its own terminal. When the\ngateway restarts, this goes on by itself.",
    )
    .action(async (sessionId: string, options: AttachCommandOptions) => {
      const terminal = context.terminal();
      if (terminal === null) {
        throw new PosternError(
          "not_a_terminal",
          "`postern attach` needs a terminal for its input and output. To read a session elsewhere: postern coding read.",
        );
      }
      const { attach } = await import("./attach/attach.ts"); // loads a terminal model: other commands do not wait for it
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
  if (end.kind === "detached") return `Detached. The agent goes on; come back with: postern attach ${id}`;
  const { exitCode, signal } = end.exit;
  return `The agent of ${id} ended ${signal === null ? `with exit code ${exitCode}` : `by ${plainLine(signal)}`}.`;
}

function reportOf(sessionId: string, end: AttachEnd) {
  if (end.kind === "detached") return { sessionId, ended: false, exitCode: null, signal: null };
  const { exitCode, signal } = end.exit;
  return { sessionId, ended: true, exitCode, signal };
}
