/** A program with its arguments, as plain words. */
export type SimpleCommand = readonly [string, ...string[]];

/** The simple commands of a line, in order; or the reason why the line is not plain. */
export type ParsedLine =
  | { readonly commands: readonly SimpleCommand[]; readonly refusal: null }
  | { readonly commands: null; readonly refusal: string };

/** Longer lines are not read: a hook cuts them, so the end would be missing. */
const maxLineLength = 8_000;

/**
 * Redirections without an effect on files. Only these exact forms mean the same in bash, zsh and dash: zsh reads `2&>/dev/null` differently,
 * and runs a pager for `>file` without a command.
 */
const redirections: ReadonlySet<string> = new Set([">/dev/null", "1>/dev/null", "2>/dev/null", "2>&1"]);

/** Characters of a word that no shell treats specially wherever they are in it. */
const plain = /[A-Za-z0-9_@%+:,./-]/;
/** `=` assigns at the start of a command, and zsh expands a word that starts with it. */
const equals = "=";

/** Characters in quotes that every shell takes literally. */
const singleQuoted = /[^'\p{C}\p{Zl}\p{Zp}]/u;
const doubleQuoted = /[^"$`\\!\p{C}\p{Zl}\p{Zp}]/u;

/**
 * Words of bash, zsh and dash that start a shell construct, or a builtin that reads its arguments as code, names or assignments, or changes
 * the meaning of later words. A line with one of them as a command is not plain.
 */
const notPrograms: ReadonlySet<string> = new Set(
  (
    "if then elif else fi for while until do done case esac select function in time coproc foreach end repeat always nocorrect noglob " +
    "eval source . exec command builtin trap let read readarray mapfile unset typeset declare local export readonly integer float " +
    "alias unalias hash enable disable autoload zmodload zle bindkey compdef compctl emulate setopt unsetopt set shopt functions unfunction " +
    "getopts cd chdir pushd popd dirs history fc r bind complete compgen compopt caller wait fg bg jobs disown suspend logout exit return " +
    "break continue shift times ulimit umask sched vared print getln zcompile zformat zparseopts zregexparse zstyle zstat zsystem zpty " +
    "help unhash pushln private compadd compargs comparguments compcall compdescribe compfiles compgroups compquote compset comptags comptry " +
    "compvalues echotc echoti sysopen sysread sysseek syswrite syserror pcre_compile pcre_match pcre_study strftime ztie zuntie zgdbmpath " +
    "zgetattr zsetattr zdelattr zlistattr zf_chgrp zf_chmod zf_chown zf_ln zf_mkdir zf_mv zf_rm zf_rmdir zf_sync " +
    "ztcp zftp zsocket zcurses zprof zselect ttyctl limit unlimit rehash where whence which type bye log - % [ [[ test printf kill"
  ).split(" "),
);

/**
 * Splits a line for a shell into its simple commands.
 *
 * Only lines that bash, zsh and dash certainly read in the same way are split: plain words, literal quotes, `&&`, `||`, `;` and `|`, and redirections
 * to /dev/null. Everything else is refused, even if most shells would treat it as plain text.
 */
export function parseCommandLine(line: string): ParsedLine {
  if (line.length > maxLineLength) return refused("it is too long");
  const commands: SimpleCommand[] = [];
  let words: string[] = [];
  let redirected = false;
  let at = 0;

  const finish = (): string | null => {
    const [program, ...others] = words;
    if (program === undefined) return redirected ? "it redirects without a command" : "a command is missing";
    if (notPrograms.has(program)) return `it contains the shell's own \`${program}\``;
    commands.push([program, ...others]);
    words = [];
    redirected = false;
    return null;
  };

  while (at < line.length) {
    const rest = line.slice(at);
    if (rest.startsWith(" ")) {
      at += 1;
      continue;
    }
    const operator = /^(?:&&|\|\||[;|](?![;|&]))/.exec(rest)?.[0];
    if (operator !== undefined) {
      const problem = finish();
      if (problem !== null) return refused(problem);
      at += operator.length;
      // Only `;` may end a line.
      if (operator === ";" && /^ *$/.test(line.slice(at))) return { commands, refusal: null };
      if (/^ *$/.test(line.slice(at))) return refused("a command is missing");
      continue;
    }
    const redirection = /^[0-9]?>[^ ;|]*/.exec(rest)?.[0];
    if (redirection !== undefined) {
      if (!redirections.has(redirection) || line[at - 1] !== " " || words.length === 0) {
        return refused("it redirects input or output");
      }
      redirected = true;
      at += redirection.length;
      continue;
    }
    const word = readWord(rest, words.length === 0);
    if (word.refusal !== null) return refused(word.refusal);
    // `;;`, `;&` or `|&`.
    if (word.length === 0) return refused("it contains an operator that shells read differently");
    if (redirected) return refused("words follow a redirection");
    words.push(word.text);
    at += word.length;
  }
  const problem = finish();
  return problem === null ? { commands, refusal: null } : refused(problem);
}

function refused(refusal: string): ParsedLine {
  return { commands: null, refusal };
}

type Word = { readonly text: string; readonly length: number; readonly refusal: null } | { readonly refusal: string };

/** Reads one word, up to a space or an operator. */
function readWord(text: string, isFirst: boolean): Word {
  let value = "";
  let at = 0;
  let quotedBefore: string | null = null;
  while (at < text.length) {
    const char = text[at] ?? "";
    if (char === " " || char === ";" || char === "|" || (char === "&" && text.startsWith("&&", at))) break;
    if (char === "'" || char === '"') {
      // zsh can read two adjacent single-quoted parts as one with a quote in it (RC_QUOTES).
      if (quotedBefore === char) return { refusal: "it has adjacent quotes" };
      const end = quotedEnd(text, at, char === "'" ? singleQuoted : doubleQuoted);
      if (end === null) return { refusal: "a quoted part is not plain text" };
      value += text.slice(at + 1, end);
      at = end + 1;
      quotedBefore = char;
      continue;
    }
    quotedBefore = null;
    if (char === equals && (isFirst || value === ""))
      return { refusal: "it assigns a variable, or starts a word with `=`" };
    // With MAGIC_EQUAL_SUBST, zsh also replaces `=id` with the program's path there.
    if (char === equals && /[=:]$/.test(value)) return { refusal: "it contains `==` or `:=`" };
    if (char !== equals && !plain.test(char)) return { refusal: nameOf(char) };
    value += char;
    at += 1;
  }
  if (isFirst && (value === "" || /^[0-9]*$/.test(value))) return { refusal: "a command has no name" };
  // `sh -c '-x'` and `eval '-x'` read an option.
  if (isFirst && /^[+-]/.test(value)) return { refusal: "a command starts like an option" };
  if (isFirst && value.startsWith("%")) return { refusal: "it names a job of the shell" };
  return { text: value, length: at, refusal: null };
}

/** @returns the index of the closing quote; null if there is none, or if a character before it may not be literal */
function quotedEnd(text: string, from: number, literal: RegExp): number | null {
  const quote = text[from];
  for (let at = from + 1; at < text.length; ) {
    if (text[at] === quote) return at;
    const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
    if (!literal.test(char)) return null;
    at += char.length;
  }
  return null;
}

const characterNames: Readonly<Record<string, string>> = {
  $: "a variable or a command substitution (`$`)",
  "`": "a command substitution",
  "&": "a background command (`&`)",
  "<": "a redirection or here-document",
  ">": "a redirection",
  "(": "a subshell or function",
  ")": "a subshell or function",
  "{": "braces",
  "}": "braces",
  "*": "a file name pattern",
  "?": "a file name pattern",
  "[": "a file name pattern",
  "]": "a file name pattern",
  "^": "a file name pattern",
  "~": "a home directory (`~`)",
  "#": "a comment (`#`)",
  "!": "`!`",
  "\\": "a backslash",
  "\n": "several lines",
  "\t": "a tab",
};

function nameOf(char: string): string {
  return `it contains ${characterNames[char] ?? "a character that shells read differently"}`;
}
