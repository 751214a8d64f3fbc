import { z } from "zod";
import type { Accounts } from "../accounts/index.ts";
import { createdTokenSchema, createTokenInputSchema, tokenSchema } from "../wire/access.ts";
import { textSchema } from "../wire/text.ts";
import { requireAll } from "./route-access.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["tokens"];

/** `/api/tokens`: the caller's own personal tokens. */
export function tokenRoutes({ tokens, audit }: Pick<Accounts, "tokens" | "audit">): RouteModule {
  return ({ app, originOf, principalOf }) => {
    app.route({
      method: "GET",
      url: "/api/tokens",
      config: { access: "admin" },
      schema: {
        operationId: "listTokens",
        tags,
        summary: "The account's personal tokens in force, without the tokens themselves.",
        response: { 200: z.object({ tokens: z.array(tokenSchema) }) },
      },
      handler: async (request) => ({ tokens: [...(await tokens.list(principalOf(request).accountId))] }),
    });

    app.route({
      method: "POST",
      url: "/api/tokens",
      config: { access: "admin" },
      schema: {
        operationId: "createToken",
        tags,
        summary: "Makes a personal token. It is shown this one time.",
        description: "It holds no scope that the caller lacks.",
        body: createTokenInputSchema,
        response: { 201: createdTokenSchema },
      },
      handler: async (request, reply) => {
        const { name, scopes, expiresAt = null, folders = null } = request.body;
        const wanted = { name, scopes, expiresAt: expiresAt === null ? null : Date.parse(expiresAt), folders };
        const principal = principalOf(request);
        requireAll(principal, scopes);
        const { accountId } = principal;
        const { token, record } = await tokens.create(accountId, wanted);
        const { tokenId: subject, scopes: given, expiresAt: until } = record;
        const details = { name, scopes: given, expiresAt: until, folders: record.folders };
        await audit.note({ action: "token_created", accountId, subject, details, from: originOf(request) });
        return reply.code(201).send({ ...record, token });
      },
    });

    app.route({
      method: "DELETE",
      url: "/api/tokens/:tokenId",
      config: { access: "admin" },
      schema: {
        operationId: "revokeToken",
        tags,
        summary: "Revokes a token, at once.",
        params: z.strictObject({ tokenId: textSchema(200) }),
        response: { 204: z.undefined().describe("Revoked") },
      },
      handler: async (request, reply) => {
        const { accountId } = principalOf(request);
        const { tokenId } = request.params;
        const revoked = (await tokens.list(accountId)).find((token) => token.tokenId === tokenId);
        await tokens.revoke(accountId, tokenId);
        const from = originOf(request);
        await audit.note({
          action: "token_revoked",
          accountId,
          subject: tokenId,
          details: { name: revoked?.name },
          from,
        });
        return reply.code(204).send();
      },
    });
  };
}
