import { realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";
import { isErrno } from "../core/errors.ts";
import { codingError } from "./errors.ts";
import { withoutInvisible } from "./prompt-text.ts";

/**
 * Refuses a prompt that mentions a file outside `dir`. An agent that reads mentions puts the file that `@path` names into the prompt
 * without asking, whatever its permission mode (measured: Claude Code, Gemini CLI).
 *
 * A word such as `@/lib/utils` that names no file passes, and so does an e-mail address. Links are followed.
 *
 * @param dir real path of the session's directory
 * @throws PosternError `prompt_not_text`
 */
export async function refuseOutsideMentions(prompt: string, dir: string): Promise<void> {
  for (const mention of mentionsIn(withoutInvisible(prompt))) {
    if (!(await isOutside(mention, dir))) continue;
    throw codingError(
      "prompt_not_text",
      `The prompt mentions "@${mention}", which is outside ${dir}: the agent would read it without asking. Remove the @, or use a token with the scope coding:drive.`,
    );
  }
}

/** All that an agent could take for the path of a mention; one that holds another `@` is two. */
function mentionsIn(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    const [, quoted, bare] = /^@(?:(["'`])([^\n]*?)(?:\1|$|\n))?/u.exec(text.slice(at)) ?? [];
    if (quoted !== undefined && bare !== undefined) found.add(bare);
    const [word = ""] = /^(?:\\[^]|[^\s\\])*/u.exec(text.slice(at + 1)) ?? [];
    found.add(word);
    found.add(word.replaceAll(/\\([^])/gu, "$1"));
  }
  found.delete("");
  return found;
}

async function isOutside(mention: string, dir: string): Promise<boolean> {
  if (/^(?:~|file:)/iu.test(mention)) return true;
  for (const path of pathsOf(mention)) {
    const real = await realpathOf(resolve(dir, path));
    if (real !== null && !isWithin(real, dir)) return true;
  }
  return false;
}

/** The mention, and what is left of it without a range of lines, punctuation, or quotes behind it. */
function pathsOf(mention: string): readonly string[] {
  const ends = [...mention.matchAll(/[^\p{L}\p{N}_/~-]/gu)].map(({ index }) => index).slice(-maxEnds);
  return [mention, ...ends.map((end) => mention.slice(0, end))].filter((path) => path !== "" && !path.includes("\0"));
}

// A path has a few dots; what follows it, a quote and a full stop or two.
const maxEnds = 32;

function isWithin(path: string, dir: string): boolean {
  const from = relative(dir, path);
  return from !== ".." && !from.startsWith("../") && !isAbsolute(from);
}

async function realpathOf(path: string): Promise<string | null> {
  try {
    return await realpath(path);
  } catch (error) {
    // A path that cannot be followed is not read by the agent either, which runs as the same user.
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG", "EINVAL")) return null;
    throw error;
  }
}
