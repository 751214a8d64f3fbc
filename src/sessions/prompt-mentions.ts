import { realpath } from "node:fs/promises";
import { isAbsolute, normalize, relative, resolve } from "node:path";
import { isErrno } from "../core/errors.ts";
import { sessionError } from "./errors.ts";
import { withoutInvisible } from "./prompt-text.ts";

/** Where a session's mentions can lead. */
export interface MentionPlace {
  /** Real path of the session's directory. */
  readonly dir: string;
  /** Postern's state folder, which may be inside. */
  readonly stateDir: string;
}

/**
 * Refuses a prompt that mentions a file outside the session's directory, a file of Postern's own state, or a resource of an MCP server.
 * An agent that reads mentions puts the file that `@path` names into the prompt without asking, whatever its permission mode (measured:
 * see `docs/agents.md`).
 *
 * A word such as `@/lib/utils` that names no file passes, and so does an e-mail address. Links are followed.
 *
 * @throws PosternError `prompt_not_text`
 */
export async function refuseOutsideMentions(prompt: string, place: MentionPlace): Promise<void> {
  const paths = new Set<string>();
  let read = 0;
  for (const mention of mentionsIn(withoutInvisible(prompt))) {
    if (/^(?:~|file:)/iu.test(mention)) throw refused(mention, place, "names a file");
    if (/^[^\s:/]+:[a-z][\w+.-]*:/iu.test(mention)) throw refused(mention, place, "names a resource of an MCP server");
    const found = pathsIn(mention);
    for (const path of found) paths.add(path);
    read += found.length;
    if (read > maxRead || paths.size > maxPaths) {
      throw sessionError(
        "prompt_not_text",
        "The prompt has an @ before too many words that could be files. Shorten it, or use a token with the scope coding:drive.",
      );
    }
  }
  const stateDir = (await realpathOf(place.stateDir)) ?? place.stateDir;
  for (const path of paths) {
    if (await isOutside(path, { ...place, stateDir })) throw refused(path, place, "names a file");
  }
}

function refused(mention: string, { dir }: MentionPlace, what: string) {
  return sessionError(
    "prompt_not_text",
    `The prompt mentions "@${mention.slice(0, 200)}", which ${what} outside ${dir}: the agent would read it without asking. Remove the @, or use a token with the scope coding:drive.`,
  );
}

// Linux follows no longer path.
const maxPathLength = 4_096;
// Some 0.3 s of looking at the disk.
const maxPaths = 5_000;
const maxRead = 50_000;

/**
 * All that an agent could take for the path of a mention; one that holds another `@` is two. Agents end it at any white space or only at
 * that of ASCII, and differ in how they read quotes and backslashes.
 */
function* mentionsIn(text: string): Iterable<string> {
  for (let at = text.indexOf("@"); at !== -1; at = text.indexOf("@", at + 1)) {
    const rest = text.slice(at + 1, at + 1 + maxPathLength);
    const [, , quoted] = /^(["'`])(.*?)(?:\1|$)/su.exec(rest) ?? [];
    if (quoted !== undefined) yield quoted;
    for (const form of [/^(?:\\[^]|[^\s\\])+/u, /^(?:"[^"]*"|\\[^]|[^ \t\n\r\\])+/u]) {
      const [word] = form.exec(rest) ?? [];
      if (word === undefined) continue;
      yield word;
      yield word.replaceAll(/\\([^])/gu, "$1");
      yield word.replaceAll(/\\([^])|"/gu, "$1");
    }
  }
}

/** The mention, and what is left of it without a range of lines, punctuation, quotes or lines behind it. */
function pathsIn(mention: string): readonly string[] {
  const ends = [...mention.matchAll(/[^\p{L}\p{N}_/~-]/gu)].map(({ index }) => index);
  return [mention, ...ends.map((end) => mention.slice(0, end))].filter((path) => path !== "" && !path.includes("\0"));
}

/** One that climbs out needs no look: the agent may read it from another folder than the session's, where there is such a file. */
async function isOutside(path: string, { dir, stateDir }: MentionPlace): Promise<boolean> {
  if (!isAbsolute(path) && /^\.\.(?:\/|$)/.test(normalize(path))) return true;
  const real = await realpathOf(resolve(dir, path));
  return real !== null && (!isWithin(real, dir) || isWithin(real, stateDir));
}

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
