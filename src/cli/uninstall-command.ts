import type { Command } from "commander";
import { PosternError } from "../core/errors.ts";
import { shellWord } from "../core/shell-word.ts";
import { listOutputSchema } from "../wire/session-lists.ts";
import { connect } from "./context.ts";
import { type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson } from "./plain-text.ts";
import type { CliContext, InstalledPart } from "./ports.ts";

interface UninstallOptions extends CommonOptions {
  readonly yes?: true;
  readonly purge?: true;
  readonly dryRun?: true;
}

/** The word that confirms deleting the state. */
const confirmation = "delete";
/** The largest page of a session list. */
const pageSize = 200;
/** People do not type longer answers. */
const maxAnswerLength = 1_000;

/** `postern uninstall`: removes what Postern left on this machine, each part after a question. */
export function addUninstallCommand(program: Command, context: CliContext): void {
  describe(program.command("uninstall"), [
    "postern uninstall --dry-run",
    "postern uninstall",
    "postern uninstall --yes",
    "postern uninstall --purge",
  ])
    .description("remove the service, the command, the caches and, optionally, the state; asks before each")
    .option("--yes", "do not ask, and keep the state folder")
    .option("--purge", `also delete the state folder and end its agents, after you type "${confirmation}"`)
    .option("--dry-run", "print what would be removed")
    .action((options: UninstallOptions) => uninstall(options, context));
}

async function uninstall(options: UninstallOptions, context: CliContext): Promise<void> {
  const parts = await context.ports.installedParts();
  const worktrees = parts.some(({ name }) => name === "gateway") ? await openWorktrees(context) : [];
  if (options.dryRun) return dryRun(parts, { options, worktrees, context });
  if (!options.yes && (options.json || !context.interactive)) {
    throw new PosternError("usage", "Confirmation needed: run this in a terminal, or add --yes.");
  }
  const ask = questions(context);
  const removed: string[] = [];
  const kept: string[] = [];
  const notes: string[] = [];
  for (const part of parts) {
    if (!(await isWanted(part, { options, ask }))) {
      kept.push(part.what);
      continue;
    }
    const left = await part.remove();
    removed.push(part.what);
    if (left !== null) notes.push(left);
    if (!options.json) context.stdout(`Removed ${plainLine(part.what)}.\n`);
  }
  if (options.json) return context.stdout(`${printableJson({ removed, kept, worktrees, notes })}\n`);
  context.stdout(lines([...notes, ...keptText(kept), ...worktreeText(worktrees)]));
  if (parts.length === 0) context.stdout("Nothing of Postern was found on this machine.\n");
}

type Ask = (question: string) => Promise<string>;

async function isWanted(
  { name, what }: InstalledPart,
  { options, ask }: { readonly options: UninstallOptions; readonly ask: Ask },
): Promise<boolean> {
  if (name === "state") {
    if (!options.purge && options.yes) return false;
    return (await ask(`Permanently delete ${what}? Type "${confirmation}" to confirm: `)) === confirmation;
  }
  return options.yes === true || /^y(es)?$/i.test(await ask(`Remove ${what}? [y/N] `));
}

/** Asks the questions in turn. If the input ends, the rest get empty answers. */
function questions({ stdin, stderr }: Pick<CliContext, "stdin" | "stderr">): Ask {
  const chunks = stdin[Symbol.asyncIterator]();
  let text = "";
  return async (question) => {
    stderr(plainLine(question).concat(" "));
    while (!text.includes("\n") && text.length <= maxAnswerLength) {
      const chunk = await chunks.next();
      if (chunk.done === true) break;
      text += Buffer.from(chunk.value).toString("utf8");
    }
    const [answer = "", ...rest] = text.split("\n");
    text = rest.join("\n");
    return answer.trim();
  };
}

function dryRun(
  parts: readonly InstalledPart[],
  {
    options,
    worktrees,
    context,
  }: { readonly options: UninstallOptions; readonly worktrees: readonly string[]; readonly context: CliContext },
): void {
  const isKept = ({ name }: InstalledPart): boolean => name === "state" && !options.purge;
  const wouldRemove = parts.filter((part) => !isKept(part)).map(({ what }) => what);
  const wouldKeep = parts.filter(isKept).map(({ what }) => what);
  if (options.json) return context.stdout(`${printableJson({ wouldRemove, wouldKeep, worktrees })}\n`);
  const text = wouldRemove.map((what) => `Would remove ${what}.`);
  const stays = wouldKeep.map((what) => `Would keep ${what}. To delete it: postern uninstall --purge`);
  const none = parts.length === 0 ? ["Nothing of Postern was found on this machine."] : [];
  context.stdout(lines([...text, ...stays, ...worktreeText(worktrees), ...none]));
}

/** Worktrees of sessions, which are always kept. Postern can be removed even if the gateway does not respond. */
async function openWorktrees(context: CliContext): Promise<readonly string[]> {
  const { sessions } = await connect(context)
    .then((gateway) => gateway.codingListSessions({ limit: pageSize }, { output: listOutputSchema }))
    .catch(() => ({ sessions: [] }));
  return sessions.flatMap(({ worktree }) => (worktree === null || worktree.removed ? [] : [worktree.path]));
}

function keptText(kept: readonly string[]): readonly string[] {
  return kept.map((what) => `Kept ${what}.`);
}

function worktreeText(worktrees: readonly string[]): readonly string[] {
  return worktrees.map(
    (path) => `The worktree ${path} stays, with its work. To remove it: git worktree remove ${shellWord(path)}`,
  );
}

function lines(texts: readonly string[]): string {
  return texts.map((text) => `${plainLine(text)}\n`).join("");
}
