import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import { forgottenTracesSchema, recordingInfoSchema } from "../wire/terminal.ts";
import { createGatewayClient } from "./gateway-client.ts";
import { type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface ForgetOptions extends CommonOptions {
  readonly yes?: true;
}

/** `postern session …`: what Postern itself keeps of a session. */
export function addSessionCommands(program: Command, context: CliContext): void {
  const group = program.command("session").description("what the gateway itself keeps of a session");
  describe(group.command("forget"), ["postern session forget 0b0c…", "postern session forget 0b0c… --yes --json"])
    .description(
      "remove the recordings of a session's terminals and what its hooks told; the agent's transcript stays, and with it the session",
    )
    .argument("<sessionId>", "its ID; its agent must have ended")
    .option("--yes", "do not ask")
    .action(async (sessionId: string, options: ForgetOptions) => {
      if (!options.yes && (options.json || !context.interactive)) {
        throw new PosternError("usage", "There is nobody to ask whether it shall be removed for good: add --yes.");
      }
      const gateway = createGatewayClient(await context.ports.socketPath());
      const session = `/api/coding/sessions/${encodeURIComponent(sessionId)}`;
      if (!options.yes) {
        const info = await gateway.send({ method: "GET", path: `${session}/recording/info` }, recordingInfoSchema);
        const sizeBytes = info.terminals.reduce((sum, terminal) => sum + terminal.sizeBytes, 0);
        context.stderr(
          `${recordingsText(info.terminals.length, sizeBytes)} of ${plainLine(sessionId)} would be gone for good, with what its hooks told. Remove? [y/N] `,
        );
        if (!(await saysYes(context.stdin))) return context.stderr("Nothing was removed.\n");
      }
      const forgotten = await gateway.send({ method: "DELETE", path: `${session}/traces` }, forgottenTracesSchema);
      if (options.json) return context.stdout(`${printableJson(forgotten)}\n`);
      const { recordings, recordingBytes, sessionId: id } = forgotten;
      return context.stdout(`Removed ${recordingsText(recordings, recordingBytes)} of ${plainLine(id)}.\n`);
    });
}

function recordingsText(count: number, sizeBytes: number): string {
  const size =
    sizeBytes < 1_000_000 ? `${Math.ceil(sizeBytes / 1_000)} kB` : `${(sizeBytes / 1_000_000).toFixed(1)} MB`;
  return `${count} ${count === 1 ? "recording" : "recordings"} (${size})`;
}

// Nobody types a longer answer.
const maxAnswerLength = 1_000;

async function saysYes(stdin: AsyncIterable<Uint8Array>): Promise<boolean> {
  let text = "";
  for await (const chunk of stdin) {
    text += Buffer.from(chunk).toString("utf8");
    if (text.includes("\n") || text.length > maxAnswerLength) break;
  }
  return /^\s*y(es)?\s*$/i.test(text.split("\n", 1)[0] ?? "");
}
