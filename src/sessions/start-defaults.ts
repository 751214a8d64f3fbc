import type { AgentTemplate } from "../agents/index.ts";
import type { Caller } from "../wire/caller.ts";
import type { PermissionMode } from "../wire/coding.ts";
import type { FolderRule } from "../worktrees/index.ts";
import type { StartProfile } from "./ports.ts";

/** The profile for a directory, which may be a worktree. */
export type ProfileOf = (dir: string) => Promise<StartProfile>;

/** Who starts a session, where, and the agent and model that the caller named. */
interface Wish {
  readonly agent?: string | undefined;
  readonly model?: string | undefined;
}

/**
 * The agent and model of a new session: those that the caller named, else the profile's. The profile's model goes with its agent only.
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
 * The permission mode of a new session whose caller named none. A profile gives no caller more than it could request: without
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
