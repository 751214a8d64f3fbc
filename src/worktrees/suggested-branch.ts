import { randomInt } from "node:crypto";
import type { Git } from "../platform/git-command.ts";

const timeoutMs = 10_000;
/** Enough to recognize the prompt in a list of branches. */
const maxWords = 5;
const maxLength = 40;
/** The highest number to try for one prompt. After that, a random name is tried. */
const maxNumber = 20;
const maxRandomNames = 10;

/**
 * An unused name for a new branch: from the first words of a prompt, such as `postern/repair-the-build`, with a number if that is in
 * use; random for a prompt without words.
 *
 * @param options `prefix`: null for `postern/`
 */
export async function suggestBranch(
  git: Git,
  commonDir: string,
  { prompt, prefix: wanted = null }: { readonly prompt: string; readonly prefix?: string | null },
): Promise<string> {
  const prefix = await usablePrefix(git, commonDir, wanted ?? "postern/");
  for (const name of namesFor(prompt)) if (!(await isInUse(git, commonDir, prefix + name))) return prefix + name;
  return `${prefix}${randomInt(2 ** 40).toString(36)}`;
}

/** A branch `postern` rules out names below it: `postern/` becomes `postern-`. */
async function usablePrefix(git: Git, commonDir: string, prefix: string): Promise<string> {
  const parts = prefix.split("/");
  for (let end = 1; end < parts.length; end += 1) {
    const parent = parts.slice(0, end).join("/");
    if (await hasBranch(git, commonDir, parent)) return `${parent}-${parts.slice(end).join("-")}`;
  }
  return prefix;
}

function* namesFor(prompt: string): Generator<string> {
  const slug = slugOf(prompt);
  if (slug !== "") {
    yield slug;
    for (let number = 2; number <= maxNumber; number += 1) yield `${slug}-${number}`;
  }
  for (let attempt = 0; attempt < maxRandomNames; attempt += 1) yield randomName();
}

/** Letters, their marks and digits of any script; Git accepts them all. */
function slugOf(prompt: string): string {
  const text = prompt.slice(0, 1_000).toWellFormed().normalize("NFC").toLowerCase();
  const words = text.replace(/['\u2019]/g, "").match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  const [first = "", ...others] = words.slice(0, maxWords).map((word) => Array.from(word).slice(0, maxLength).join(""));
  let slug = first;
  for (const word of others) {
    if (Array.from(slug + word).length >= maxLength) break;
    slug += `-${word}`;
  }
  return slug;
}

async function hasBranch(git: Git, commonDir: string, branch: string): Promise<boolean> {
  const args = ["show-ref", "--verify", "--quiet", `refs/heads/${branch}`];
  return (await git.run(args, { at: { gitDir: commonDir }, timeoutMs })).exitCode === 0;
}

/** Whether a branch has this name, or one below it. */
async function isInUse(git: Git, commonDir: string, branch: string): Promise<boolean> {
  const args = ["for-each-ref", "--count=1", "--format=%(refname)", `refs/heads/${branch}`];
  return (await git.must(args, { at: { gitDir: commonDir }, timeoutMs })).length > 0;
}

/** A random name, for a list of branches that could not be read. */
export function randomBranch(): string {
  return `postern/${randomName()}`;
}

function randomName(): string {
  const pick = (words: string): string => {
    const list = words.split(" ");
    return list[randomInt(list.length)] ?? "";
  };
  return `${pick(manners)}-${pick(animals)}`;
}

const manners =
  "amber brave bright brisk calm candid clever copper cosy crisp curious deft eager early fair fond gentle glad golden happy " +
  "hardy honest humble jolly keen kind lively lucid lucky mellow merry mild neat nimble noble patient plain polite proud quick " +
  "quiet rapid ready rosy round sharp shiny silent silver sleek smooth snowy solid spry steady sturdy subtle sunny swift tidy " +
  "vivid warm wise witty young zesty";
const animals =
  "badger beaver bee bison bobcat crane cricket crow deer dove duck eagle falcon ferret finch fox gecko goose gull hare hawk " +
  "hedgehog heron ibex jackdaw jay kestrel kite lark lemur lynx magpie marmot marten mole moose mouse newt nuthatch orca osprey " +
  "otter owl panda pelican penguin pigeon plover puffin rabbit raven robin salmon seal sparrow squirrel stoat stork swan swift " +
  "tern thrush toad trout turtle vole weasel whale wren";
