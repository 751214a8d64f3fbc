import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { sha256 } from "../core/ids.ts";
import type { OAuth } from "../oauth/index.ts";
import {
  type AuthorizationQuery,
  authorizationQuerySchema,
  decisionFormSchema,
  decisionKeyField,
  oauthPaths,
} from "../wire/oauth.ts";
import { consentPage } from "./consent-page.ts";
import { createDeciding, type Deciding, type DecidingDeps } from "./deciding.ts";
import { tickedScopes } from "./decision-form.ts";
import { addDeviceRoutes } from "./device-routes.ts";
import { isFresh } from "./etag.ts";
import { acceptFormsOnly } from "./form-body.ts";
import { oauthErrorsPage, oauthErrorsPath } from "./oauth-errors-page.ts";
import { answerMistake, askToSignIn, deciderOrSignIn, sendPage, sendTo } from "./page-answers.ts";
import { pageFiles } from "./page-frame.ts";
import { pageScript } from "./page-script.ts";
import { pageStyle } from "./page-style.ts";
import type { HttpApp, RouteModule } from "./route-server.ts";

/** What deciding needs. */
export interface DecisionRoutesDeps extends DecidingDeps {
  readonly oauth: Pick<OAuth, "decide" | "decideDevice" | "describe" | "describeDevice">;
}

/** The owner's side of the authorization server: consent, the seed's decision route, and devices. */
export function decisionRoutes(deps: DecisionRoutesDeps): RouteModule {
  return (server) => {
    const deciding = createDeciding(server, deps);
    void server.app.register(async (app: HttpApp) => {
      acceptFormsOnly(app);
      app.setErrorHandler(answerMistake);
      addFiles(app);
      addConsent(app, deps, deciding);
      addDecision(app, deps, deciding);
      addDeviceRoutes({ ...server, app }, deps, deciding);
    });
  };
}

/** The look and the script of the pages, and words about errors. */
function addFiles(app: HttpApp): void {
  const serve = (url: string, type: string, content: string): void => {
    const etag = `"${sha256(content).slice(0, 32)}"`;
    app.route({
      method: "GET",
      url,
      config: { access: "public" },
      schema: { hide: true },
      handler: async (request, reply) => {
        void reply.headers({ "cache-control": "no-cache", etag }).type(`${type}; charset=utf-8`);
        return isFresh(request.headers["if-none-match"], etag) ? reply.code(304).send() : reply.send(content);
      },
    });
  };
  app.route({
    method: "GET",
    url: oauthErrorsPath,
    config: { access: "public" },
    schema: { hide: true },
    handler: (_request, reply) => sendPage(reply, 200, oauthErrorsPage),
  });
  serve(pageFiles.style, "text/css", pageStyle);
  serve(pageFiles.script, "text/javascript", pageScript);
}

function addConsent(app: HttpApp, deps: DecisionRoutesDeps, deciding: Deciding): void {
  app.route({
    method: "GET",
    url: oauthPaths.authorize,
    config: { access: "public" },
    schema: { hide: true, querystring: authorizationQuerySchema },
    handler: async (request, reply) => {
      const principal = await deciding.viewer(request);
      if (principal === null) return askToSignIn(request, reply, request.url);
      return showConsent(deps, { request, reply, deciding, principal, parameters: parametersOf(request.query) });
    },
  });
}

function addDecision(app: HttpApp, deps: DecisionRoutesDeps, deciding: Deciding): void {
  app.route({
    method: "POST",
    url: oauthPaths.authorize,
    config: { access: "public", limit: "decision" },
    schema: {
      operationId: "decideAuthorization",
      tags: ["oauth"],
      summary: "Allows or denies a request for authorization, and sends the browser back to the client.",
      description:
        "For pages of the gateway, and for the bearer of a personal token with `admin`. Mistakes that the client can be told of are redirects too; where client or redirect are not known, nobody is sent anywhere.",
      body: decisionFormSchema,
      bodyType: "application/x-www-form-urlencoded",
      response: { 303: z.undefined().describe("To the client's redirect, with a code or an error") },
    },
    handler: async (request, reply) => {
      const form = request.body;
      const parameters = parametersOf(form);
      const back = `${oauthPaths.authorize}?${parameters.toString()}`;
      const decider = deciding.decider(request, form[decisionKeyField]);
      const principal = await deciderOrSignIn(decider, { request, reply, back });
      if (principal === null) return reply;
      const ticked = form.action === "allow" ? tickedScopes(form) : null;
      if (ticked?.length === 0) {
        return showConsent(deps, { request, reply, deciding, principal, parameters, noneTicked: true });
      }
      if (ticked !== null) parameters.set("scope", ticked.join(" "));
      if (form.action !== undefined) parameters.set("action", form.action);
      const { location } = await deps.oauth.decide(parameters, deciding.asDecider(principal, request));
      return sendTo(reply, location);
    },
  });
}

async function showConsent(
  { oauth, accounts }: DecisionRoutesDeps,
  page: {
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
    readonly deciding: Deciding;
    readonly principal: Principal;
    readonly parameters: URLSearchParams;
    readonly noneTicked?: boolean;
  },
): Promise<FastifyReply> {
  const { request, reply, deciding, principal, parameters, noneTicked = false } = page;
  const described = await oauth.describe(parameters, deciding.asDecider(principal, request));
  if ("location" in described) return sendTo(reply, described.location);
  const way = {
    back: `${oauthPaths.authorize}?${parameters.toString()}`,
    keyNeededFor: deciding.keyNeededFor(request),
    accountName: (await accounts.accountOf(principal)).name,
  };
  const shown = consentPage({ request: described.request, parameters, way, noneTicked });
  return sendPage(reply, noneTicked ? 400 : 200, shown);
}

/** What the authorization server gets to see of a request; all else is ignored (RFC 6749 section 3.1). */
function parametersOf(request: AuthorizationQuery): URLSearchParams {
  const known = authorizationQuerySchema.parse(request);
  const pairs = Object.entries(known).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one]));
  return new URLSearchParams(pairs);
}
