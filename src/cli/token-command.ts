import type { Command } from "commander";
import { type Scope, scopeSchema } from "../wire/access.ts";
import { withStores } from "./context.ts";
import { absolutePath, type CommonOptions, collect, describe, duration, listOf } from "./options.ts";
import { printableJson, table } from "./plain-text.ts";
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
  context.stderr(`This token is shown once. It ${until}. Scopes: ${record.scopes.join(", ")}.\n`);
}
