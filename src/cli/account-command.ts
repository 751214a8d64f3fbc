import { type Command, InvalidArgumentError } from "commander";
import { hasCode } from "../core/errors.ts";
import { type Scope, scopeSchema } from "../wire/access.ts";
import type { AddAccountInput } from "../wire/accounts.ts";
import { meSchema } from "../wire/sign-in.ts";
import { textSchema } from "../wire/text.ts";
import { connect, withStores } from "./context.ts";
import { type CommonOptions, describe, listOf, oneOf } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface AddOptions extends CommonOptions {
  readonly scopes: readonly AddAccountInput["scopes"][number][];
  readonly baseUrl?: string;
}

const accountScopeSchema = scopeSchema.exclude(["admin"]);

/** `postern account add|list|remove`: accounts besides the owner's; with or without a running gateway. */
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
    .option("--base-url <url>", "gateway address for the link (default: the running gateway's)", webAddress)
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
      `\`postern login-link --account\` creates another link.\n`,
  );
}

function scopeList(scopes: readonly Scope[]): string {
  return scopes.join(",");
}

interface LinkOptions extends CommonOptions {
  readonly baseUrl?: string;
  readonly account?: string;
}

/** `postern login-link` and `postern browser list|revoke`; with or without a running gateway. */
export function addLoginLinkCommands(program: Command, context: CliContext): void {
  describe(program.command("login-link"), [
    "postern login-link",
    "postern login-link --base-url https://postern.example.org",
    "postern login-link | qrencode -t ansiutf8",
    "postern login-link --account anna",
  ])
    .description("print a single-use link that signs in a browser as you")
    .option("--account <account>", "sign in as this account, by its name or ID (default: you, the owner)")
    .option("--base-url <url>", "the address that the browser uses (default: the running gateway's)", webAddress)
    .action((options: LinkOptions) => makeLink(options, context));

  const group = program.command("browser").description("list and sign out browsers");

  describe(group.command("list"), ["postern browser list", "postern browser list --json"])
    .description("list signed-in browsers")
    .action(async (options: CommonOptions) => {
      const browsers = await withStores(context, (stores) => stores.browsers.list());
      if (options.json) return context.stdout(`${printableJson({ browserSessions: browsers })}\n`);
      if (browsers.length === 0) return context.stderr("No signed-in browsers. To sign one in: postern login-link\n");
      const rows = browsers.map((each) => [
        each.browserSessionId,
        each.createdAt,
        each.lastUsedAt,
        each.expiresAt,
        each.userAgent,
      ]);
      return context.stdout(`${table(["ID", "SIGNED IN", "LAST USED", "EXPIRES", "BROWSER"], rows)}\n`);
    });

  describe(group.command("revoke"), ["postern browser revoke 3f0c…"])
    .description("sign out a browser, effective immediately")
    .argument("<browserSessionId>", "the ID that `postern browser list` shows")
    .action(async (browserSessionId: string, options: CommonOptions) => {
      await withStores(context, (stores) => stores.browsers.revoke(browserSessionId));
      context.stdout(
        options.json ? `${printableJson({ revoked: browserSessionId })}\n` : `Signed out ${browserSessionId}.\n`,
      );
    });
}

async function makeLink({ account, baseUrl, json }: LinkOptions, context: CliContext): Promise<void> {
  const running = await runningAddress(context);
  const address = baseUrl ?? running;
  const { url, expiresAt } = await withStores(context, (stores) =>
    stores.browsers.createLink(address, account ?? null),
  );
  if (json) return context.stdout(`${printableJson({ url, expiresAt })}\n`);
  context.stdout(`${url}\n`);
  const minutes = minutesUntil(expiresAt, context.clock);
  context.stderr(
    `Signs in one browser as ${account === undefined ? "you" : plainLine(account)}. Single use, expires in ${minutes} minutes.\n`,
  );
  if (running === null) context.stderr("No gateway is running. Start one with `postern serve`.\n");
}

/** The address of the running gateway, whose port can differ from the configured one; null when none is running. */
export async function runningAddress(context: CliContext): Promise<string | null> {
  try {
    const me = await (await connect(context)).getMe({}, { output: meSchema });
    return me.gateway.baseUrl;
  } catch (error) {
    // `route_not_found`: a gateway of an older version is running.
    if (hasCode(error, "gateway_not_running") || hasCode(error, "route_not_found")) return null;
    throw error;
  }
}

/** @throws InvalidArgumentError */
export function webAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
  throw new InvalidArgumentError("Use an address such as https://postern.example.org.");
}

export function minutesUntil(time: string, clock: CliContext["clock"]): number {
  return Math.round((Date.parse(time) - clock.now()) / 60_000);
}
