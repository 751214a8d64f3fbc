import type { AgentTemplate } from "../agents/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { PermissionMode } from "../wire/coding.ts";
import type { FolderRule } from "../worktrees/index.ts";
import type { StartProfile } from "./ports.ts";

/** The profile for a directory, which may be a worktree. */
export type ProfileOf = (dir: string) => Promise<StartProfile>;

/** The caller that starts a session, the directory, and the requested agent and model. */
interface Wish {
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
}

/**
 * The agent and model of a new session: the requested ones, or else the profile's. The profile's model applies only to its agent.
 * @throws PosternError as `resolveAgent`
 */
export async function agentAndModel<T extends { readonly template: AgentTemplate }>(
  { agent, model }: Wish,
  profile: StartProfile,
  resolveAgent: (name: string | undefined) => Promise<T>,
): Promise<{ readonly agent: T; readonly model: string | null }> {
  const resolved = await resolveAgent(agent ?? profile.agent ?? undefined);
  if (model !== undefined) return { agent: resolved, model };
  const { name, aliases, accepts } = resolved.template;
  const isItsAgent = profile.agent === null ? agent === undefined : [name, ...aliases].includes(profile.agent);
  return { agent: resolved, model: isItsAgent && accepts.model ? profile.model : null };
}

/**
 * The permission mode of a new session if none was requested. A profile never allows more than the caller could request: without
 * `coding:drive`, or for `all` without the folder's scope `exec`, the agent asks.
 */
export async function defaultMode(
  { permissionMode }: StartProfile,
  { dir, caller }: { readonly dir: string; readonly caller: Caller },
  { isVisibleDir }: Pick<FolderRule, "isVisibleDir">,
): Promise<PermissionMode> {
  if (permissionMode === null || !caller.scopes.has("coding:drive")) return "ask";
  if (permissionMode === "all" && !(await isVisibleDir(dir, { scope: "exec", caller }))) return "ask";
  return permissionMode;
}
