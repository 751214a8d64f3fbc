/**
 * Why there is no backup or no restore: `backup_exists` the file is there already, `backup_unreadable` it is none or was changed,
 * `backup_other_store` it is of the other kind of store, `home_not_empty` there is a state already, `replay_failed` what was deleted since cannot be
 * learned.
 */
export type BackupErrorCode =
  | "backup_exists"
  | "backup_unreadable"
  | "backup_other_store"
  | "home_not_empty"
  | "replay_failed";

export { createBackup, type MadeBackup } from "./create-backup.ts";
export { type RestoredBackup, restoreBackup } from "./restore-backup.ts";
export { finishRestore } from "./swap.ts";
