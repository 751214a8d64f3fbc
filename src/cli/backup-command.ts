import type { Command } from "commander";
import { isoTime } from "../core/clock.ts";
import { absolutePath, type CommonOptions, describe } from "./options.ts";
import { count, plainLine, printableJson, sizeText } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface BackupOptions extends CommonOptions {
  readonly withoutKey?: true;
  readonly withRecordings?: true;
}

interface RestoreOptions extends CommonOptions {
  readonly replace?: true;
  readonly withoutReplay?: true;
}

/** `postern backup` and `postern restore`. */
export function addBackupCommands(program: Command, context: CliContext): void {
  describe(program.command("backup"), ["postern backup", "postern backup /mnt/disk/postern.tar.gz --with-recordings"])
    .description(
      "back up the state folder (store, config.json, gateway-id and key) to one file; the gateway can keep running. Protect the file like a password",
    )
    .argument("[file]", "path of the backup (default: postern-<time>.tar.gz in the current folder)")
    .option("--without-key", "omit the key: without it, encrypted parts of the store cannot be read")
    .option("--with-recordings", "include terminal recordings")
    .action(async (file: string | undefined, options: BackupOptions) => {
      const name = `postern-${isoTime(context.clock.now()).slice(0, 19).replaceAll(":", "-")}.tar.gz`;
      const made = await context.ports.backUp({
        file: absolutePath(file ?? name, context.cwd),
        withKey: options.withoutKey !== true,
        withRecordings: options.withRecordings === true,
        progress: progressOf(context, options),
      });
      if (options.json) return context.stdout(`${printableJson(made)}\n`);
      context.stdout(`${plainLine(made.file)}\n`);
      const secret = made.withKey
        ? " It contains the key and all secrets of this gateway. Protect it like a password."
        : "";
      return context.stderr(
        `Backed up ${made.createdAt}, ${sizeText(made.sizeBytes)}.${secret} To restore it: postern restore ${plainLine(made.file)}\n`,
      );
    });

  describe(program.command("restore"), [
    "postern restore postern-2026-01-31T12-00-00.tar.gz",
    "postern restore postern-2026-01-31T12-00-00.tar.gz --replace",
  ])
    .description(
      "restore the state folder from a backup; a failed restore changes nothing. Stop the gateway first. Items deleted or revoked since the backup stay deleted or revoked, if the current store has a record of it",
    )
    .argument("<file>", "the backup")
    .option("--replace", "move the existing state aside and keep it")
    .option("--without-replay", "also restore items that were deleted or revoked since")
    .action(async (file: string, options: RestoreOptions) => {
      const restored = await context.ports.restore({
        file: absolutePath(file, context.cwd),
        replace: options.replace === true,
        replay: options.withoutReplay !== true,
        progress: progressOf(context, options),
      });
      if (options.json) return context.stdout(`${printableJson(restored)}\n`);
      const { home, createdAt, before, replayed, withKey } = restored;
      context.stdout(`Restored ${plainLine(home)} from the backup of ${createdAt}.\n`);
      if (before !== null) {
        const places = [before.folder, before.schema === null ? null : `schema ${before.schema} of the database`];
        const said = places.filter((place) => place !== null).join(" and ");
        context.stderr(`The previous state is in ${plainLine(said)}. Remove it when you no longer need it.\n`);
      }
      if (!withKey) context.stderr("The backup has no key. Copy the original `key` file into the state folder.\n");
      if (replayed === null) {
        return context.stderr(
          "Items deleted or revoked after the backup are also restored, because there is no record of them here.\n",
        );
      }
      const { logs, sessions, accounts, credentials } = replayed;
      return context.stderr(
        `Not restored, because they were deleted since: ${count(logs, "memory entry", "memory entries")}, data of ${count(sessions, "session")}, ${count(accounts, "account")}, ${count(credentials, "sign-in or token", "sign-ins and tokens")}.\n`,
      );
    });
}

function progressOf(context: CliContext, { json }: CommonOptions): (step: string) => void {
  return json ? () => undefined : (step) => context.stderr(`${plainLine(step)}…\n`);
}
