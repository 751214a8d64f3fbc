import { type AgentTemplate, commandsIn, type Environment } from "../agents/index.ts";
import { newUuid } from "../core/ids.ts";
import { type Caller, callerKey } from "../wire/caller.ts";
import { type CommandLine, toCommandLine } from "./agent-command.ts";
import { sessionError } from "./errors.ts";
import type { IdempotencyClaim } from "./prompt-queue.ts";
import { refuseCommandBehind, refuseOutsideMentions, toPromptText } from "./prompt-text.ts";
import type { NewPrompt } from "./start.ts";

/** The agent that receives a prompt. */
export interface PromptTarget {
  readonly template: AgentTemplate;
  /** Where the agent works. */
  readonly dir: string;
}

/** A prompt as its caller wrote it. */
interface WrittenPrompt {
  readonly text: string;
  readonly allowCommands: boolean;
  readonly idempotency: IdempotencyClaim | null;
}

/**
 * Checks a prompt against the rules for its caller, and gives it an id.
 * @throws PosternError `prompt_not_text`
 */
export async function newPrompt(
  { text: written, allowCommands, idempotency }: WrittenPrompt,
  caller: Caller,
  { template, dir, stateDir }: PromptTarget & { readonly stateDir: string },
): Promise<NewPrompt> {
  const { commandPrefixes, commandWords } = template;
  const text = toPromptText(written, { commandPrefixes, commandWords, allowCommands });
  const mayDrive = caller.scopes.has("coding:drive");
  const isFree = !template.readsMentions || mayDrive;
  const checkIn = async (place: string): Promise<void> => {
    if (!isFree) await refuseOutsideMentions(text, { dir: place, stateDir });
  };
  await checkIn(dir);
  return {
    promptId: newUuid(),
    text,
    undriven: !mayDrive,
    askedBy: callerKey(caller),
    files: [],
    claimFiles: undefined,
    checkIn,
    async checkBehind(draft) {
      if (mayDrive) return;
      refuseCommandBehind(draft, text, template);
      if (!isFree) await refuseOutsideMentions(draft + text, { dir, stateDir });
    },
    idempotency,
  };
}

/**
 * Checks one of the agent's commands. It is typed into an empty composer, and never put on a command line.
 * @throws PosternError `command_not_sendable`
 */
export async function newCommand(
  { text: written, idempotency }: Pick<WrittenPrompt, "text" | "idempotency">,
  caller: Caller,
  {
    template,
    dir,
    stateDir,
    ...more
  }: PromptTarget & {
    readonly env: Environment;
    readonly stateDir: string;
    readonly reads?: (folder: string) => Promise<boolean>;
  },
): Promise<NewPrompt> {
  const checked = async (place: string): Promise<CommandLine> => {
    const commands =
      template.commands === undefined ? [] : await commandsIn(template.commands, { dir: place, ...more });
    return toCommandLine(written, { commands, dir: place, stateDir });
  };
  return {
    promptId: newUuid(),
    ...(await checked(dir)),
    undriven: false,
    askedBy: callerKey(caller),
    files: [],
    claimFiles: undefined,
    async checkIn(place) {
      await checked(place);
    },
    async checkBehind() {
      throw sessionError(
        "command_not_sendable",
        'A command is sent alone, and the composer contains text. Set onDraft to "clear" to remove it.',
      );
    },
    idempotency,
  };
}
