import type { Command } from "commander";
import { interruptOutputSchema } from "../wire/coding.ts";
import { createGatewayClient } from "./gateway-client.ts";
import { type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

/** `postern coding interrupt`: stops the running turn and keeps the session. */
export function addInterruptCommand(group: Command, context: CliContext): void {
  describe(group.command("interrupt"), ["postern coding interrupt 0b0c…"])
    .description(
      "stop the turn that a session's agent is running; a permission it waits for is denied, waiting prompts go next",
    )
    .argument("<sessionId>", "its ID")
    .action(async (sessionId: string, { json }: CommonOptions) => {
      const gateway = createGatewayClient(await context.ports.socketPath());
      const output = await gateway.call("coding_interrupt", { input: { sessionId }, output: interruptOutputSchema });
      const id = plainLine(output.sessionId);
      if (json) return context.stdout(`${printableJson(output)}\n`);
      return context.stdout(output.interrupted ? `Stopped the turn of ${id}.\n` : `No turn of ${id} was running.\n`);
    });
}
