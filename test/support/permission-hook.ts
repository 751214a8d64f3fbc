import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../../src/agents/hook.mjs", import.meta.url));

/** A hook that an agent has called for a permission. */
export interface RunningHook {
  /** All that it said on its standard output, when it has ended. */
  readonly said: Promise<string>;
  readonly exitCode: Promise<unknown>;
  end(): void;
}

/** Calls the real hook script as an agent does. */
export function callPermissionHook(
  folder: string,
  { socketPath, input }: { readonly socketPath: string; readonly input: unknown },
): RunningHook {
  const child = spawn(process.execPath, [script], {
    env: { POSTERN_SESSION_INBOX: join(folder, "inbox"), POSTERN_SESSION_PERMISSIONS: socketPath },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
  child.stdin.end(JSON.stringify({ hook_event_name: "PermissionRequest", tool_name: "Write", tool_input: input }));
  const closed = once(child, "close");
  return {
    end: () => void child.kill("SIGKILL"),
    said: closed.then(() => said),
    exitCode: closed.then(([code]: unknown[]) => code),
  };
}
