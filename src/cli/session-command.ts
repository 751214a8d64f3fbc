import type { Command } from "commander";
import { forgottenTracesSchema, recordingInfoSchema } from "../wire/terminal.ts";
import { createGatewayClient } from "./gateway-client.ts";
import { type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { requireSomebodyToAsk, saysYes } from "./says-yes.ts";

interface ForgetOptions extends CommonOptions {
  readonly yes?: true;
}

/** `postern session …`: what Postern itself keeps of a session. */
export function addSessionCommands(program: Command, context: CliContext): void {
  const group = program.command("session").description("what the gateway itself keeps of a session");
  describe(group.command("forget"), ["postern session forget 0b0c…", "postern session forget 0b0c… --yes --json"])
    .description(
      "remove for good what the gateway keeps of a session: recordings of its terminals, what its hooks told, what waits of it in chats, and what the search knows of it until now; what the memory recorded stays (`postern logs purge --session` deletes that), and so does the agent's transcript, and with it the session in the list, without a title",
    )
    .argument("<sessionId>", "its ID; its agent must have ended")
    .option("--yes", "do not ask")
    .action(async (sessionId: string, options: ForgetOptions) => {
      requireSomebodyToAsk(options, context);
      const gateway = createGatewayClient(await context.ports.socketPath());
      const session = `/api/coding/sessions/${encodeURIComponent(sessionId)}`;
      if (!options.yes) {
        const info = await gateway.send({ method: "GET", path: `${session}/recording/info` }, recordingInfoSchema);
        const sizeBytes = info.terminals.reduce((sum, terminal) => sum + terminal.sizeBytes, 0);
        context.stderr(
          `${recordingsText(info.terminals.length, sizeBytes)} of ${plainLine(sessionId)} would be gone for good, with what its hooks told and what waits of it in chats, and what was said until now would not be found any more, but for what the memory recorded (\`postern logs purge --session\` deletes that). Remove? [y/N] `,
        );
        if (!(await saysYes(context.stdin))) return context.stderr("Nothing was removed.\n");
      }
      const forgotten = await gateway.send({ method: "DELETE", path: `${session}/traces` }, forgottenTracesSchema);
      if (options.json) return context.stdout(`${printableJson(forgotten)}\n`);
      const { recordings, recordingBytes, sessionId: id, message } = forgotten;
      context.stdout(`Removed ${recordingsText(recordings, recordingBytes)} of ${plainLine(id)}.\n`);
      return context.stdout(`${plainLine(message)}\n`);
    });
}

function recordingsText(count: number, sizeBytes: number): string {
  const size =
    sizeBytes < 1_000_000 ? `${Math.ceil(sizeBytes / 1_000)} kB` : `${(sizeBytes / 1_000_000).toFixed(1)} MB`;
  return `${count} ${count === 1 ? "recording" : "recordings"} (${size})`;
}
