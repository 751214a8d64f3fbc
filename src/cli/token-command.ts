import type { Command } from "commander";
import { type Scope, scopeSchema } from "../wire/access.ts";
import { addClientInputSchema } from "../wire/oauth.ts";
import { textSchema } from "../wire/text.ts";
import { withStores } from "./context.ts";
import { absolutePath, type CommonOptions, collect, describe, duration, listOf, oneOf } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface CreateOptions extends CommonOptions {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly expires?: number;
  readonly folder?: readonly string[];
}

/** `postern token create|list|revoke`: personal tokens, in the store, with or without a running gateway. */
export function addTokenCommands(program: Command, context: CliContext): void {
  const group = program.command("token").description("create, list and revoke personal tokens");

  describe(group.command("create"), [
    "postern token create --name laptop --scopes coding:read,coding:write --expires 30d",
    'curl -H "Authorization: Bearer $(postern token create --name once --scopes coding:read)" localhost:7177/manifest',
  ])
    .description("create a token and print it; it is shown only once")
    .requiredOption("--name <name>", "a name to recognize it by")
    .requiredOption("--scopes <list>", `comma-separated: ${scopeSchema.options.join(", ")}`, listOf(scopeSchema))
    .option("--expires <duration>", "90m, 12h, 30d or 4w from now (default: never)", duration)
    .option("--folder <path>", "limit it to this folder; can be repeated", collect)
    .action((options: CreateOptions) => createToken(options, context));

  describe(group.command("list"), ["postern token list", "postern token list --json"])
    .description("list active tokens")
    .action(async (options: CommonOptions) => {
      const tokens = await withStores(context, (stores) => stores.tokens.list());
      if (options.json) return context.stdout(`${printableJson({ tokens })}\n`);
      if (tokens.length === 0) return context.stderr("No tokens. To create one: postern token create\n");
      const rows = tokens.map((token) => [
        token.tokenId,
        token.name,
        token.scopes.join(","),
        token.folders?.join(",") ?? "-",
        token.expiresAt ?? "never",
        token.lastUsedAt ?? "never",
      ]);
      return context.stdout(`${table(["ID", "NAME", "SCOPES", "FOLDERS", "EXPIRES", "LAST USED"], rows)}\n`);
    });

  describe(group.command("revoke"), ["postern token revoke 3f0c…"])
    .description("revoke a token, effective immediately")
    .argument("<tokenId>", "the ID that `postern token list` shows")
    .action(async (tokenId: string, options: CommonOptions) => {
      await withStores(context, (stores) => stores.tokens.revoke(tokenId));
      context.stdout(options.json ? `${printableJson({ revoked: tokenId })}\n` : `Revoked ${tokenId}.\n`);
    });
}

async function createToken(options: CreateOptions, context: CliContext): Promise<void> {
  const { token, record } = await withStores(context, (stores) =>
    stores.tokens.create({
      name: options.name,
      scopes: options.scopes,
      expiresAt: options.expires === undefined ? null : context.clock.now() + options.expires,
      folders: options.folder?.map((path) => absolutePath(path, context.cwd)) ?? null,
    }),
  );
  if (options.json) return context.stdout(`${printableJson({ token, record })}\n`);
  context.stdout(`${token}\n`);
  const until = record.expiresAt === null ? "never expires" : `expires ${record.expiresAt}`;
  context.stderr(`Save this token, it is not shown again. It ${until}. Scopes: ${record.scopes.join(", ")}.\n`);
}

interface AddOptions extends CommonOptions {
  readonly redirect?: readonly string[];
  readonly confidential?: true;
}

const redirectSchema = addClientInputSchema.shape.redirectUris.unwrap().element;

function redirect(text: string, before?: readonly string[]): readonly string[] {
  return collect(oneOf(redirectSchema)(text), before);
}

/** `postern client add|list|remove`: OAuth clients; with or without a running gateway. */
export function addClientCommands(program: Command, context: CliContext): void {
  const group = program.command("client").description("manage OAuth clients of the authorization server");

  describe(group.command("add"), [
    "postern client add 'My phone app' --redirect com.example.app:/callback",
    "postern client add 'My server' --redirect https://app.example.org/callback --confidential",
    "postern client add 'My TV app' # no redirect: device grant",
  ])
    .description("add a client and print its ID; with --confidential also its secret, which is shown only once")
    .argument("<name>", "the name shown on the consent page", oneOf(textSchema(100)))
    .option("--redirect <uri>", "redirect URI; can be repeated", redirect)
    .option("--confidential", "create a secret, for a server that can keep one")
    .action(async (name: string, { json, redirect: uris = [], confidential }: AddOptions) => {
      const wanted = { name, redirectUris: [...uris], confidential: confidential === true };
      const added = await withStores(context, (stores) => stores.clients.add(wanted));
      if (json) return context.stdout(`${printableJson(added)}\n`);
      const { clientId, clientSecret } = added;
      context.stdout(clientSecret === null ? `${clientId}\n` : `${clientId}\n${clientSecret}\n`);
      return context.stderr(
        clientSecret === null
          ? "This is the client's ID.\n"
          : "The client's ID, and its secret, which is shown only once.\n",
      );
    });

  describe(group.command("list"), ["postern client list", "postern client list --json"])
    .description("list all clients")
    .action(async ({ json }: CommonOptions) => {
      const clients = await withStores(context, (stores) => stores.clients.list());
      if (json) return context.stdout(`${printableJson({ clients })}\n`);
      if (clients.length === 0)
        return context.stderr("No clients. Most register themselves; to add one: postern client add\n");
      const rows = clients.map((client) => [
        client.clientId,
        client.name,
        client.origin,
        client.redirectUris.join(","),
        client.lastUsedAt ?? "never",
      ]);
      return context.stdout(`${table(["ID", "NAME", "ORIGIN", "REDIRECTS", "LAST USED"], rows)}\n`);
    });

  describe(group.command("remove"), ["postern client remove 3f0c…"])
    .description("remove a client and all its grants, effective immediately")
    .argument("<clientId>", "the ID that `postern client list` shows")
    .action(async (clientId: string, { json }: CommonOptions) => {
      await withStores(context, (stores) => stores.clients.remove(clientId));
      context.stdout(json ? `${printableJson({ removed: clientId })}\n` : `Removed ${plainLine(clientId)}.\n`);
    });
}
