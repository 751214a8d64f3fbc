import { z } from "zod";
import type { Accounts } from "../accounts/index.ts";
import { PosternError } from "../core/errors.ts";
import { accountSchema, addAccountInputSchema, addedAccountSchema } from "../wire/accounts.ts";
import { signInLinkSchema } from "../wire/sign-in.ts";
import { textSchema } from "../wire/text.ts";
import { requireAll } from "./route-access.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";

/** What the routes of accounts need. */
export interface AccountRoutesDeps {
  readonly accounts: Pick<Accounts, "audit" | "directory" | "signIn">;
  /** The address that links lead to. */
  readonly baseUrl: () => string;
}

const tags = ["accounts"];
const config = { access: "admin" } as const;
const params = z.strictObject({ accountId: textSchema(200) });

/** `/api/accounts`: who may sign in. Only the owner holds `admin`. */
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
      summary: "Who may sign in, the owner first.",
      response: { 200: z.object({ accounts: z.array(accountSchema) }) },
    },
    handler: async () => ({ accounts: [...(await accounts.directory.list())] }),
  });
}

function addAdd({ app, principalOf, originOf }: RouteServer, { accounts, baseUrl }: AccountRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/accounts",
    config,
    schema: {
      operationId: "addAccount",
      tags,
      summary: "Adds an account, and makes the link that signs its first browser in.",
      description:
        "It may at most what it is given here, and so may its tokens, browsers and apps. It is given nothing that the caller lacks.",
      body: addAccountInputSchema,
      response: { 201: addedAccountSchema },
    },
    handler: async (request, reply) => {
      requireAll(principalOf(request), request.body.scopes);
      const account = await accounts.directory.add(request.body);
      await accounts.audit.note({
        action: "account_added",
        accountId: principalOf(request).accountId,
        subject: account.accountId,
        details: { name: account.name, scopes: account.scopes },
        from: originOf(request),
      });
      const signInLink = await accounts.signIn.createUrl(account.accountId, baseUrl());
      return reply.code(201).send({ ...account, signInLink });
    },
  });
}

function addLinks({ app, principalOf, originOf }: RouteServer, { accounts, baseUrl }: AccountRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/accounts/:accountId/sign-in-links",
    config,
    schema: {
      operationId: "createAccountSignInLink",
      tags: ["sign-in"],
      summary: "Makes a link that signs a browser in as this account: good once, for ten minutes.",
      description: "The caller must hold all that the account may.",
      params,
      response: { 201: signInLinkSchema },
    },
    handler: async (request, reply) => {
      const { accountId } = request.params;
      const account = await accounts.directory.find(accountId);
      if (account === null) throw new PosternError("account_not_found", `There is no account ${accountId}.`);
      const principal = principalOf(request);
      requireAll(principal, account.scopes);
      const made = await accounts.signIn.createUrl(accountId, baseUrl());
      await accounts.audit.note({
        action: "sign_in_link_created",
        accountId: principal.accountId,
        subject: accountId,
        details: { name: account.name },
        from: originOf(request),
      });
      return reply.code(201).send(made);
    },
  });
}

function addRemove({ app, principalOf, originOf }: RouteServer, { accounts }: AccountRoutesDeps): void {
  app.route({
    method: "DELETE",
    url: "/api/accounts/:accountId",
    config,
    schema: {
      operationId: "removeAccount",
      tags,
      summary: "Removes an account with its tokens, browsers, passkeys, apps and webhooks.",
      description: "What it has open ends within five seconds. The owner's account cannot be removed.",
      params,
      response: { 204: z.undefined().describe("Removed") },
    },
    handler: async (request, reply) => {
      const account = await accounts.directory.remove(request.params.accountId);
      await accounts.audit.note({
        action: "account_removed",
        accountId: principalOf(request).accountId,
        subject: account.accountId,
        details: { name: account.name },
        from: originOf(request),
      });
      return reply.code(204).send();
    },
  });
}
