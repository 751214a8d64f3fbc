import { mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentTemplate, Environment, LaunchPlan } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { hasCode, isErrno, PosternError } from "../core/errors.ts";
import { isUuid, newUuid } from "../core/ids.ts";
import type { Log } from "../core/log.ts";
import type { TerminalHostClient, TerminalInfo } from "../terminal-host/terminal-info.ts";
import type { PermissionMode } from "../wire/coding.ts";
import { sessionError } from "./errors.ts";
import { leaseKeyOf } from "./identity.ts";
import type { PermissionHooks } from "./permission-hooks.ts";

/** What to launch. */
export interface LaunchOrder {
  readonly kind: "start" | "resume";
  readonly sessionId: string;
  readonly template: AgentTemplate;
  readonly binary: string;
  readonly env: Environment;
  readonly dir: string;
  readonly trustDir: boolean;
  readonly prompt: string | null;
  readonly model: string | null;
  readonly systemPrompt: string | null;
  readonly permissionMode: PermissionMode;
  readonly size: { readonly cols: number; readonly rows: number };
}

/** A launch that is about to run: its names are known (and stored) before the process is. */
export interface PreparedLaunch {
  readonly launchId: string;
  readonly terminalId: string;
  readonly inboxPath: string;
  /** Makes the launch's folder and what its template puts there. Nothing runs yet. */
  plan(): Promise<LaunchPlan>;
  /** Spawns the process. @throws PosternError `session_busy` | `agent_start_failed` | `dir_not_allowed` (replaced by a link) */
  run(plan: LaunchPlan): Promise<TerminalInfo>;
}

/** The folder of one launch: its hook inbox and settings files. */
export function launchDirOf(home: string, launchId: string): string {
  return join(home, "sessions", launchId);
}

/** The hook inbox of one launch. */
export function inboxPathOf(home: string, launchId: string): string {
  return join(launchDirOf(home, launchId), "inbox.jsonl");
}

/** Where a prompt of the launch with this inbox lies for the agent's editor to fetch. */
export function promptPathBeside(inboxPath: string): string {
  return join(dirname(inboxPath), "prompt");
}

/** Removes the folder of a launch that nothing needs any more. One that stays is swept at the next start. */
export async function removeLaunchDir(
  deps: { readonly home: string; readonly log: Log },
  launchId: string,
): Promise<void> {
  if (!isUuid(launchId)) return; // a name of ours is one; anything else could lead elsewhere
  try {
    await rm(launchDirOf(deps.home, launchId), { recursive: true, force: true });
  } catch (error) {
    deps.log.warn({ launchId, error }, "cannot remove the folder of an old launch");
  }
}

/** Removes the folders of launches that no session names. `launchIds` is asked after the folders were listed: a new one has its session first. */
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
    deps.log.info({ folders: unknown.length }, "removed the folders of launches that no session names");
}

// The agent ends a hook that takes longer, and shows that as a failure: the gateway's own limit comes first, a restart included.
const hookMarginMs = 30_000;

/** Names a launch; nothing runs before `run`. */
export function prepareLaunch(
  deps: {
    readonly host: TerminalHostClient;
    readonly home: string;
    readonly hookCommand: string;
    readonly hooks: PermissionHooks;
    readonly permissionAnswerMs: number;
    readonly clock: Clock;
  },
  order: LaunchOrder,
): PreparedLaunch {
  const launchId = newUuid();
  const terminalId = newUuid();
  const launchDir = launchDirOf(deps.home, launchId);
  const inboxPath = inboxPathOf(deps.home, launchId);
  return {
    launchId,
    terminalId,
    inboxPath,
    async plan() {
      await mkdir(launchDir, { recursive: true, mode: 0o700 });
      const permissionTimeoutMs = deps.permissionAnswerMs + hookMarginMs;
      return order.template.plan({ ...order, launchDir, hookCommand: deps.hookCommand, permissionTimeoutMs });
    },
    async run(plan) {
      try {
        return await deps.host.spawn({
          terminalId,
          leaseKey: leaseKeyOf({ agent: order.template.name, sessionId: order.sessionId }),
          argv: plan.argv,
          cwd: order.dir,
          env: {
            ...order.env,
            ...plan.env,
            ...editorVariables(order, inboxPath),
            POSTERN_SESSION_INBOX: inboxPath,
            POSTERN_SESSION_PERMISSIONS: deps.hooks.socketPath,
          },
          ...order.size,
        });
      } catch (error) {
        throw explainSpawn(error, order);
      }
    },
  };
}

const editorScript = fileURLToPath(new URL("../agents/editor.sh", import.meta.url));

/** Our editor in front of the user's own, for agents whose TUI takes long text only through one. */
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
