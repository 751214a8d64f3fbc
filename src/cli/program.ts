import { type Argument, Command } from "commander";
import { isPosternError } from "../core/errors.ts";
import { addAccountCommands, addLoginLinkCommands } from "./account-command.ts";
import { addAttachCommand } from "./attach-command.ts";
import { addBackupCommands } from "./backup-command.ts";
import { addCodingCommands } from "./coding-command.ts";
import { addCompletionCommand } from "./completion-command.ts";
import { addEventsCommand } from "./events-command.ts";
import { addFolderCommands } from "./folder-command.ts";
import { addGatewayCommands } from "./gateway-command.ts";
import { addManualCommand } from "./manual-command.ts";
import { addMcpCommand } from "./mcp-bridge.ts";
import { addMemoryCommands } from "./memory-command.ts";
import { type CommonOptions, describe, errorText, exitCodeOf, exitCodes, exitCodeWords } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";
import { addRulesCommands } from "./rules-command.ts";
import { addDoctorCommand, addServeCommand, addServiceCommands } from "./serve-command.ts";
import { addRescueCommands, addSessionCommands } from "./session-command.ts";
import { resolveSessionIds } from "./session-id.ts";
import { addClientCommands, addTokenCommands } from "./token-command.ts";
import { addUninstallCommand } from "./uninstall-command.ts";
import { addWebhookCommands } from "./webhook-command.ts";

const manual = `
To select a session, give its ID, the first characters of its ID (at least 4,
and unique), or \`last\` for the most recently updated session.

Exit codes:
${exitCodeWords.map(({ code, long }) => `  ${code}  ${long}`).join("\n")}
  \`postern attach\` exits with the agent's exit code when the agent exits.

Examples:
  $ postern coding setup --yes
  $ postern folder add ~/code --scopes files,coding
  $ postern serve
  $ postern coding ask "What does this repository do?"`;

/**
 * Runs one command.
 *
 * @param given the arguments after the program's name
 * @returns the exit code
 */
export async function runCli(
  given: readonly string[],
  context: CliContext & { readonly version: string },
): Promise<number> {
  const argv = normalized(given, context);
  const program = new Command("postern")
    .description("Self-hosted remote control for your coding agents.")
    .version(context.version, "-v, --version", "print the version")
    .exitOverride()
    .configureOutput({
      writeOut: context.stdout,
      writeErr: context.stderr,
      outputError: (text, write) => write(`${usageText(text, commandOf(program, argv))}\n`),
    })
    // Every command has options: `[options]` would only make the list wider.
    .configureHelp({
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map((argument) => humanReadable(argument))].join(" "),
    })
    .addHelpText("after", manual)
    .hook("preAction", (_program, command) => resolveSessionIds(command, context));
  let exitCode: number = exitCodes.ok;
  const onExit = (code: number): void => {
    exitCode = code;
  };
  program.commandsGroup("Commands for the gateway:");
  addServeCommand(program, context);
  addGatewayCommands(program, context, onExit);
  addDoctorCommand(program, context, onExit);
  addServiceCommands(program, context, onExit);
  addBackupCommands(program, context);
  addUninstallCommand(program, context);
  addVersionCommand(program, context);
  addCompletionCommand(program, context);
  addManualCommand(program, context);
  program.commandsGroup("Commands for sessions:");
  addCodingCommands(program, context);
  addAttachCommand(program, context, onExit);
  addRescueCommands(program, context);
  addMemoryCommands(program, context);
  addSessionCommands(program, context);
  addRulesCommands(program, context);
  program.commandsGroup("Commands for access:");
  addFolderCommands(program, context);
  addLoginLinkCommands(program, context);
  addTokenCommands(program, context);
  addAccountCommands(program, context);
  addClientCommands(program, context);
  program.commandsGroup("Commands for integrations:");
  addMcpCommand(program, context);
  addEventsCommand(program, context);
  addWebhookCommands(program, context);
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    const json = argv.includes("--json");
    const isUsage = isPosternError(error) && error.code === "usage" && !json;
    const text = isUsage ? usageText(error.message, commandOf(program, argv)) : errorText(error, { json });
    if (text !== null) context.stderr(`${text}\n`);
    return exitCodeOf(error);
  }
}

function addVersionCommand(program: Command, context: CliContext & { readonly version: string }): void {
  describe(program.command("version"), ["postern version", "postern version --json"])
    .description("print the version")
    .action(({ json }: CommonOptions) => {
      const { version } = context;
      context.stdout(json ? `${printableJson({ version })}\n` : `${version}\n`);
    });
}

/**
 * `help coding ask` becomes `coding ask --help`, because commander looks one word deep. `-V` and `logs`, the former names
 * of `-v` and `memory`, work for one more version.
 */
function normalized(given: readonly string[], { stderr }: Pick<CliContext, "stderr">): readonly string[] {
  if (given[0] === "-V") return ["--version"];
  const argv = given[0] === "help" && given.length > 2 ? [...given.slice(1), "--help"] : given;
  const at = argv[0] === "help" ? 1 : 0;
  if (argv[at] !== "logs") return argv;
  stderr("`postern logs` is now `postern memory`. The next version removes the old name.\n");
  return argv.with(at, "memory");
}

function humanReadable(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** The command given by the arguments, up to the first unknown word. */
function commandOf(program: Command, argv: readonly string[]): string {
  const names = [program.name()];
  let group = program;
  for (const word of argv) {
    const next = group.commands.find((command) => command.name() === word);
    if (next === undefined) break;
    names.push(word);
    group = next;
  }
  return names.join(" ");
}

/** The text of a usage error, with the help command to run. */
function usageText(text: string, command: string): string {
  const message = plainLine(text.replace(/^error: /, ""))
    .replace(/^command-argument value '(.*?)' is invalid for argument '(.*?)'\./, "'$1' is not a valid <$2>.")
    .replace(/^option '(.*?)' argument '(.*?)' is invalid\./, "'$2' is not valid for $1.")
    .replace(/^missing required argument '(.*?)'/, "missing <$1>")
    .replace(/\.$/, "");
  return `postern: usage: ${message}. Run \`${command} --help\` for usage.`;
}
