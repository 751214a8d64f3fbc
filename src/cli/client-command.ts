import type { Command } from "commander";
import { addClientInputSchema } from "../wire/oauth.ts";
import { textSchema } from "../wire/text.ts";
import { withStores } from "./context.ts";
import { type CommonOptions, collect, describe, oneOf } from "./options.ts";
import { plainLine, printableJson, table } from "./plain-text.ts";
import type { CliContext } from "./ports.ts";

interface AddOptions extends CommonOptions {
  readonly redirect?: readonly string[];
  readonly confidential?: true;
}

const redirectSchema = addClientInputSchema.shape.redirectUris.unwrap().element;

function redirect(text: string, before?: readonly string[]): readonly string[] {
  return collect(oneOf(redirectSchema)(text), before);
}

/** `postern client add|list|remove`: clients of the authorization server; in the store, with or without a running gateway. */
export function addClientCommands(program: Command, context: CliContext): void {
  const group = program.command("client").description("make programs known that ask to be let in (OAuth2)");

  describe(group.command("add"), [
    "postern client add 'My phone app' --redirect com.example.app:/callback",
    "postern client add 'My server' --redirect https://app.example.org/callback --confidential",
    "postern client add 'A television' # none: for the device grant",
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
      return context.stdout(`${table(["ID", "NAME", "CAME", "REDIRECTS", "LAST USED"], rows)}\n`);
    });

  describe(group.command("remove"), ["postern client remove 3f0c…"])
    .description("remove a client and all its grants, effective immediately")
    .argument("<clientId>", "the ID that `postern client list` shows")
    .action(async (clientId: string, { json }: CommonOptions) => {
      await withStores(context, (stores) => stores.clients.remove(clientId));
      context.stdout(json ? `${printableJson({ removed: clientId })}\n` : `Removed ${plainLine(clientId)}.\n`);
    });
}
