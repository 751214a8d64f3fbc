import { z } from "zod";
import type { Accounts } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import { createdTokenSchema, createTokenInputSchema, tokenSchema } from "../wire/access.ts";
import {
  accountSchema,
  addAccountInputSchema,
  addedAccountSchema,
  auditPageSchema,
  auditQuerySchema,
} from "../wire/accounts.ts";
import { signInLinkSchema } from "../wire/sign-in.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";
import { requireAll } from "./route-server.ts";

export interface AccountRoutesDeps {
  readonly accounts: Pick<Accounts, "audit" | "directory" | "signIn">;
  /** The base URL of sign-in links. */
  readonly baseUrl: () => string;
}

const tags = ["accounts"];
const config = { access: "admin" } as const;
const params = z.strictObject({ accountId: textSchema(200) });

/** `/api/accounts`: the accounts that can sign in. Only the owner holds `admin`. */
export function accountRoutes(deps: AccountRoutesDeps): RouteModule {
  return (server) => {
    addList(server, deps);
    addAdd(server, deps);
    addLinks(server, deps);
    addRemove(server, deps);
  };
}

function addList({ app }: RouteServer, { accounts }: AccountRoutesDeps): void {
  app.route({
    method: "GET",
    url: "/api/accounts",
    config,
    schema: {
      operationId: "listAccounts",
      tags,
      summary: "Lists accounts, the owner first.",
      response: { 200: z.object({ accounts: z.array(accountSchema) }) },
    },
    handler: async () => ({ accounts: [...(await accounts.directory.list())] }),
  });
}

function addAdd({ app, principalOf, actorOf }: RouteServer, { accounts, baseUrl }: AccountRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/accounts",
    config,
    schema: {
      operationId: "addAccount",
      tags,
      summary: "Adds an account and creates a link that signs in its first browser.",
      description:
        "The account, its tokens, browsers and apps are limited to these scopes. You can only grant scopes that you hold.",
      body: addAccountInputSchema,
      response: { 201: addedAccountSchema },
    },
    handler: async (request, reply) => {
      requireAll(principalOf(request), request.body.scopes);
      const account = await accounts.directory.add(request.body);
      const { accountId: subject, name, scopes } = account;
      const details = { name, scopes };
      await accounts.audit.note({ ...actorOf(request), action: "account_added", subject, details });
      const signInLink = await accounts.signIn.createUrl(subject, baseUrl());
      return reply.code(201).send({ ...account, signInLink });
    },
  });
}

function addLinks({ app, principalOf, actorOf }: RouteServer, { accounts, baseUrl }: AccountRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/accounts/:accountId/sign-in-links",
    config,
    schema: {
      operationId: "createAccountSignInLink",
      tags: ["sign-in"],
      summary: "Creates a link that signs in a browser as this account. Single use, expires after ten minutes.",
      description: "You must hold every scope of the account.",
      params,
      response: { 201: signInLinkSchema },
    },
    handler: async (request, reply) => {
      const { accountId } = request.params;
      const account = await accounts.directory.find(accountId);
      if (account === null)
        throw new PosternError(
          "account_not_found",
          `No account has the id ${accountId}. Run \`postern account list\`.`,
        );
      requireAll(principalOf(request), account.scopes);
      const made = await accounts.signIn.createUrl(accountId, baseUrl());
      const noted = { subject: accountId, details: { name: account.name } };
      await accounts.audit.note({ ...actorOf(request), action: "sign_in_link_created", ...noted });
      return reply.code(201).send(made);
    },
  });
}

function addRemove({ app, actorOf }: RouteServer, { accounts }: AccountRoutesDeps): void {
  app.route({
    method: "DELETE",
    url: "/api/accounts/:accountId",
    config,
    schema: {
      operationId: "removeAccount",
      tags,
      summary: "Removes an account and its tokens, browsers, passkeys, apps and webhooks.",
      description: "Its open connections close within five seconds. The owner's account cannot be removed.",
      params,
      response: { 204: z.undefined().describe("Removed") },
    },
    handler: async (request, reply) => {
      const { accountId: subject, name } = await accounts.directory.remove(request.params.accountId);
      await accounts.audit.note({ ...actorOf(request), action: "account_removed", subject, details: { name } });
      return reply.code(204).send();
    },
  });
}

/** `GET /api/audit`: the audit log. */
export function auditRoutes({ audit }: Pick<Accounts, "audit">): RouteModule {
  return ({ app }) => {
    app.route({
      method: "GET",
      url: "/api/audit",
      config: { access: "admin" },
      schema: {
        operationId: "listAudit",
        tags: ["accounts"],
        summary: "Lists the audit log, newest first: sign-ins, tokens, apps, accounts, deletions.",
        description:
          "Covers all accounts. The newest 10,000 entries per account are kept, 100,000 in total, plus 5,000 of unauthenticated callers.",
        querystring: auditQuerySchema,
        response: { 200: auditPageSchema },
      },
      handler: async (request) => audit.page(request.query),
    });
  };
}

const tokenTags = ["tokens"];

/** `/api/tokens`: the caller's own personal tokens. */
export function tokenRoutes({ tokens, audit }: Pick<Accounts, "tokens" | "audit">): RouteModule {
  return ({ app, actorOf, principalOf }) => {
    app.route({
      method: "GET",
      url: "/api/tokens",
      config: { access: "admin" },
      schema: {
        operationId: "listTokens",
        tags: tokenTags,
        summary: "Lists the account's active personal tokens, without the tokens themselves.",
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
        tags: tokenTags,
        summary: "Creates a personal token, which is returned only once.",
        description: "You can only grant scopes that you hold.",
        body: createTokenInputSchema,
        response: { 201: createdTokenSchema },
      },
      handler: async (request, reply) => {
        const { name, scopes, expiresAt = null, folders = null } = request.body;
        const wanted = { name, scopes, expiresAt: expiresAt === null ? null : Date.parse(expiresAt), folders };
        const principal = principalOf(request);
        requireAll(principal, scopes);
        const { token, record } = await tokens.create(principal.accountId, wanted);
        const { tokenId: subject, scopes: given, expiresAt: until } = record;
        const details = { name, scopes: given, expiresAt: until, folders: record.folders };
        await audit.note({ ...actorOf(request), action: "token_created", subject, details });
        return reply.code(201).send({ ...record, token });
      },
    });

    app.route({
      method: "DELETE",
      url: "/api/tokens/:tokenId",
      config: { access: "admin" },
      schema: {
        operationId: "revokeToken",
        tags: tokenTags,
        summary: "Revokes a token immediately.",
        params: z.strictObject({ tokenId: textSchema(200) }),
        response: { 204: z.undefined().describe("Revoked") },
      },
      handler: async (request, reply) => {
        const { accountId } = principalOf(request);
        const { tokenId } = request.params;
        const revoked = (await tokens.list(accountId)).find((token) => token.tokenId === tokenId);
        await tokens.revoke(accountId, tokenId);
        const details = { name: revoked?.name };
        await audit.note({ ...actorOf(request), action: "token_revoked", subject: tokenId, details });
        return reply.code(204).send();
      },
    });
  };
}
