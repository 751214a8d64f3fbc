import type { Command } from "commander";
import { z } from "zod";
import { PosternError } from "../core/errors.ts";
import { createGatewayClient } from "./gateway-client.ts";
import { bridgeMcp } from "./mcp-bridge.ts";
import { plainLine } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

const example = "postern token create --name mcp --scopes coding:read,coding:write";

/** `postern mcp`: the running gateway's tools for an MCP client that starts its servers itself. */
export function addMcpCommand(program: Command, context: CliContext): void {
  program
    .command("mcp")
    .description("serve the running gateway's tools to an MCP client over standard input and output")
    .addHelpText(
      "after",
      `
It acts with the scopes of the token in POSTERN_TOKEN.

Examples:
  $ claude mcp add postern --env POSTERN_TOKEN=pst_… -- postern mcp
  $ codex mcp add postern --env POSTERN_TOKEN=pst_… -- postern mcp`,
    )
    .action(async () => {
      const token = await context.ports.token();
      if (token === null) {
        throw new PosternError("unauthenticated", `POSTERN_TOKEN is not set. Make a token with \`${example}\`.`);
      }
      const socketPath = await context.ports.socketPath();
      await createGatewayClient(socketPath).send({ method: "GET", path: "/healthz" }, z.unknown());
      const { stdin: input, stderr, clock } = context;
      const write = async (line: string): Promise<void> => {
        context.stdout(line);
        await context.stdoutTaken();
      };
      const warn = (text: string): void => stderr(`postern mcp: ${plainLine(text)}\n`);
      await bridgeMcp({ socketPath, token, clock, input, write, warn });
    });
}
