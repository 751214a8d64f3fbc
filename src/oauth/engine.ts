import type { IncomingMessage, ServerResponse } from "node:http";
import type { default as Provider } from "oidc-provider";
import type { NoteAudit } from "./ports.ts";
import { createProvider, type ProviderDeps, type ProviderKeys } from "./provider.ts";
import { sha256 } from "../core/ids.ts";
import { currentWork, type ReplayedDecision, withWork } from "./request-work.ts";
import { authorizationRequest, type ReplayParameters } from "./replay.ts";
import { oauthPaths } from "../wire/oauth.ts";

type AuditOrigin = Parameters<NoteAudit>[0]["from"];

/** The library, with its writes gathered and its keys current. */
export interface Engine {
  /** Answers a client's request. */
  handle(request: IncomingMessage, response: ServerResponse, from: AuditOrigin): Promise<void>;
  /** @returns where the library sends the browser; null when nowhere */
  replay(
    parameters: ReplayParameters,
    options: { readonly decision: ReplayedDecision; readonly from: AuditOrigin },
  ): Promise<string | null>;
  provider(): Promise<Provider>;
}

/** What the engine needs. */
export interface EngineDeps extends ProviderDeps {
  readonly keys: () => Promise<ProviderKeys>;
  readonly noteAudit: NoteAudit;
}

interface Running {
  readonly provider: Provider;
  readonly answer: ReturnType<Provider["callback"]>;
}

/** @see Engine */
export function createEngine(deps: EngineDeps): Engine {
  const { records, place } = deps;
  let running: { readonly key: string; readonly made: Promise<Running> } | undefined;

  /** One for each issuer and signing key; both hardly ever change. */
  async function run(): Promise<Running> {
    const keys = await deps.keys();
    const key = [place().baseUrl, keys.kid, ...keys.jwks.keys.map(({ kid }) => kid)].join(" ");
    if (running?.key !== key) running = { key, made: make(keys) };
    return running.made;
  }

  async function make(keys: ProviderKeys): Promise<Running> {
    const provider = await createProvider(deps, keys);
    provider.use(async (ctx, next) => {
      await next();
      if (currentWork()?.decision === null) {
        if (ctx.status < 400 && !(await commit())) {
          ctx.status = 400;
          ctx.body = { error: "invalid_grant", error_description: "It was used before." };
        }
        return;
      }
      ctx.respond = false; // nobody waits for it on a wire
    });
    return { provider, answer: provider.callback() };
  }

  /** Writes what the request did. @returns false when it used up what was used before; all that it gave is ended then */
  async function commit(): Promise<boolean> {
    const work = currentWork();
    if (work === undefined) throw new Error("A request without work.");
    if (await records.write(work.writes)) {
      for (const note of work.notes) await deps.noteAudit(note);
      return true;
    }
    if (work.grantId !== null) await records.endGrant(sha256(work.grantId));
    return false;
  }

  return {
    provider: async () => (await run()).provider,

    async handle(request, response, from) {
      const { answer } = await run();
      await withWork({ from }, async () => answer(request, response));
    },

    async replay(parameters, { decision, from }) {
      const { answer } = await run();
      const { request, response } = authorizationRequest(
        oauthPaths.authorize,
        parameters,
        new URL(place().baseUrl).host,
      );
      return withWork({ from, decision }, async () => {
        await answer(request, response);
        const location = response.getHeader("location");
        if (typeof location !== "string") return null;
        if (decision.error === null) await commit();
        return location;
      });
    },
  };
}
