import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import { hasCode, PosternError } from "../core/errors.ts";
import type { AuthorizationRequest, OAuth } from "../oauth/index.ts";
import { appScopes, type Scope } from "../wire/access.ts";
import { decisionKeyField, deviceDecisionFormSchema, oauthPaths } from "../wire/oauth.ts";
import type { Deciding, DecidingDeps } from "./deciding.ts";
import { decisionForm, type FormWay, nameOfClient, tickedScopes, whoAsks } from "./decision-form.ts";
import { askToSignIn, deciderOrSignIn, prefersPage, sendPage } from "./page-answers.ts";
import { type Html, html, notice, pageOf } from "./page-frame.ts";
import type { RouteServer } from "./route-server.ts";

export interface DeviceRoutesDeps extends Pick<DecidingDeps, "accounts"> {
  readonly oauth: Pick<OAuth, "decideDevice" | "describeDevice">;
}

/** Longer than any code; what is longer is none. */
const maxCodeLength = 40;

/** One request for the page of a device. */
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
    // Looking gives nothing away that deciding would not, and any page can make a browser look: only a decision counts as a try.
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
      summary: "Allows or denies a device that shows a code (RFC 8628).",
      description: "Whoever may decide on a request for authorization may decide on a device.",
      body: deviceDecisionFormSchema,
      bodyType: "application/x-www-form-urlencoded",
      response: { 204: z.undefined().describe("Decided; browsers get a page") },
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
        throw new PosternError("invalid_request", "The field `action` is neither `allow` nor `deny`.");
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

/** Another try, where the code was wrong. */
function wrongCode(
  error: unknown,
  { request, reply, userCode }: Pick<DeviceVisit, "request" | "reply" | "userCode">,
): FastifyReply {
  if (!hasCode(error, "invalid_request") || !prefersPage(request)) throw error;
  return sendPage(reply, 400, codePage({ userCode, wrong: error.message }));
}

/** As the authorization server knows it: case, spaces and dashes are for people. */
function codeOf(typed = ""): string {
  return typed
    .toUpperCase()
    .replace(/[^A-Z0-9]/g, "")
    .slice(0, maxCodeLength);
}

/** What is allowed when no scope is named: what acts without asking has to be named. */
function allButDrive({ scopes }: AuthorizationRequest): readonly Scope[] {
  return scopes.map(({ scope }) => scope).filter((scope) => scope !== "coding:drive");
}

/** @returns null when it was left out @throws PosternError `invalid_request` for what no app can be given */
function namedScopes(field: string | undefined): readonly Scope[] | null {
  if (field === undefined) return null;
  const words = field.split(" ").filter((word) => word !== "");
  const unknown = words.find((word) => !isAppScope(word));
  if (unknown === undefined) return words.filter(isAppScope);
  throw new PosternError(
    "invalid_request",
    `The field \`scope\` holds a word that is none of ${appScopes.join(", ")}.`,
  );
}

function isAppScope(word: string): word is (typeof appScopes)[number] {
  return appScopes.some((scope) => scope === word);
}

/** The form for the code that a device shows. `wrong` says what is wrong with the previous code. */
function codePage(before: { readonly userCode: string; readonly wrong: string | null }): Html {
  const { userCode, wrong } = before;
  const described = wrong === null ? null : html` aria-invalid="true" aria-describedby="wrong"`;
  return pageOf(
    "Connect a device",
    html`<div>
        <h1>Connect a device</h1>
        <p class="lead">A terminal or another device shows a code. Type it here.</p>
      </div>
      <form method="get" action="${oauthPaths.device}" autocomplete="off">
        ${wrong === null ? null : notice("danger", html`<span id="wrong">${wrong}</span>`)}
        <div class="field">
          <label for="user_code">Code</label>
          <input id="user_code" name="user_code" value="${userCode}" required maxlength="40" autocapitalize="characters"
            autocomplete="one-time-code" spellcheck="false" autofocus${described} />
        </div>
        <button class="button primary">Go on</button>
      </form>`,
  );
}

/** The decision on a device that shows `userCode`. */
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
        <p class="lead">On it, ${nameOfClient(request.client)} asks to use the coding agents on this machine, as you.</p>
      </div>
      <p class="code">${grouped(userCode)}</p>
      <dl class="panel facts">${whoAsks(request)}</dl>
      ${notice(
        "lamp",
        "Allow it only if you see this very code on a device of your own. Somebody who sent you the code or this address wants in themselves.",
      )}
      ${decisionForm({ action: oauthPaths.device, fields: [["user_code", userCode]], request, way, noneTicked })}`,
  );
}

/** After the decision. */
function deviceDonePage(action: "allow" | "deny"): Html {
  const [title, words] =
    action === "allow"
      ? ["The device is connected", "It goes on by itself in a few seconds. You can close this page."]
      : ["The device was denied", "It is told so. You can close this page."];
  return pageOf(
    title,
    html`<div>
        <h1>${title}</h1>
        <p class="lead" role="status">${words}</p>
      </div>
      <p><a class="button" href="/">To the sessions</a></p>`,
  );
}

/** As devices show it: in two halves. */
function grouped(userCode: string): string {
  const half = userCode.length / 2;
  return userCode.length >= 6 && Number.isInteger(half)
    ? `${userCode.slice(0, half)}-${userCode.slice(half)}`
    : userCode;
}
