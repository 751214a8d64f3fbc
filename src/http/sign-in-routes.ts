import { z } from "zod";
import type { Accounts } from "../accounts/index.ts";
import { isoTime } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import { scopes } from "../wire/access.ts";
import {
  browserSessionSchema,
  type Me,
  meSchema,
  signedInSchema,
  signInInputSchema,
  signInLinkSchema,
} from "../wire/sign-in.ts";
import { textSchema } from "../wire/text.ts";
import { browserCookie } from "./deciding.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";
import { requireAll } from "./route-server.ts";

export interface SignInRoutesDeps {
  readonly accounts: Pick<Accounts, "accountOf" | "audit" | "browsers" | "signIn">;
  /** A function, because the port is known only when the gateway listens. */
  readonly gateway: () => Me["gateway"];
}

const tags = ["sign-in"];

/** Sign-in and sign-out, signed-in browsers, and `/api/me`. */
export function signInRoutes(deps: SignInRoutesDeps): RouteModule {
  return (server) => {
    addSignIn(server, deps);
    addSignOut(server, deps);
    addLinks(server, deps);
    addBrowsers(server, deps);
    addMe(server, deps);
  };
}

function addSignIn({ app, checkFailures, originOf, ownPageOf }: RouteServer, { accounts }: SignInRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/sign-in",
    config: { access: "public", limit: "signIn" },
    schema: {
      operationId: "signIn",
      tags,
      summary: "Signs in a browser with a sign-in link.",
      description:
        "Only for the gateway's own pages; other origins are refused. Sets a cookie, which is valid only together with the key.",
      body: signInInputSchema,
      response: { 200: signedInSchema },
    },
    handler: async (request, reply) => {
      const ownOrigin = ownPageOf(request);
      const from = originOf(request);
      const { accountId, browserSessionId, cookie, key, expiresAt } = await accounts.signIn
        .redeem(request.body.link, { userAgent: from.userAgent ?? "" })
        .catch(async (error: unknown) => {
          checkFailures(request);
          const details = { by: "link", reason: messageOf(error) };
          await accounts.audit.note({ action: "sign_in_refused", accountId: null, subject: null, details, from });
          throw error;
        });
      const details = { by: "link" };
      await accounts.audit.note({ action: "signed_in", accountId, subject: browserSessionId, details, from });
      void reply.header("set-cookie", browserCookie(ownOrigin, cookie));
      return { key, expiresAt };
    },
  });
}

function addSignOut({ app, actorOf, ownPageOf, principalOf }: RouteServer, { accounts }: SignInRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/sign-out",
    config: { access: "signed-in" },
    schema: {
      operationId: "signOut",
      tags,
      summary: "Signs out the calling browser.",
      response: { 204: z.undefined().describe("Signed out") },
    },
    handler: async (request, reply) => {
      const { accountId, browserSessionId } = principalOf(request);
      if (browserSessionId === null) {
        throw new PosternError("invalid_request", "Only a signed-in browser can sign out. To end a token, revoke it.");
      }
      await accounts.browsers.revoke(accountId, browserSessionId);
      const noted = { subject: browserSessionId, details: {} };
      await accounts.audit.note({ ...actorOf(request), action: "signed_out", ...noted });
      return reply
        .code(204)
        .header("set-cookie", browserCookie(ownPageOf(request), null))
        .send();
    },
  });
}

function addLinks({ app, actorOf, principalOf }: RouteServer, { accounts, gateway }: SignInRoutesDeps): void {
  app.route({
    method: "POST",
    url: "/api/sign-in-links",
    config: { access: "admin" },
    schema: {
      operationId: "createSignInLink",
      tags,
      summary: "Creates a link that signs in another browser. Single use, expires after ten minutes.",
      description: "The browser gets all scopes of the account, so you must hold all of them.",
      response: { 201: signInLinkSchema },
    },
    handler: async (request, reply) => {
      const principal = principalOf(request);
      const { accountId, name, scopes: held } = await accounts.accountOf(principal);
      requireAll(principal, held);
      const made = await accounts.signIn.createUrl(accountId, gateway().baseUrl);
      const noted = { subject: accountId, details: { name } };
      await accounts.audit.note({ ...actorOf(request), action: "sign_in_link_created", ...noted });
      return reply.code(201).send(made);
    },
  });
}

function addBrowsers({ app, actorOf, principalOf }: RouteServer, { accounts }: SignInRoutesDeps): void {
  const { audit, browsers } = accounts;
  app.route({
    method: "GET",
    url: "/api/browser-sessions",
    config: { access: "own" },
    schema: {
      operationId: "listBrowserSessions",
      tags,
      summary: "Lists the account's signed-in browsers, newest first.",
      response: { 200: z.object({ browserSessions: z.array(browserSessionSchema) }) },
    },
    handler: async (request) => {
      const { accountId, browserSessionId: own } = principalOf(request);
      const signedIn = await browsers.list(accountId);
      return { browserSessions: signedIn.map((each) => ({ ...each, current: each.browserSessionId === own })) };
    },
  });

  app.route({
    method: "DELETE",
    url: "/api/browser-sessions/:browserSessionId",
    config: { access: "own" },
    schema: {
      operationId: "revokeBrowserSession",
      tags,
      summary: "Signs out a browser immediately. Its open connections close within five seconds.",
      params: z.strictObject({ browserSessionId: textSchema(200) }),
      response: { 204: z.undefined().describe("Signed out") },
    },
    handler: async (request, reply) => {
      const { accountId } = principalOf(request);
      const { browserSessionId: subject } = request.params;
      const revoked = (await browsers.list(accountId)).find((each) => each.browserSessionId === subject);
      await browsers.revoke(accountId, subject);
      const details = { userAgent: revoked?.userAgent };
      await audit.note({ ...actorOf(request), action: "browser_revoked", subject, details });
      return reply.code(204).send();
    },
  });
}

function addMe({ app, principalOf }: RouteServer, { accounts, gateway }: SignInRoutesDeps): void {
  app.route({
    method: "GET",
    url: "/api/me",
    config: { access: "signed-in" },
    schema: {
      operationId: "getMe",
      tags,
      summary: "Returns the caller's account, scopes and credential, and information about the gateway.",
      response: { 200: meSchema },
    },
    handler: async (request) => {
      const principal = principalOf(request);
      const { kind, folders, browserSessionId, expiresAt } = principal;
      return {
        account: await accounts.accountOf(principal),
        kind,
        scopes: scopes.filter((scope) => principal.scopes.has(scope)),
        folders: folders === null ? null : [...folders],
        browserSessionId,
        app: principal.app,
        expiresAt: expiresAt === null ? null : isoTime(expiresAt),
        gateway: gateway(),
      };
    },
  });
}
