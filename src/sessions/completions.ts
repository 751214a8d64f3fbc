import { type AgentCommand, type AgentTemplate, commandsIn, type Environment } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import { createGate } from "../core/gate.ts";
import { createSingleFlight } from "../core/single-flight.ts";
import type { Caller } from "../wire/caller.ts";
import type { CompletionItem, Completions, CompletionsQuery } from "../wire/completion.ts";
import type { FolderRule } from "../worktrees/index.ts";
import type { FileFinder } from "./file-finder.ts";
import type { SessionLocator } from "./locate.ts";
import { createPathIndex } from "./path-index.ts";

export interface CompletionsDeps {
  readonly locator: Pick<SessionLocator, "locate">;
  readonly resolveAllowedDir: FolderRule["resolveAllowedDir"];
  readonly resolveAgent: (name: string | undefined) => Promise<{ readonly template: AgentTemplate }>;
  readonly template: (nameOrAlias: string) => AgentTemplate;
  readonly environmentOf: (template: AgentTemplate) => Environment;
  readonly files: FileFinder;
  readonly clock: Clock;
}

/** A fast typist causes ten requests a second. */
const searches = { atOnce: 8, waiting: 64 };
/** Custom commands are read again after this time. */
const commandsMs = 5_000;
/** Each list has at most a few hundred entries. */
const maxCommandLists = 50;

/**
 * `GET /api/coding/completions`: what can follow `@` and `/` in a prompt.
 * @throws PosternError `session_not_found` | `agent_unknown` | `agent_not_configured` | `dir_not_allowed` | `dir_not_found` |
 * `rate_limited`
 */
export function createCompletions(
  deps: CompletionsDeps,
): (query: CompletionsQuery, caller: Caller) => Promise<Completions> {
  const gate = createGate(searches);
  const reading = createSingleFlight<readonly AgentCommand[]>();
  const lists = new Map<string, { readonly commands: readonly AgentCommand[]; readonly readAt: number }>();

  async function placeOf({ sessionId, dir = "", agent }: CompletionsQuery, caller: Caller) {
    const session = sessionId === undefined ? null : await deps.locator.locate(sessionId, caller);
    const template =
      session?.template ?? (agent === undefined ? (await deps.resolveAgent(undefined)).template : deps.template(agent));
    const allowed = await deps.resolveAllowedDir(session?.record.dir ?? dir, { scope: "coding", caller });
    return { template, dir: allowed.dir };
  }

  async function commandsOf(template: AgentTemplate, dir: string, caller: Caller): Promise<readonly AgentCommand[]> {
    const { commands } = template;
    if (commands === undefined) return [];
    const key = JSON.stringify([template.name, dir, caller.folders]);
    const known = lists.get(key);
    if (known !== undefined && deps.clock.now() - known.readAt < commandsMs) return known.commands;
    return reading(key, async () => {
      const place = { dir, env: deps.environmentOf(template), ...commandFolders(deps, caller) };
      const all = await commandsIn(commands, place);
      lists.delete(key);
      lists.set(key, { commands: all, readAt: deps.clock.now() });
      const [oldest] = lists.keys();
      if (lists.size > maxCommandLists && oldest !== undefined) lists.delete(oldest);
      return all;
    });
  }

  return async (query, caller) => {
    const { template, dir } = await placeOf(query, caller);
    const { q, limit } = query;
    if (query.kind === "command") {
      const found = matching(await commandsOf(template, dir, caller), q);
      return { items: found.slice(0, limit).map(commandItem), truncated: found.length > limit };
    }
    const { paths, truncated } = await gate.run(() => deps.files.find({ dir, query: q, limit }));
    return { items: paths.map((path) => fileItem(template, path)), truncated };
  };
}

/** For a limited caller: whether it can read the folders above its own, which can also define commands. */
export function commandFolders(
  { resolveAllowedDir }: Pick<FolderRule, "resolveAllowedDir">,
  caller: Caller,
): { readonly reads?: (folder: string) => Promise<boolean> } {
  if (caller.folders === null) return {};
  return {
    async reads(folder) {
      try {
        await resolveAllowedDir(folder, { scope: "coding", caller });
        return true;
      } catch (error) {
        if (hasCode(error, "dir_not_allowed") || hasCode(error, "dir_not_found")) return false;
        throw error;
      }
    },
  };
}

/** Matches by name, best first, then matches in the description. */
function matching(commands: readonly AgentCommand[], q: string): readonly AgentCommand[] {
  const byName = new Map(commands.map((command) => [command.name.slice(1), command]));
  const wanted = q.replace(/^[/$]/, "").toLowerCase();
  if (wanted === "") return commands;
  const { paths } = createPathIndex([...byName.keys()]).search(wanted, commands.length);
  const named = paths.map((name) => byName.get(name)).filter((command) => command !== undefined);
  const described = commands.filter(({ description }) => description.toLowerCase().includes(wanted));
  return [...new Set([...named, ...described])];
}

function commandItem({ name, argumentHint, description, sendable }: AgentCommand): CompletionItem {
  const label = argumentHint === "" ? name : `${name} ${argumentHint}`;
  const kind = name.startsWith("/") ? (sendable === null ? "terminal_command" : "command") : "skill";
  return { insert: name, label, detail: description, kind };
}

function fileItem({ mention }: AgentTemplate, path: string): CompletionItem {
  const plain = /[\s"']/.test(path) ? JSON.stringify(path) : path;
  return { insert: mention?.(path) ?? plain, label: path, detail: "", kind: path.endsWith("/") ? "folder" : "file" };
}
