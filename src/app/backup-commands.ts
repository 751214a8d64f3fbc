import { join } from "node:path";
import { createBackup, type MadeBackup, type RestoredBackup, restoreBackup } from "../backup/index.ts";
import type { BackupOptions, RestoreOptions } from "../cli/ports.ts";
import { removeAllLogs, removeLogs } from "../logs/index.ts";
import { type Config, loadConfig, stateFolder } from "./config.ts";
import { packageVersion } from "./version.ts";

/** Backs up the state folder of this configuration. @see createBackup */
export function backUp(options: BackupOptions, config: Config = loadConfig()): Promise<MadeBackup> {
  return createBackup({
    ...options,
    home: config.home,
    store: { url: config.databaseUrl, path: join(config.home, "postern.db") },
    version: packageVersion,
  });
}

/** Restores into the state folder of this environment, whose own configuration is not read: it is replaced. @see restoreBackup */
export function restore(
  options: RestoreOptions,
  env?: Readonly<Record<string, string | undefined>>,
): Promise<RestoredBackup> {
  return restoreBackup({ ...options, ...stateFolder(env), ports: { removeLogs, removeAllLogs } });
}
