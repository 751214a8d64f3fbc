import type { Command } from "commander";
import { type Scope, scopeSchema } from "../wire/access.ts";
import type { AddAccountInput } from "../wire/accounts.ts";
import { textSchema } from "../wire/text.ts";
import { withStores } from "./context.ts";
import { minutesUntil, runningAddress, webAddress } from "./login-link-command.ts";
import { type CommonOptions, describe, listOf, oneOf } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface AddOptions extends CommonOptions {
  readonly scopes: readonly AddAccountInput["scopes"][number][];
  readonly baseUrl?: string;
}

const accountScopeSchema = scopeSchema.exclude(["admin"]);

/** `postern account add|list|remove`: who may sign in beside the owner; in the store, with or without a running gateway. */
export function addAccountCommands(program: Command, context: CliContext): void {
  const group = program.command("account").description("manage accounts for other people");

  describe(group.command("add"), [
    "postern account add anna --scopes coding:read,coding:write",
    "postern account add anna --scopes coding:read --base-url https://postern.example.org",
  ])
    .description("add an account and print the link that signs in its first browser")
    .argument("<name>", "a unique name", oneOf(textSchema(100)))
    .requiredOption(
      "--scopes <list>",
      `its scopes, comma-separated: ${accountScopeSchema.options.join(", ")}`,
      listOf(accountScopeSchema),
    )
    .option("--base-url <url>", "the address that its browser uses (default: that of the running gateway)", webAddress)
    .action((name: string, options: AddOptions) => addAccount(name, options, context));

  describe(group.command("list"), ["postern account list", "postern account list --json"])
    .description("list accounts, the owner's first")
    .action(async ({ json }: CommonOptions) => {
      const accounts = await withStores(context, (stores) => stores.accounts.list());
      if (json) return context.stdout(`${printableJson({ accounts })}\n`);
      const rows = accounts.map((account) => [
        account.accountId,
        account.name,
        account.isOwner ? "all (owner)" : scopeList(account.scopes),
        account.createdAt,
      ]);
      return context.stdout(`${table(["ID", "NAME", "SCOPES", "ADDED"], rows)}\n`);
    });

  describe(group.command("remove"), ["postern account remove anna"])
    .description("remove an account with its tokens, browsers, passkeys, apps and webhooks, effective immediately")
    .argument("<account>", "its name or ID")
    .action(async (account: string, { json }: CommonOptions) => {
      const removed = await withStores(context, (stores) => stores.accounts.remove(account));
      context.stdout(
        json
          ? `${printableJson({ removed })}\n`
          : `Removed ${plainLine(removed.name)}. Its open connections close within 5 seconds.\n`,
      );
    });
}

async function addAccount(name: string, options: AddOptions, context: CliContext): Promise<void> {
  const address = options.baseUrl ?? (await runningAddress(context));
  const added = await withStores(context, (stores) =>
    stores.accounts.add({ name, scopes: [...options.scopes] }, address),
  );
  if (options.json) return context.stdout(`${printableJson(added)}\n`);
  context.stdout(`${added.signInLink.url}\n`);
  const minutes = minutesUntil(added.signInLink.expiresAt, context.clock);
  const shown = plainLine(name);
  context.stderr(
    `Added ${shown} with ${scopeList(added.scopes)}. The link signs in one browser as ${shown}. Single use, expires in ${minutes} minutes;\n` +
      `\`postern login-link --account\` makes another.\n`,
  );
}

function scopeList(scopes: readonly Scope[]): string {
  return scopes.join(",");
}
