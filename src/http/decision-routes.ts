import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { sha256 } from "../core/ids.ts";
import type { AuthorizationRequest, OAuth } from "../oauth/index.ts";
import {
  type AuthorizationQuery,
  authorizationQuerySchema,
  decisionFormSchema,
  decisionKeyField,
  oauthPaths,
} from "../wire/oauth.ts";
import { isFresh } from "./answers.ts";
import { createDeciding, type Deciding, type DecidingDeps } from "./deciding.ts";
import { decisionForm, type FormWay, nameOfClient, tickedScopes, whoAsks } from "./decision-form.ts";
import { addDeviceRoutes } from "./device-routes.ts";
import { acceptFormsOnly } from "./fastify-app.ts";
import { isLoopback } from "./known-host.ts";
import { answerMistake, askToSignIn, deciderOrSignIn, sendPage, sendTo } from "./page-answers.ts";
import { pageScript, pageStyle } from "./page-files.ts";
import { claimed, type Html, html, notice, pageFiles, pageOf } from "./page-frame.ts";
import type { HttpApp, RouteModule } from "./route-server.ts";

export interface DecisionRoutesDeps extends DecidingDeps {
  readonly oauth: Pick<OAuth, "decide" | "decideDevice" | "describe" | "describeDevice">;
}

/** The user's side of the authorization server: consent, decisions and devices. */
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

/** The style sheet and script of the pages, and the page about errors. */
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
      summary: "Allows or denies an authorization request and redirects the browser to the client.",
      description:
        "For pages of the gateway and personal tokens with `admin`. Errors are reported to the client by redirect, unless the client or the redirect URI is unknown.",
      body: decisionFormSchema,
      bodyType: "application/x-www-form-urlencoded",
      response: { 303: z.undefined().describe("Redirect to the client with a code or an error") },
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

/** The parameters passed to the authorization server. Others are ignored (RFC 6749 section 3.1). */
function parametersOf(request: AuthorizationQuery): URLSearchParams {
  const known = authorizationQuerySchema.parse(request);
  const pairs = Object.entries(known).flatMap(([name, value]) => [value ?? []].flat().map((one) => [name, one]));
  return new URLSearchParams(pairs);
}

/** `GET /oauth/authorize`: the consent page. */
function consentPage(page: {
  readonly request: AuthorizationRequest;
  /** Protocol parameters, which the decision form repeats. */
  readonly parameters: URLSearchParams;
  readonly way: FormWay;
  readonly noneTicked?: boolean;
}): Html {
  const { request, parameters, way, noneTicked = false } = page;
  const name = nameOfClient(request.client);
  return pageOf(
    "Authorize an app",
    html`<div>
        <h1>Authorize ${name}?</h1>
        <p class="lead">It requests access to the coding agents on this machine, as you.</p>
      </div>
      <dl class="panel facts">
        ${whoAsks(request)}
        ${request.destination === null ? null : destinationRow(request.destination)}
      </dl>
      ${request.destination !== null && isOfThisMachine(request.destination) ? machineNotice : null}
      ${decisionForm({ action: oauthPaths.authorize, fields: [...parameters], request, way, noneTicked })}`,
  );
}

function destinationRow(destination: string): Html {
  return html`<div><dt>Redirects to</dt><dd>${
    isOfThisMachine(destination)
      ? html`a program on this computer <span class="host">${claimed(destination, 120)}</span>`
      : html`<span class="host">${claimed(destination, 260)}</span>`
  }</dd></div>`;
}

const machineNotice = notice(
  "lamp",
  "Any program on this computer can send this request under any name. Allow it only if you have just requested it yourself.",
);

/** A custom scheme, or a loopback host. */
function isOfThisMachine(destination: string): boolean {
  const address = `http://${destination}`;
  return destination.endsWith(":") || (URL.canParse(address) && isLoopback(new URL(address).hostname));
}

/** The page of `error_uri`. */
const oauthErrorsPath = "/docs/oauth-errors";

/** Each OAuth `error` with advice for the client's developer. */
const errors: readonly (readonly [error: string, words: string])[] = [
  ["access_denied", "The user denied the request or allowed none of the scopes. Do not retry automatically."],
  [
    "invalid_request",
    "A parameter is missing, repeated or invalid. `error_description` names it. Public clients must send a code_challenge with S256.",
  ],
  [
    "invalid_scope",
    "A scope is unknown, or the client did not register for it. /.well-known/oauth-authorization-server lists all scopes.",
  ],
  [
    "invalid_target",
    "The resource does not belong to this gateway. Use the gateway's base URL or the URL of /mcp (RFC 8707).",
  ],
  ["unauthorized_client", "The client did not register for this grant type."],
  ["unsupported_response_type", "Only response_type=code is supported."],
  ["invalid_client", "The client is unknown or its secret is wrong. Register again."],
  [
    "invalid_grant",
    "The code or refresh token was already used, expired or revoked, or belongs to another client. Request authorization again; do not retry.",
  ],
  ["unsupported_grant_type", "Only authorization codes, refresh tokens and device codes are supported."],
  ["authorization_pending", "The user has not decided yet. Poll again after `interval` seconds (RFC 8628)."],
  ["slow_down", "Polling too often. Increase the interval by five seconds, and wait for the time in Retry-After."],
  ["expired_token", "The device code has expired. Start again."],
  ["temporarily_unavailable", "Too many requests. Retry later."],
  ["server_error", "An unexpected error in the gateway. Its log has details."],
];

/** Explains the errors of RFC 6749 and its extensions to client developers. */
const oauthErrorsPage = pageOf(
  "OAuth errors",
  html`<div>
        <h1>OAuth errors</h1>
        <p class="lead">Error codes returned to clients, and how to fix them.</p>
      </div>
      <dl class="panel facts wide">${errors.map(
        ([error, words]) => html`<div id="${error}"><dt><code>${error}</code></dt><dd>${words}</dd></div>`,
      )}</dl>`,
);
