import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentTemplate, Environment, LaunchPlan, LaunchRequest } from "../agents/index.ts";
import { hasCode, isErrno, PosternError } from "../core/errors.ts";
import { isUuid, newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { TerminalHostClient, TerminalInfo } from "../terminal-host/terminal-info.ts";
import { sessionError } from "./errors.ts";

/** What to launch: an agent's launch request, before the launch has a folder, with the agent itself and the size of its terminal. */
export interface LaunchOrder extends Omit<LaunchRequest, "launchDir" | "hookCommand" | "permissionTimeoutMs"> {
  readonly template: AgentTemplate;
  readonly size: { readonly cols: number; readonly rows: number };
}

/** The ids of one launch. They are stored before the process runs, so that a crash in between leaves no unknown process. */
export interface LaunchNames {
  readonly launchId: string;
  readonly terminalId: string;
}

/** What launching needs. */
export interface LaunchDeps {
  readonly host: TerminalHostClient;
  /** The state folder. */
  readonly home: string;
  readonly hookCommand: string;
  readonly hooks: { readonly socketPath: string };
  readonly permissionAnswerMs: number;
}

/** The folder of one launch: its hook inbox and settings files. */
export function launchDirOf(home: string, launchId: string): string {
  return join(home, "sessions", launchId);
}

/** The hook inbox of one launch. */
export function inboxPathOf(home: string, launchId: string): string {
  return join(launchDirOf(home, launchId), "inbox.jsonl");
}

/** The file from which the agent's editor reads a prompt, next to the launch's inbox. */
export function promptPathBeside(inboxPath: string): string {
  return join(dirname(inboxPath), "prompt");
}

/** The name under which the terminal host keeps a session from running twice. */
export function leaseKeyOf(session: { readonly agent: string; readonly sessionId: string }): string {
  return `${session.agent}:${session.sessionId}`;
}

export function newLaunchNames(): LaunchNames {
  return { launchId: newUuid(), terminalId: newUuid() };
}

// If a hook takes longer, the agent ends it and shows a failure. So the gateway's own limit is shorter, even after a restart.
const hookMarginMs = 30_000;

/** Creates the launch's folder and the files that the agent's template puts there. Nothing runs yet. */
export async function planLaunch(deps: LaunchDeps, order: LaunchOrder, { launchId }: LaunchNames): Promise<LaunchPlan> {
  const launchDir = launchDirOf(deps.home, launchId);
  await mkdir(launchDir, { recursive: true, mode: 0o700 });
  const permissionTimeoutMs = deps.permissionAnswerMs + hookMarginMs;
  return order.template.plan({ ...order, launchDir, hookCommand: deps.hookCommand, permissionTimeoutMs });
}

/** Spawns the process. @throws PosternError `session_busy` | `agent_start_failed` | `dir_not_allowed` (the directory was replaced by a link) */
export async function runLaunch(
  { host, home, hooks }: LaunchDeps,
  order: LaunchOrder,
  { launchId, terminalId, plan }: LaunchNames & { readonly plan: LaunchPlan },
): Promise<TerminalInfo> {
  const inboxPath = inboxPathOf(home, launchId);
  try {
    return await host.spawn({
      terminalId,
      leaseKey: leaseKeyOf({ agent: order.template.name, sessionId: order.sessionId }),
      argv: plan.argv,
      cwd: order.dir,
      env: {
        ...order.env,
        ...plan.env,
        ...editorVariables(order, inboxPath),
        POSTERN_SESSION_INBOX: inboxPath,
        POSTERN_SESSION_PERMISSIONS: hooks.socketPath,
      },
      ...order.size,
    });
  } catch (error) {
    throw explainSpawn(error, order);
  }
}

const editorScript = fileURLToPath(new URL("../agents/editor.sh", import.meta.url));

/** Sets our editor in place of the user's, for agents whose TUI accepts long text only through an editor. */
function editorVariables({ template, env }: LaunchOrder, inboxPath: string): Environment {
  if (template.paste.editorKey === null) return {};
  return {
    VISUAL: editorScript,
    EDITOR: editorScript,
    POSTERN_SESSION_PROMPT: promptPathBeside(inboxPath),
    POSTERN_SESSION_EDITOR: env["VISUAL"] || env["EDITOR"] || "",
  };
}

function explainSpawn(error: unknown, order: LaunchOrder): unknown {
  if (hasCode(error, "lease_held")) {
    return sessionError("session_busy", `Session ${order.sessionId} is already running in another terminal.`, {
      cause: error,
    });
  }
  if (hasCode(error, "dir_changed")) return sessionError("dir_not_allowed", error.message, { cause: error });
  if (error instanceof PosternError && error.code === "spawn_failed") {
    return sessionError("agent_start_failed", `Cannot start ${order.template.name}: ${error.message}`, {
      cause: error,
      details: { sessionId: order.sessionId, exitCode: null, lastScreen: "" },
    });
  }
  return error;
}

/** Removes the folder of a launch that is no longer needed. A folder that remains is removed at the next start. */
export async function removeLaunchDir(
  deps: { readonly home: string; readonly log: Log },
  launchId: string,
): Promise<void> {
  if (!isUuid(launchId)) return; // all launch ids are UUIDs; anything else could be a path outside the folder
  try {
    await rm(launchDirOf(deps.home, launchId), { recursive: true, force: true });
  } catch (error) {
    deps.log.warn({ launchId, error }, "cannot remove an old launch folder");
  }
}

/** Removes the folders of launches that no session refers to. `launchIds` is called after the folders are listed. */
export async function sweepLaunchDirs(
  deps: { readonly home: string; readonly log: Log },
  launchIds: () => Promise<ReadonlySet<string>>,
): Promise<void> {
  const names = await readdir(join(deps.home, "sessions")).catch((error: unknown) => {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  });
  const known = await launchIds();
  const unknown = names.filter((name) => !known.has(name));
  for (const name of unknown) await removeLaunchDir(deps, name);
  if (unknown.length > 0)
    deps.log.info({ folders: unknown.length }, "removed launch folders that no session refers to");
}
