import { lstat, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, normalize } from "node:path";
import type { AgentTemplate } from "../agents/index.ts";
import { isErrno } from "../core/errors.ts";
import type { RuledRequest, ToolAction } from "../wire/permission-rules.ts";
import type { Worktrees } from "../worktrees/index.ts";
import type { OpenPermission } from "./activity.ts";
import type { SessionRecord } from "./session-store.ts";

/** A permission request, before or after it is shown. */
export interface AskedPermission extends Pick<OpenPermission, "permissionId" | "tool" | "input" | "cwd"> {
  readonly asks: OpenPermission["kind"];
}

/** Reads permission requests as rules see them. */
export type RuleRequestOf = (
  asked: AskedPermission,
  session: { readonly template: Pick<AgentTemplate, "toolAction" | "name">; readonly record: SessionRecord },
) => Promise<RuledRequest | null>;

/** Null if it is not certain what the agent would do, or where. */
export function createRuleRequests({ worktrees }: { readonly worktrees: Pick<Worktrees, "countedAs"> }): RuleRequestOf {
  async function countedOf(dir: string): Promise<string | null> {
    const { counted, place } = await worktrees.countedAs(dir);
    return place === "elsewhere" || place === "standing" ? counted : null;
  }

  async function countedFile(path: string): Promise<string | null> {
    const real = await realFile(path);
    const folder = real === null ? null : await countedOf(dirname(real));
    return real === null || folder === null ? null : join(folder, basename(real));
  }

  async function resolved(action: ToolAction, dir: string): Promise<RuledRequest["action"] | null> {
    if (action.tool === "command") return action;
    const paths: string[] = [];
    for (const path of action.paths) {
      const counted = await countedFile(isAbsolute(path) ? path : join(dir, path));
      if (counted === null) return null;
      paths.push(counted);
    }
    return paths.length === 0 ? null : { tool: action.tool, paths };
  }

  return async ({ asks, tool, input, cwd }, { template, record }) => {
    if (asks !== "permission") return null;
    const action = template.toolAction?.({ tool, input }) ?? null;
    const dir = action === null ? null : await realDir(cwd ?? record.dir);
    if (action === null || dir === null) return null;
    const [counted, known] = await Promise.all([countedOf(dir), resolved(action, dir)]);
    if (counted === null || known === null) return null;
    return { agent: template.name, sessionIds: [record.sessionId, ...record.aliases], dir, counted, action: known };
  };
}

async function realDir(dir: string): Promise<string | null> {
  if (!isAbsolute(dir)) return null;
  return orNull(async () => {
    const real = await realpath(dir);
    return (await stat(real)).isDirectory() ? real : null;
  });
}

/** Where a file is, or would be created. Null if that is not certain, as with a dangling link. */
async function realFile(path: string): Promise<string | null> {
  if (path !== normalize(path) || path.endsWith("/")) return null;
  const real = await orNull(() => realpath(path));
  if (real !== null) return (await stat(real)).isFile() ? real : null;
  if ((await orNull(() => lstat(path))) !== null) return null;
  const folder = dirname(path);
  if (folder === path) return null;
  const realFolder = (await realDir(folder)) ?? (await realMissing(folder));
  return realFolder === null ? null : join(realFolder, basename(path));
}

/** A folder that the agent would create. */
async function realMissing(folder: string): Promise<string | null> {
  if ((await orNull(() => lstat(folder))) !== null || folder === "/") return null;
  const above = (await realDir(dirname(folder))) ?? (await realMissing(dirname(folder)));
  return above === null ? null : join(above, basename(folder));
}

/** Null for what does not exist or cannot be read. */
async function orNull<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP", "ENAMETOOLONG", "EINVAL")) return null;
    throw error;
  }
}
