import type { Argument, Command, Option } from "commander";
import { choicesOf } from "./options.ts";

/** A value of an option or an argument. */
export type Value =
  | { readonly kind: "choices"; readonly choices: readonly string[] }
  | { readonly kind: "sessions" | "files" | "text" };

/** One command of the tree, for shell completion and the manual page. */
export interface CommandNode {
  /** `/coding/ask`; empty for `postern` itself. */
  readonly path: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly {
    /** `--json`, and perhaps `-v`. */
    readonly flags: readonly string[];
    readonly description: string;
    /** Null for a switch. */
    readonly value: Value | null;
  }[];
  /** The value of its first argument; null if it takes none. */
  readonly argument: Value | null;
}

/** All commands of the tree, `postern` itself first. */
export function commandNodes(program: Command, path = ""): readonly CommandNode[] {
  const visible = program.createHelp().visibleCommands(program);
  const inner = visible.filter((command) => command.name() !== "help");
  const [argument] = program.registeredArguments;
  const own: CommandNode = {
    path,
    commands: inner.map((command) => ({ name: command.name(), description: command.description() })),
    options: program
      .createHelp()
      .visibleOptions(program)
      .map((option) => ({
        flags: [option.long, option.short].filter((flag) => flag !== undefined && flag !== null),
        description: option.description,
        value: option.required || option.optional ? valueOf(option) : null,
      })),
    argument: argument === undefined ? null : argumentValue(argument),
  };
  return [own, ...inner.flatMap((command) => commandNodes(command, `${path}/${command.name()}`))];
}

const fileWords = new Set(["path", "file", "dir", "folder"]);

function valueOf({ flags, long, parseArg, argChoices }: Option): Value {
  const word = /<(.+?)>/.exec(flags)?.[1] ?? "";
  if (long === "--session") return { kind: "sessions" };
  return valueNamed(word, argChoices ?? choicesOf(parseArg));
}

function argumentValue(argument: Argument): Value {
  const name = argument.name();
  if (name === "sessionId" || name === "session") return { kind: "sessions" };
  return valueNamed(name, argument.argChoices ?? choicesOf(argument.parseArg));
}

function valueNamed(word: string, choices: readonly string[]): Value {
  if (choices.length > 0) return { kind: "choices", choices };
  return { kind: fileWords.has(word) ? "files" : "text" };
}
