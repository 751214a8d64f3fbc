import { Command } from "commander";
import { examplesOf, exitCodeWords } from "./options.ts";
import { printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

/** `postern manual`: the manual page, which the build writes into the package. Hidden: people type `man postern`. */
export function addManualCommand(program: Command, context: CliContext & { readonly version: string }): void {
  const command = new Command("manual")
    .description("print the manual page")
    .option("--json", "print JSON")
    .action(({ json }: { readonly json?: true }) => {
      const page = manualPage(program, context.version);
      context.stdout(json ? `${printableJson({ page })}\n` : page);
    });
  program.addCommand(command, { hidden: true });
}

/** In the man macros of roff, from the commands of `program`. @see man(7) */
export function manualPage(program: Command, version: string): string {
  const lines = [
    `.TH POSTERN 1 "" "postern ${escaped(version)}" "Postern"`,
    ".SH NAME",
    `postern \\- ${escaped(program.description()).replace(/\.$/, "")}`,
    ".SH SYNOPSIS",
    ".B postern",
    "\\fIcommand\\fR [\\fIoptions\\fR]",
    ".SH OPTIONS",
    ...options(program),
    ".SH COMMANDS",
    "All commands take \\fB\\-\\-json\\fR and \\fB\\-\\-help\\fR.",
    ...visibleIn(program).flatMap((command) => section(command, ["postern"])),
    ".SH EXIT STATUS",
    ...exitCodeWords.flatMap(({ code, long }) => [".TP", `.B ${code}`, line(long)]),
    ".SH ENVIRONMENT",
    ".TP",
    ".B POSTERN_HOME",
    line("The state folder (default: ~/.postern). All settings are in docs/reference/settings.md of the repository."),
    ".SH FILES",
    ".TP",
    `.I ${escaped("~/.postern")}`,
    "Accounts, tokens, memory, recordings and settings (config.json).",
  ];
  return `${lines.join("\n")}\n`;
}

function visibleIn(command: Command): readonly Command[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== "help");
}

/** The section of a command, or the sections of a group's commands. */
function section(command: Command, above: readonly string[]): readonly string[] {
  const words = [...above, command.name()];
  const inner = visibleIn(command);
  if (inner.length > 0) return inner.flatMap((each) => section(each, words));
  const help = command.createHelp();
  const usage = command.registeredArguments.map((argument) => help.argumentTerm(argument));
  const named = command.registeredArguments.map((argument, index) => {
    const name = argument.variadic ? `${usage[index] ?? ""}...` : (usage[index] ?? "");
    return `\\fI${escaped(argument.required ? name : `[${name}]`)}\\fR`;
  });
  const examples = examplesOf(command);
  return [
    `.SS ${[escaped(words.join(" ")), ...named].join(" ")}`,
    line(command.description()),
    ...command.registeredArguments.flatMap((argument) => [
      ".TP",
      `.I ${escaped(argument.name())}`,
      line(help.argumentDescription(argument)),
    ]),
    ...options(command),
    ...(examples.length === 0 ? [] : [".PP", "Examples:", ".PP", ".nf", ".RS", ...examples.map(line), ".RE", ".fi"]),
  ];
}

/** Leaves out options that every command has. */
function options(command: Command): readonly string[] {
  const help = command.createHelp();
  return help
    .visibleOptions(command)
    .filter(({ long }) => long !== "--help" && long !== "--json")
    .flatMap((option) => [".TP", `.B ${escaped(help.optionTerm(option))}`, line(help.optionDescription(option))]);
}

/** A whole line. A line must not start like a roff request. */
function line(text: string): string {
  return escaped(text).replace(/^\./, "\\&.");
}

/** Characters that roff would read or typeset, so that commands can be copied. */
const escapes: Readonly<Record<string, string>> = {
  "\\": "\\e",
  "-": "\\-",
  "'": "\\(aq",
  "`": "\\(ga",
  "~": "\\(ti",
  "^": "\\(ha",
};

function escaped(text: string): string {
  return text.replaceAll(/[\\'`~^-]/g, (character) => escapes[character] ?? character).replaceAll(/\s+/g, " ");
}
