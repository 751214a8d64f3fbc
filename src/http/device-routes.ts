import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { hasCode, PosternError } from "../core/errors.ts";
import type { AuthorizationRequest, OAuth } from "../oauth/index.ts";
import { appScopes, isGraveScope, type Scope } from "../wire/access.ts";
import { decisionKeyField, deviceDecisionFormSchema, oauthPaths } from "../wire/oauth.ts";
import type { Deciding, DecidingDeps } from "./deciding.ts";
import { decisionForm, type FormWay, nameOfClient, tickedScopes, whoAsks } from "./decision-form.ts";
import { askToSignIn, deciderOrSignIn, prefersPage, sendPage } from "./page-answers.ts";
import { type Html, html, notice, pageOf } from "./page-frame.ts";
import type { RouteServer } from "./route-server.ts";

export interface DeviceRoutesDeps extends Pick<DecidingDeps, "accounts"> {
  readonly oauth: Pick<OAuth, "decideDevice" | "describeDevice">;
}

/** Longer than any code. */
const maxCodeLength = 40;

/** A request to the device page. */
interface DeviceVisit {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly deciding: Deciding;
  readonly principal: Principal;
  readonly userCode: string;
}

/** The page for a device's code. @see RFC 8628 section 3.3 */
export function addDeviceRoutes(
  { app, attacks }: Pick<RouteServer, "app" | "attacks">,
  deps: DeviceRoutesDeps,
  deciding: Deciding,
): void {
  app.route({
    method: "GET",
    url: oauthPaths.device,
    // Only decisions count as attempts, because viewing reveals nothing more, and any page can make a browser open this page.
    config: { access: "public", limit: "userCodePage" },
    schema: { hide: true, querystring: deviceDecisionFormSchema.pick({ user_code: true }) },
    handler: async (request, reply) => {
      const principal = await deciding.viewer(request);
      if (principal === null) return askToSignIn(request, reply, request.url);
      const userCode = codeOf(request.query.user_code);
      if (userCode === "") return sendPage(reply, 200, codePage({ userCode, wrong: null }));
      return showDevice(deps, { request, reply, deciding, principal, userCode });
    },
  });

  app.route({
    method: "POST",
    url: oauthPaths.device,
    config: { access: "public", limit: "userCode" },
    schema: {
      operationId: "decideDevice",
      tags: ["oauth"],
      summary: "Allows or denies a device code (RFC 8628).",
      description: "Open to the same callers as authorization decisions.",
      body: deviceDecisionFormSchema,
      bodyType: "application/x-www-form-urlencoded",
      response: { 204: z.undefined().describe("Decided. Browsers get a page") },
    },
    handler: async (request, reply) => {
      const { action, user_code, scope, [decisionKeyField]: key } = request.body;
      const userCode = codeOf(user_code);
      const back = `${oauthPaths.device}?${new URLSearchParams({ user_code: userCode }).toString()}`;
      const principal = await deciderOrSignIn(deciding.decider(request, key), { request, reply, back });
      if (principal === null) return reply;
      attacks(request, "userCode", principal.accountId);
      const visit = { request, reply, deciding, principal, userCode };
      const ticked = tickedScopes(request.body);
      if (action !== "allow" && action !== "deny") {
        throw new PosternError("invalid_request", "`action` must be `allow` or `deny`.");
      }
      if (action === "allow" && ticked?.length === 0) return showDevice(deps, visit, true);
      return decide(deps, visit, { action, chosen: ticked ?? namedScopes(scope) });
    },
  });
}

async function decide(
  { oauth }: DeviceRoutesDeps,
  { request, reply, deciding, principal, userCode }: DeviceVisit,
  decision: { readonly action: "allow" | "deny"; readonly chosen: readonly Scope[] | null },
): Promise<FastifyReply> {
  const decider = deciding.asDecider(principal, request);
  const { action, chosen } = decision;
  try {
    const scopes = chosen ?? allButDrive(await oauth.describeDevice(userCode, decider));
    await oauth.decideDevice({ userCode, action, scopes }, decider);
  } catch (error) {
    return wrongCode(error, { request, reply, userCode });
  }
  return prefersPage(request) ? sendPage(reply, 200, deviceDonePage(action)) : reply.code(204).send();
}

async function showDevice(
  { oauth, accounts }: DeviceRoutesDeps,
  { request, reply, deciding, principal, userCode }: DeviceVisit,
  noneTicked = false,
): Promise<FastifyReply> {
  const way = {
    back: `${oauthPaths.device}?${new URLSearchParams({ user_code: userCode }).toString()}`,
    keyNeededFor: deciding.keyNeededFor(request),
    accountName: (await accounts.accountOf(principal)).name,
  };
  try {
    const described = await oauth.describeDevice(userCode, deciding.asDecider(principal, request));
    const shown = devicePage({ request: described, userCode, way, noneTicked });
    return await sendPage(reply, noneTicked ? 400 : 200, shown);
  } catch (error) {
    return wrongCode(error, { request, reply, userCode });
  }
}

/** Shows the form again if the code was wrong. */
function wrongCode(
  error: unknown,
  { request, reply, userCode }: Pick<DeviceVisit, "request" | "reply" | "userCode">,
): FastifyReply {
  if (!hasCode(error, "invalid_request") || !prefersPage(request)) throw error;
  return sendPage(reply, 400, codePage({ userCode, wrong: error.message }));
}

/** The code in the authorization server's form. */
function codeOf(typed = ""): string {
  return typed
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "")
    .slice(0, maxCodeLength);
}

/** The default scopes: all requested scopes except `coding:drive`, which the caller must name explicitly. */
function allButDrive({ scopes }: AuthorizationRequest): readonly Scope[] {
  return scopes.map(({ scope }) => scope).filter((scope) => !isGraveScope(scope));
}

/** @returns null if omitted @throws PosternError `invalid_request` for scopes that apps cannot be granted */
function namedScopes(field: string | undefined): readonly Scope[] | null {
  if (field === undefined) return null;
  const words = field.split(" ").filter((word) => word !== "");
  const unknown = words.find((word) => !isAppScope(word));
  if (unknown === undefined) return words.filter(isAppScope);
  throw new PosternError("invalid_request", `\`scope\` contains an unknown scope. Supported: ${appScopes.join(", ")}.`);
}

function isAppScope(word: string): word is (typeof appScopes)[number] {
  return appScopes.some((scope) => scope === word);
}

/** The form for a device code. `wrong` is the error of the previous code. */
function codePage(before: { readonly userCode: string; readonly wrong: string | null }): Html {
  const { userCode, wrong } = before;
  const described = wrong === null ? null : html` aria-invalid="true" aria-describedby="wrong"`;
  return pageOf(
    "Connect a device",
    html`<div>
        <h1>Connect a device</h1>
        <p class="lead">Enter the code shown on the other device or terminal.</p>
      </div>
      <form method="get" action="${oauthPaths.device}" autocomplete="off">
        ${wrong === null ? null : notice("danger", html`<span id="wrong">${wrong}</span>`)}
        <div class="field">
          <label for="user_code">Code</label>
          <input id="user_code" name="user_code" value="${userCode}" required maxlength="40" autocapitalize="characters"
            autocomplete="one-time-code" spellcheck="false" autofocus${described} />
        </div>
        <button class="button primary">Continue</button>
      </form>`,
  );
}

/** The decision on a device code. */
function devicePage(page: {
  readonly request: AuthorizationRequest;
  readonly userCode: string;
  readonly way: FormWay;
  readonly noneTicked?: boolean;
}): Html {
  const { request, userCode, way, noneTicked = false } = page;
  return pageOf(
    "Connect a device",
    html`<div>
        <h1>Does the device show this code?</h1>
        <p class="lead">${nameOfClient(request.client)} requests access to the coding agents on this machine, as you.</p>
      </div>
      <p class="code">${grouped(userCode)}</p>
      <dl class="panel facts">${whoAsks(request)}</dl>
      ${notice(
        "lamp",
        "Allow it only if you see exactly this code on your own device. If someone sent you the code or this link, deny it.",
      )}
      ${decisionForm({ action: oauthPaths.device, fields: [["user_code", userCode]], request, way, noneTicked })}`,
  );
}

/** After the decision. */
function deviceDonePage(action: "allow" | "deny"): Html {
  const [title, words] =
    action === "allow"
      ? ["The device is connected", "It continues automatically in a few seconds. You can close this page."]
      : ["The device was denied", "It will be notified. You can close this page."];
  return pageOf(
    title,
    html`<div>
        <h1>${title}</h1>
        <p class="lead" role="status">${words}</p>
      </div>
      <p><a class="button" href="/">Sessions</a></p>`,
  );
}

/** Split in half, as devices show it. */
function grouped(userCode: string): string {
  const half = userCode.length / 2;
  return userCode.length >= 6 && Number.isInteger(half)
    ? `${userCode.slice(0, half)}-${userCode.slice(half)}`
    : userCode;
}
