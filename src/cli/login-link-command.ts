import { type Command, InvalidArgumentError } from "commander";
import { hasCode } from "../core/errors.ts";
import { meSchema } from "../wire/sign-in.ts";
import { send, withStores } from "./context.ts";
import { type CommonOptions, describe } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface LinkOptions extends CommonOptions {
  readonly baseUrl?: string;
  readonly account?: string;
}

/** `postern login-link`, and `postern browser list|revoke` for who signed in with one: in the store, with or without a gateway. */
export function addLoginLinkCommands(program: Command, context: CliContext): void {
  describe(program.command("login-link"), [
    "postern login-link",
    "postern login-link --base-url https://postern.example.org",
    "postern login-link | qrencode -t ansiutf8",
    "postern login-link --account anna",
  ])
    .description("print a single-use link that signs in a browser as you")
    .option("--account <account>", "sign in as this account, by its name or ID (default: you, the owner)")
    .option("--base-url <url>", "the address that the browser uses (default: that of the running gateway)", webAddress)
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
        options.json ? `${printableJson({ revoked: browserSessionId })}\n` : `Signed ${browserSessionId} out.\n`,
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

/** The address of the gateway that runs, whose port may be another than the configuration's; null when none runs. */
export async function runningAddress(context: CliContext): Promise<string | null> {
  try {
    const me = await send(context, { method: "GET", path: "/api/me" }, meSchema);
    return me.gateway.baseUrl;
  } catch (error) {
    // `route_not_found`: one of an older version.
    if (hasCode(error, "gateway_not_running") || hasCode(error, "route_not_found")) return null;
    throw error;
  }
}

/** @throws InvalidArgumentError */
export function webAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? "")) return text;
  throw new InvalidArgumentError("Use an address such as https://postern.example.org.");
}

/** Whole minutes, rounded: a link is good for ten, also when a moment of them has passed. */
export function minutesUntil(time: string, clock: CliContext["clock"]): number {
  return Math.round((Date.parse(time) - clock.now()) / 60_000);
}
