import { claudeCode } from "../../src/agents/claude-code/claude-code.ts";
import { codex } from "../../src/agents/codex/codex.ts";
import { geminiCli } from "../../src/agents/gemini-cli/gemini-cli.ts";
import { openCode } from "../../src/agents/opencode/opencode.ts";
import type { AgentTemplate } from "../../src/agents/template.ts";
import { hasCode } from "../../src/core/errors.ts";
import { toPromptText } from "../../src/sessions/prompt-text.ts";

/** An agent, and the prompts that it was measured to read as commands (see `docs/agents.md`); not derived from Postern's rule. */
export interface MeasuredAgent {
  readonly template: AgentTemplate;
  readonly commands: readonly string[];
  runs(prompt: string): boolean;
}

/** A prompt made of a command. */
export interface CommandPrompt {
  readonly agent: MeasuredAgent;
  readonly text: string;
  /** Made by adding only what cannot be seen, or spaces at its ends: an agent may take it for the command some day. */
  readonly isDisguised: boolean;
}

type Ranges = readonly (readonly [from: number, to: number])[];

// Measured with Claude Code 2.1.329 and 2.1.330, one by one or at both ends of a range.
const removedByClaude: Ranges = [
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

// Measured with Gemini CLI 0.61.0: it drops them from what is pasted.
const removedByGemini: Ranges = [
  [0x200b, 0x200b],
  [0x200e, 0x200f],
  [0x202a, 0x202e],
  [0x2066, 0x2069],
];

function without(removed: Ranges, prompt: string): string {
  const kept = Array.from(prompt).filter((character) => {
    const code = character.codePointAt(0) ?? 0;
    return !removed.some(([from, to]) => code >= from && code <= to);
  });
  return kept.join("").normalize("NFC").trim();
}

function begins(prompt: string, signs: string): boolean {
  const first = prompt[0];
  return first !== undefined && signs.includes(first);
}

const vimWords = ["exit", "quit", ":q", ":q!", ":wq", ":wq!"];

/** All agents with a template. */
export const measuredAgents: readonly MeasuredAgent[] = [
  {
    template: claudeCode,
    commands: ["/deploy", "/export path", "/clear", "!touch x", ...vimWords],
    // Earlier versions only trim.
    runs: (prompt) =>
      [prompt.trim(), without(removedByClaude, prompt)].some((read) => begins(read, "/!") || vimWords.includes(read)),
  },
  {
    template: codex,
    commands: ["/status", "/new", "/quit", "!touch x"],
    runs: (prompt) => begins(prompt.trim(), "/!"),
  },
  {
    template: geminiCli,
    commands: ["/quit", "/clear", "/deploy", "!touch x", "?", "@README.md", "exit", "quit"],
    runs: (prompt) => [prompt.trim(), without(removedByGemini, prompt)].some((read) => begins(read, "/!?")),
  },
  {
    template: openCode,
    commands: ["/deploy", "/new", "!touch x", "exit", "quit", ":q"],
    runs: (prompt) => begins(prompt.trim(), "/!") || ["exit", "quit", ":q"].includes(prompt.trim()),
  },
];

function everyCharacter(kind: RegExp): readonly string[] {
  const found: string[] = [];
  for (let code = 0xa0; code < 0x11_0000; code += 1) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const character = String.fromCodePoint(code);
    if (kind.test(character)) found.push(character);
  }
  return found;
}

const spaces = [" ", "\t", "\n", ...everyCharacter(/[\p{Z}\s\u2800]/u)];
const invisible = everyCharacter(/(?!\s)[\p{Cf}\p{Default_Ignorable_Code_Point}]/u);
const marks = everyCharacter(/\p{M}/u);
/** Look like the start of a command or the end of input, or become it in some Unicode normal form. */
const confusable = [
  ...everyCharacter(/[^\p{C}\p{M}\p{Z}]/u).filter((character) => /^[/!?@:a-z]/i.test(character.normalize("NFKC"))),
  ...Array.from("\u2215\u2044\u29f8\u2571\u3001\u01c3\u203c\u2024\u0435\u0445\u0456\u0442\u051b\u2236\uff0f\ufe68"),
];

/** Each number is another prompt; all of them together have every such character before, in and behind every command. */
export function commandPrompt(index: number): CommandPrompt {
  const agent = pick(measuredAgents, index);
  const at = Math.floor(index / measuredAgents.length);
  const command = pick(agent.commands, at);
  const step = Math.floor(at / agent.commands.length);
  const place = (step * 5) % (command.length + 1);
  const put = (added: string, where: number): string => command.slice(0, where) + added + command.slice(where);
  const unseen = pick(invisible, step);
  const another = pick(invisible, step * 7_919 + 1);
  const space = pick(spaces, step);
  const mark = pick(marks, step);
  const disguised = [
    put(unseen, place),
    put(unseen + another, place),
    unseen + space + another + command,
    mark + unseen + command,
    command + space + unseen + mark,
    put(unseen, Math.min(1, command.length)) + another,
  ];
  const folded = pick(confusable, step);
  const visible = [
    folded + command.slice(1),
    put(folded, place),
    unseen + folded + command,
    put(mark, place),
    `text ${space}${command}`,
    `text\n${unseen}${command}`,
  ];
  const isDisguised = step % 3 !== 2;
  return { agent, isDisguised, text: pick(isDisguised ? disguised : visible, step * 31 + at) };
}

/** Checks as many prompts against the rule as `count` says. */
export function commandsThatPass(count: number): { readonly passed: readonly string[]; readonly refused: number } {
  const passed: string[] = [];
  let refused = 0;
  for (let index = 0; index < count && passed.length < 20; index += 1) {
    const { agent, text, isDisguised } = commandPrompt(index);
    if (!passes(text, agent.template)) refused += 1;
    else if (isDisguised || agent.runs(text)) passed.push(`${agent.template.name}: ${JSON.stringify(text)}`);
  }
  return { passed, refused };
}

/** Whether the rule lets an agent have this prompt. */
export function passes(text: string, template: AgentTemplate): boolean {
  try {
    toPromptText(text, { ...template, allowCommands: false });
    return true;
  } catch (error) {
    if (hasCode(error, "prompt_not_text")) return false;
    throw error;
  }
}

function pick<T>(from: readonly T[], index: number): T {
  const one = from[index % from.length];
  if (one === undefined) throw new Error("There is nothing to pick from.");
  return one;
}
