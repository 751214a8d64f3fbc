/**
 * `backup_exists`: the file exists. `backup_folder_missing`: its folder does not exist. `backup_unreadable`: not a backup, or changed.
 * `backup_other_store`: a backup of the other kind of store. `home_not_empty`: the state folder already has a state.
 * `replay_failed`: later deletions could not be read from the current store.
 */
export type BackupErrorCode =
  | "backup_exists"
  | "backup_folder_missing"
  | "backup_unreadable"
  | "backup_other_store"
  | "home_not_empty"
  | "replay_failed";

export { createBackup, type MadeBackup } from "./create-backup.ts";
export { type RestoredBackup, restoreBackup } from "./restore-backup.ts";
export { finishRestore } from "./swap.ts";
