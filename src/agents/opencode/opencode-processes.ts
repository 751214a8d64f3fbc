import { readdirSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { descendantsOf } from "../../platform/processes.ts";
import { agentProcesses, idIn, linkOf, optionsOf, variablesOf } from "../agent-processes.ts";
import type { ExternalHolder } from "../template.ts";
import { openCodeDatabase } from "./opencode-config.ts";
import { sessionName } from "./opencode-database.ts";

const program = /(?:^|\/)opencode$/;

/** The session that the arguments of a program name, if it is an OpenCode; null when they name none, or for another program. Pure. */
export function openCodeArguments(argv: readonly string[]): string | null {
  const options = optionsOf(argv, program);
  return options === null ? null : namedIn(options);
}

function namedIn(options: readonly string[]): string | null {
  return idIn(options, /^(?:--session|-s)(?:=(.*))?$/s, (value) => sessionName.test(value));
}

/**
 * The sessions of a database that the arguments of live processes name, on Linux: no file of the agent tells who runs a session. Those
 * that a gateway started are left out: it knows them itself, and in which session they are by now.
 */
export async function openCodeSessions(database: string): Promise<ReadonlyMap<string, ExternalHolder>> {
  const found = new Map<string, ExternalHolder>();
  for (const { row, options } of await agentProcesses("opencode", program)) {
    const named = namedIn(options);
    if (named === null) continue;
    const env = variablesOf(row.pid, ["HOME", "XDG_DATA_HOME", "OPENCODE_DB", "POSTERN_SESSION_INBOX"]);
    if (env["POSTERN_SESSION_INBOX"] || openCodeDatabase(env) !== database) continue;
    found.set(named, { pid: row.pid, activity: null });
  }
  return found;
}

/**
 * Whether neither this process nor one that it started has opened its database yet, which a slow start does within seconds of work. Told on
 * Linux alone.
 */
export function isBeforeDatabase(pid: number, database: string): boolean {
  try {
    const path = join(realpathSync(dirname(database)), basename(database));
    return ![pid, ...descendantsOf(pid).map((child) => child.pid)].some((one) => hasOpen(one, path));
  } catch {
    return false; // gone, its folder is not there yet, or no Linux
  }
}

function hasOpen(pid: number, path: string): boolean {
  const files = `/proc/${pid}/fd`;
  return readdirSync(files).some((file) => linkOf(`${files}/${file}`) === path);
}
