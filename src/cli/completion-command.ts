import { Argument, type Command } from "commander";
import { type CommandNode, commandNodes, type Value } from "./command-tree.ts";
import { type CommonOptions, describe } from "./options.ts";
import { printableJson } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

const scripts = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** `postern completion`: a script for a shell, from the commands of `program`. */
export function addCompletionCommand(program: Command, context: CliContext): void {
  const group = describe(program.command("completion"), [
    'eval "$(postern completion bash)"',
    'eval "$(postern completion zsh)"',
    "postern completion fish | source",
    "postern completion bash > ~/.local/share/bash-completion/completions/postern",
    "postern completion fish > ~/.config/fish/completions/postern.fish",
  ]);
  group
    .description("print a script that completes commands, options and session IDs in a shell")
    .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(Object.keys(scripts)))
    .action((shell: keyof typeof scripts, { json }: CommonOptions) => {
      const script = scripts[shell](commandNodes(program));
      context.stdout(json ? `${printableJson({ shell, script })}\n` : script);
    });
}

/** Shells ask for session IDs while a person waits; the gateway's answer takes a few milliseconds, a start of Node 50. */
const sessionsWithinMs = 250;
const listSessions = `command postern completion sessions ${sessionsWithinMs} 2>/dev/null`;

/** In single quotes, for any of the shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** Which words are commands: `case` patterns of `<path so far>/<word>`. */
function paths(commands: readonly CommandNode[]): string {
  return commands
    .filter(({ path }) => path !== "")
    .map(({ path }) => path)
    .join("|");
}

/** `[pattern, value]` of each option that takes a value: the pattern is `<path> <flag>`. */
function optionValues(commands: readonly CommandNode[]): readonly (readonly [string, Value])[] {
  return commands.flatMap(({ path, options }) =>
    options.flatMap(({ flags, value }) =>
      value === null ? [] : flags.map((flag) => [`${path} ${flag}`, value] as const),
    ),
  );
}

/** `case` branches; values that are completed in the same way share one. */
function branches(
  values: readonly (readonly [pattern: string, value: Value])[],
  act: (value: Value) => string,
): readonly string[] {
  const patterns = new Map<string, string[]>();
  for (const [pattern, value] of values) {
    const done = act(value);
    patterns.set(done, [...(patterns.get(done) ?? []), `"${pattern}"`]);
  }
  return Array.from(patterns, ([done, all]) => `    ${all.join("|")}) ${done} ;;`);
}

const head = (shell: string): string =>
  `# Completion of postern for ${shell}, made by \`postern completion ${shell}\`. Make it again after an upgrade.\n`;

/** For bash 3.2 and newer. */
function bashCompletion(commands: readonly CommandNode[]): string {
  const act = (value: Value): string => {
    if (value.kind === "choices") return `words="${value.choices.join(" ")}"`;
    if (value.kind === "sessions") return `words=$(${listSessions} | cut -f 1)`;
    return `return`; // the shell completes files
  };
  const listed = commands.map(({ path, commands: inner, argument }) => {
    const names = inner.map(({ name }) => name).join(" ");
    const done = argument === null || names !== "" ? `words="${names}"` : act(argument);
    return `      "${path}") ${done} ;;`;
  });
  const flags = commands.map(
    ({ path, options }) => `      "${path}") words="${options.flatMap((option) => option.flags).join(" ")}" ;;`,
  );
  return `${head("bash")}_postern() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" at="" words="" word i
  COMPREPLY=()
  if [ "$cur" = "=" ]; then cur=""; elif [ "$prev" = "=" ]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at/\${COMP_WORDS[i]}" in
      ${paths(commands)}) at="$at/\${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at $prev" in
${branches(optionValues(commands), act).join("\n")}
    *) if [ "\${cur:0:1}" = "-" ]; then
      case "$at" in
${flags.join("\n")}
      esac
    else
      case "$at" in
${listed.join("\n")}
      esac
    fi ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _postern postern
`;
}

/** For a file in `fpath`, and for `eval`. */
function zshCompletion(commands: readonly CommandNode[]): string {
  const act = (value: Value): string => {
    if (value.kind === "choices") return `found=(${value.choices.map(quoted).join(" ")})`;
    if (value.kind === "sessions") return `_postern_sessions; return`;
    return value.kind === "files" ? `_files; return` : `return 1`;
  };
  const item = (name: string, description: string): string =>
    quoted(`${name.replaceAll(":", "\\:")}:${description.replaceAll(":", "\\:")}`);
  const listed = commands.map(({ path, commands: inner, argument }) => {
    const items = inner.map(({ name, description }) => item(name, description)).join(" ");
    const done = argument === null || items !== "" ? `found=(${items})` : act(argument);
    return `      "${path}") ${done} ;;`;
  });
  const flags = commands.map(({ path, options }) => {
    const items = options.flatMap(({ flags: names, description }) => names.map((name) => item(name, description)));
    return `      "${path}") found=(${items.join(" ")}) ;;`;
  });
  return `#compdef postern
${head("zsh")}_postern_sessions() {
  local -a found
  local id title
  while IFS=$'\\t' read -r id title; do found+=("$id:\${title//:/\\\\:}"); done < <(${listSessions})
  _describe -V session found
}
_postern() {
  local at="" word previous="\${words[CURRENT-1]}"
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at/$word" in
      ${paths(commands)}) at="$at/$word" ;;
    esac
  done
  case "$at $previous" in
${branches(optionValues(commands), act).join("\n")}
    *) if [[ "\${words[CURRENT]}" == -* ]]; then
      case "$at" in
${flags.join("\n")}
      esac
    else
      case "$at" in
${listed.join("\n")}
      esac
    fi ;;
  esac
  _describe -V postern found
}
if [ "\${funcstack[1]}" = "_postern" ]; then _postern "$@"; else compdef _postern postern; fi
`;
}

/** For fish 3 and newer. */
function fishCompletion(commands: readonly CommandNode[]): string {
  const act = (value: Value): string => {
    if (value.kind === "choices") return `-x -a ${quoted(value.choices.join(" "))}`;
    if (value.kind === "sessions") return `-x -k -a '(__postern_sessions)'`;
    return value.kind === "files" ? "-r -F" : "-x";
  };
  const lines = commands.flatMap(({ path, commands: inner, options, argument }) => {
    const start = `complete -c postern -n "__postern_at '${path}'"`;
    const own = argument === null || inner.length > 0 ? [] : [argumentLine(start, argument)];
    return [
      ...inner.map(({ name, description }) => `${start} -f -a ${name} -d ${fishQuoted(description)}`),
      ...own,
      ...options.map(({ flags, description, value }) => {
        const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
        return [start, ...names, ...(value === null ? [] : [act(value)]), `-d ${fishQuoted(description)}`].join(" ");
      }),
    ];
  });
  return `${head("fish")}function __postern_at
  set -l at ''
  for word in (commandline -opc)[2..]
    switch "$at/$word"
      case ${paths(commands).replaceAll("|", " ")}
        set at "$at/$word"
    end
  end
  test "$at" = "$argv[1]"
end
function __postern_sessions
  ${listSessions}
end
complete -c postern -f
${lines.join("\n")}
`;
}

function argumentLine(start: string, value: Value): string {
  if (value.kind === "choices") return `${start} -f -a ${quoted(value.choices.join(" "))}`;
  if (value.kind === "sessions") return `${start} -f -k -a '(__postern_sessions)'`;
  return value.kind === "files" ? `${start} -F` : `${start} -f`;
}

/** In fish, `\'` stays inside single quotes. */
function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
