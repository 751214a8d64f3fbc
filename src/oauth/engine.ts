import { generateKeyPairSync } from "node:crypto";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { default as Provider } from "oidc-provider";
import { messageOf } from "../core/errors.ts";
import { sha256 } from "../core/ids.ts";
import { oauthPaths } from "../wire/oauth.ts";
import type { AuditNote } from "./ports.ts";
import { createProvider, type ProviderDeps, type ProviderKeys } from "./provider.ts";
import { currentWork, type ReplayedDecision, type RequestWork, withWork } from "./request-work.ts";
import type { SigningKeys } from "./signing-keys.ts";

type AuditOrigin = AuditNote["from"];

/** The library, with batched writes and current signing keys. */
export interface Engine {
  /** Answers a client's request. */
  handle(request: IncomingMessage, response: ServerResponse, from: AuditOrigin): Promise<void>;
  /** @returns where the library redirects the browser; null for no redirect */
  replay(
    parameters: ReplayParameters,
    options: { readonly decision: ReplayedDecision; readonly from: AuditOrigin },
  ): Promise<string | null>;
  provider(): Promise<Provider>;
}

export interface EngineDeps extends ProviderDeps {
  readonly keys: () => Promise<ProviderKeys>;
}

interface Running {
  readonly provider: Provider;
  readonly answer: ReturnType<Provider["callback"]>;
}

export function createEngine(deps: EngineDeps): Engine {
  const { records, place } = deps;
  let running: { readonly key: string; readonly made: Promise<Running> } | undefined;

  /** One instance for each issuer and signing key, both of which rarely change. */
  async function run(): Promise<Running> {
    const keys = await deps.keys();
    const key = [place().baseUrl, keys.kid, ...keys.jwks.keys.map(({ kid }) => kid)].join(" ");
    if (running?.key === key) return running.made;
    const mine = { key, made: make(keys) };
    running = mine;
    try {
      return await mine.made;
    } catch (error) {
      if (running === mine) running = undefined; // the next request tries again
      throw error;
    }
  }

  async function make(keys: ProviderKeys): Promise<Running> {
    const provider = await createProvider(deps, keys);
    provider.silent = true; // without this it writes to stderr as well as to the log
    provider.use(async (ctx, next) => {
      await next();
      const work = currentWork();
      if (work === undefined) throw new Error("A request outside of any work.");
      if (work.decision !== null)
        ctx.respond = false; // a replayed request has no connection to answer on
      else {
        const refusal = await commit(work, ctx.status < 400).then(toRefusal, (error: unknown) => {
          deps.log.error({ reason: messageOf(error) }, "the authorization server cannot store its changes");
          return { status: 500, body: { error: "server_error" } };
        });
        if (refusal !== null) Object.assign(ctx, refusal);
      }
    });
    return { provider, answer: provider.callback() };
  }

  /**
   * Writes the changes of a request. After a failed request, writes only its audit entries.
   * @returns false when the request reused a code or token; everything issued from it is then revoked
   */
  async function commit({ writes, owner, from }: RequestWork, succeeded: boolean): Promise<boolean> {
    if (await records.write(succeeded ? writes : writes.filter(({ kind }) => kind === "note"))) return true;
    if (owner === null) return false;
    const { appId: subject, accountId } = owner;
    await records.endGrant(sha256(subject));
    const note = { action: "app_token_reused", accountId, subject, details: {}, from } as const;
    await records.write([{ kind: "note", note }]);
    return false;
  }

  return {
    provider: async () => (await run()).provider,

    async handle(request, response, from) {
      try {
        const { answer } = await run();
        await withWork({ from }, async () => answer(request, response));
      } catch (error) {
        deps.log.error({ reason: messageOf(error) }, "the authorization server failed to answer");
        if (!response.headersSent) response.writeHead(500, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: "server_error" }));
      }
    },

    async replay(parameters, { decision, from }) {
      const { answer } = await run();
      const { request, response } = authorizationRequest(
        oauthPaths.authorize,
        parameters,
        new URL(place().baseUrl).host,
      );
      return withWork({ from, decision }, async (work) => {
        await answer(request, response);
        const location = response.getHeader("location");
        if (typeof location !== "string") return null;
        await commit(work, decision.error === null);
        return location;
      });
    },
  };
}

/** The answer when the tokens were not issued; null when they were. */
function toRefusal(
  written: boolean,
): { readonly status: number; readonly body: Readonly<Record<string, string>> } | null {
  return written ? null : { status: 400, body: { error: "invalid_grant", error_description: "It was already used." } };
}

/** One value for each field, as in a browser's request to the library. */
type ReplayParameters = Readonly<Record<string, string>>;

/**
 * An authorization request as a browser would send it to the library, but without a network. Decisions are stateless, so each one is
 * replayed as a new request with the decision already made.
 * @see RFC 6749 section 4.1.1
 */
function authorizationRequest(
  path: string,
  parameters: ReplayParameters,
  host: string,
): { readonly request: IncomingMessage; readonly response: ServerResponse } {
  const request = new IncomingMessage(new Socket());
  request.method = "GET";
  request.url = `${path}?${new URLSearchParams(parameters)}`;
  // The library finds its session by a cookie; our adapter chooses the session.
  request.headers = { host, cookie: "_session=replayed" };
  return { request, response: new ServerResponse(request) };
}

/** The keys in the library's form. The library signs with one of them, and does not need the others. */
export async function keysOf(keys: SigningKeys): Promise<ProviderKeys> {
  const { kid, privateJwk } = await keys.signing();
  return { jwks: { keys: [{ ...privateJwk, kty: "RSA" }] }, kid, alg: "RS256" };
}

let unused: ProviderKeys | undefined;

/** The library requires a key even when tokens are opaque. This one never signs anything and is never published. */
export function unusedKeys(): ProviderKeys {
  if (unused !== undefined) return unused;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...privateKey.export({ format: "jwk" }), kty: "EC", kid: "unused", alg: "ES256", use: "sig" } as const;
  unused = { jwks: { keys: [jwk] }, kid: "unused", alg: "ES256" };
  return unused;
}
