import { createHash } from "node:crypto";
import type { KoaContextWithOIDC, errors as LibraryErrors } from "oidc-provider";
import type { Clock } from "../core/clock.ts";
import { PosternError } from "../core/errors.ts";
import { isGraveScope } from "../wire/access.ts";
import type { OAuthClient } from "../wire/oauth.ts";
import { type ClientStore, clientName } from "./client-store.ts";
import type { Engine } from "./engine.ts";
import { destinationOf } from "./grants.ts";
import type { AuthorizationRequest, Decider, OAuth } from "./oauth.ts";
import { newGrant } from "./record-store.ts";
import { currentWork, type ReplayedDecision } from "./request-work.ts";
import { type AppScope, type GatewayPlace, heldOf, nameResources, readScopes, resourceOfName } from "./resources.ts";

/** The fields of the specification's decision form that are passed to the library; `resource` and `response_type` are ours (RFC 8707, RFC 6749). */
const replayed = ["client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method"] as const;
const once = [...replayed, "action", "scope", "response_type"] as const;

export interface DecisionDeps {
  readonly engine: Engine;
  readonly clients: ClientStore;
  readonly place: () => GatewayPlace;
}

/** Whether to preselect a scope. Scopes that act without asking are preselected only for clients that the owner added. */
export function askScopes(scopes: readonly AppScope[], origin: OAuthClient["origin"]): AuthorizationRequest["scopes"] {
  return scopes.map((scope) => ({ scope, ticked: !isGraveScope(scope) || origin === "added" }));
}

/**
 * The part of a decision that runs inside the library, once everything else is valid.
 * @returns a function that returns the grant's id, or throws an error of the library
 */
export function createVerdict({ clients, clock }: { readonly clients: ClientStore; readonly clock: Clock }) {
  return async (ctx: KoaContextWithOIDC, errors: typeof LibraryErrors): Promise<string> => {
    const work = currentWork();
    const { client, params, resourceServers = {} } = ctx.oidc;
    if (work === undefined || work.decision === null || client === undefined) throw new errors.AccessDenied();
    const { decision } = work;
    const { clientId } = client;
    const scopes = heldOf(readScopes(textOf(params?.["scope"])) ?? [], decision.held);
    const host = destinationOf(textOf(params?.["redirect_uri"]));
    const origin = (await clients.find(clientId))?.origin ?? "document";
    const name = clientName({ client_name: client.clientName }, clientId);
    const note = { accountId: decision.accountId, from: work.from };
    decision.seen = { client: { clientId, name, origin }, destination: host, scopes: askScopes(scopes, origin) };
    if (decision.verdict === "describe") throw new errors.AccessDenied("The request was only described.");
    if (decision.verdict === "refuse") throw new errors.InvalidRequest("The field `action` must be `allow` or `deny`.");
    if (decision.verdict === "deny") {
      work.writes.push({
        kind: "note",
        note: { ...note, action: "app_denied", subject: clientId, details: { name, host } },
      });
      throw new errors.AccessDenied("The user denied the request.");
    }
    if (scopes.length === 0) throw new errors.AccessDenied("Your account holds none of the requested scopes.");
    const resource = resourceOfName(Object.keys(resourceServers)[0] ?? "") ?? "all";
    const { appId, write, grant } = newGrant(
      { accountId: decision.accountId, clientId, resource, scopes, host },
      clock,
    );
    const document = origin === "document" ? { name, metadata: JSON.stringify(client.metadata()) } : null;
    const allowed = { ...note, action: "app_allowed", subject: appId, details: { name, host, scopes } } as const;
    work.writes.push(write, { kind: "approval", clientId, document, grant, note: allowed });
    if (params !== undefined) params["scope"] = scopes.join(" ");
    return appId;
  };
}

export function createDecision({ engine, clients, place }: DecisionDeps): Pick<OAuth, "describe" | "decide"> {
  async function replay(
    form: URLSearchParams,
    verdict: ReplayedDecision["verdict"],
    { accountId, scopes: held, from }: Decider,
  ): Promise<{ readonly location: string; readonly decision: ReplayedDecision }> {
    refuseRepeated(form);
    const decision: ReplayedDecision = { accountId, held, verdict, seen: null, error: null, refusal: null };
    const location = await engine.replay(await parametersOf(form), { decision, from });
    if (location === null) {
      throw new PosternError("invalid_request", decision.refusal ?? "Invalid authorization request.");
    }
    return { location: decision.error === null ? location : withErrorUri(location, decision.error), decision };
  }

  async function parametersOf(form: URLSearchParams): Promise<Record<string, string>> {
    // For some unsupported response types, the library puts its error in the fragment. For `none`, it uses the query.
    const asked = given(form, "response_type") ?? "code";
    const parameters: Record<string, string> = { response_type: asked === "code" ? asked : "none" };
    for (const name of replayed) {
      const value = given(form, name);
      if (value !== null) parameters[name] = value;
    }
    const scope = form.get("scope")?.trim() ?? "";
    if (scope !== "") parameters["scope"] = scope;
    const resource = nameResources(
      form.getAll("resource").filter((each) => each !== ""),
      place(),
    );
    if (resource !== undefined) parameters["resource"] = resource;
    return { ...parameters, ...(await plainChallenge(parameters)) };
  }

  /**
   * The library accepts only `S256`. A `plain` challenge (also the default when no method is named, RFC 7636 section 4.3) is equivalent to
   * its own SHA-256 with `S256`. Only clients with a secret can send one.
   */
  async function plainChallenge(parameters: Readonly<Record<string, string>>): Promise<Record<string, string>> {
    const { code_challenge: challenge, code_challenge_method: method = "plain", client_id: clientId } = parameters;
    if (challenge === undefined || method !== "plain" || clientId === undefined) return {};
    if (!/^[\w.~-]{43,128}$/.test(challenge)) return {};
    if ((await clients.find(clientId))?.confidential !== true) return {};
    return {
      code_challenge: createHash("sha256").update(challenge).digest("base64url"),
      code_challenge_method: "S256",
    };
  }

  function withErrorUri(location: string, error: string): string {
    const url = new URL(location);
    url.searchParams.set("error_uri", `${place().baseUrl}/docs/oauth-errors#${error}`);
    return url.href;
  }

  return {
    async describe(parameters, decider) {
      const { location, decision } = await replay(parameters, "describe", decider);
      return decision.seen === null ? { location } : { request: decision.seen };
    },

    async decide(form, decider) {
      const { location } = await replay(form, verdictOf(form), decider);
      return { location };
    },
  };
}

/** Our own rule: a form with no scope selected allows nothing, and a form without the field allows the default. */
function verdictOf(form: URLSearchParams): ReplayedDecision["verdict"] {
  const action = form.get("action");
  if (action === "allow") return form.get("scope")?.trim() === "" ? "deny" : "allow";
  return action === "deny" ? "deny" : "refuse";
}

/** The library has validated it at this point. */
function textOf(parameter: unknown): string {
  return typeof parameter === "string" ? parameter : "";
}

/** An empty value counts as omitted (RFC 6749 section 3.1). */
function given(form: URLSearchParams, name: string): string | null {
  const value = form.get(name);
  return value === "" ? null : value;
}

/** @throws PosternError `invalid_request` @see RFC 6749 section 3.1 */
function refuseRepeated(form: URLSearchParams): void {
  const repeated = once.find((name) => form.getAll(name).length > 1);
  if (repeated !== undefined)
    throw new PosternError("invalid_request", `The field ${repeated} must be sent only once.`);
}
