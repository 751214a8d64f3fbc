import type { Command } from "commander";
import { isoTime } from "../core/clock.ts";
import { absolutePath, type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson, sizeText } from "./plain-text.ts";
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
      "make one file of the state folder, while a gateway runs or not: the store, config.json, gateway-id and the key, so keep it as you keep a password",
    )
    .argument("[file]", "where it goes (default: postern-<time>.tar.gz in this folder)")
    .option("--without-key", "leave the key out: without it nothing that is sealed in the store can be opened")
    .option("--with-recordings", "take what terminals showed along")
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
        ? " It holds the key and every secret of this gateway: keep it as you keep a password."
        : "";
      return context.stderr(
        `A backup of ${made.createdAt}, ${sizeText(made.sizeBytes)}.${secret} Get it back with: postern restore\n`,
      );
    });

  describe(program.command("restore"), [
    "postern restore postern-2026-01-31T12-00-00.tar.gz",
    "postern restore postern-2026-01-31T12-00-00.tar.gz --replace",
  ])
    .description(
      "put the state folder back to what a backup holds, whole or not at all; no gateway may run. What was deleted or revoked since, as far as the present store knows, does not come back",
    )
    .argument("<file>", "the backup")
    .option("--replace", "move the state that is there aside, where it stays")
    .option("--without-replay", "let come back what was deleted and revoked since")
    .action(async (file: string, options: RestoreOptions) => {
      const restored = await context.ports.restore({
        file: absolutePath(file, context.cwd),
        replace: options.replace === true,
        replay: options.withoutReplay !== true,
        progress: progressOf(context, options),
      });
      if (options.json) return context.stdout(`${printableJson(restored)}\n`);
      const { home, createdAt, before, replayed, withKey } = restored;
      context.stdout(`Restored ${plainLine(home)} to its state of ${createdAt}.\n`);
      if (before !== null) {
        const places = [before.folder, before.schema === null ? null : `schema ${before.schema} of the database`];
        const said = places.filter((place) => place !== null).join(" and ");
        context.stderr(`The state of before is in ${plainLine(said)}; remove it when you need it no longer.\n`);
      }
      if (!withKey) context.stderr("The backup has no key: put the file `key` of then into the state folder.\n");
      if (replayed === null) {
        return context.stderr("What was deleted or revoked after the backup is not known here, and is back.\n");
      }
      const { logs, sessions, accounts, credentials } = replayed;
      return context.stderr(
        `Not back, because they went since: ${logs} log entries, traces of ${sessions} sessions, ${accounts} accounts, ${credentials} sign-ins and tokens.\n`,
      );
    });
}

function progressOf(context: CliContext, { json }: CommonOptions): (words: string) => void {
  return json ? () => undefined : (words) => context.stderr(`${plainLine(words)} …\n`);
}
