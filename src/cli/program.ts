import { type Argument, Command } from "commander";
import { addAccountCommands } from "./account-command.ts";
import { addAttachCommand } from "./attach-command.ts";
import { addBackupCommands } from "./backup-command.ts";
import { addClientCommands } from "./client-command.ts";
import { addCodingCommands } from "./coding-command.ts";
import { addEventsCommand } from "./events-command.ts";
import { errorText, exitCodeOf, exitCodes, exitCodeWords } from "./exit-code.ts";
import { addFolderCommands } from "./folder-command.ts";
import { addLoginLinkCommands } from "./login-link-command.ts";
import { addLogsCommands } from "./logs-command.ts";
import { addMcpCommand } from "./mcp-bridge.ts";
import { plainLine } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { addServeCommand } from "./serve-command.ts";
import { addDoctorCommand, addServiceCommands } from "./service-command.ts";
import { addRescueCommands, addSessionCommands } from "./session-command.ts";
import { addTokenCommands } from "./token-command.ts";
import { addWebhookCommands } from "./webhook-command.ts";

const manual = `
Exit codes:
${exitCodeWords.map(({ code, long }) => `  ${code}  ${long}`).join("\n")}
  \`postern attach\` ends with the agent's own exit code when the agent ends.

Examples:
  $ postern coding setup --yes
  $ postern folder add ~/code --scopes files,coding
  $ postern serve
  $ postern coding ask "What does this repository do?"`;

/**
 * Runs one command.
 *
 * @param argv what follows the program's name
 * @returns the exit code
 */
export async function runCli(
  argv: readonly string[],
  context: CliContext & { readonly version: string },
): Promise<number> {
  const program = new Command("postern")
    .description("Self-hosted remote control for your coding agents.")
    .version(context.version)
    .exitOverride()
    .configureOutput({
      writeOut: context.stdout,
      writeErr: context.stderr,
      outputError: (text, write) => write(`${usageLine(text)}\n`),
    })
    // With its `[options]`, which every command has, the names alone fill half of a line.
    .configureHelp({
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map((argument) => humanReadable(argument))].join(" "),
    })
    .addHelpText("after", manual);
  let exitCode: number = exitCodes.ok;
  const onExit = (code: number): void => {
    exitCode = code;
  };
  program.commandsGroup("Commands for the gateway:");
  addServeCommand(program, context);
  addDoctorCommand(program, context, onExit);
  addServiceCommands(program, context, onExit);
  addBackupCommands(program, context);
  program.commandsGroup("Commands for sessions:");
  addCodingCommands(program, context);
  addAttachCommand(program, context, onExit);
  addRescueCommands(program, context);
  addLogsCommands(program, context);
  addSessionCommands(program, context);
  program.commandsGroup("Commands for who may do what, and where:");
  addFolderCommands(program, context);
  addLoginLinkCommands(program, context);
  addTokenCommands(program, context);
  addAccountCommands(program, context);
  addClientCommands(program, context);
  program.commandsGroup("Commands for other programs:");
  addMcpCommand(program, context);
  addEventsCommand(program, context);
  addWebhookCommands(program, context);
  try {
    await program.parseAsync(helpAtItsEnd(argv), { from: "user" });
    return exitCode;
  } catch (error) {
    const text = errorText(error, { json: argv.includes("--json") });
    if (text !== null) context.stderr(`${text}\n`);
    return exitCodeOf(error);
  }
}

/** `help coding ask` as `coding ask --help`: commander looks one word deep. */
function helpAtItsEnd(argv: readonly string[]): readonly string[] {
  return argv[0] === "help" && argv.length > 2 ? [...argv.slice(1), "--help"] : argv;
}

function humanReadable(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function usageLine(text: string): string {
  return plainLine(
    `postern: usage: ${text
      .replace(/^error: /, "")
      .trimEnd()
      .replace(/\.$/, "")}; see --help`,
  );
}
