import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import type { Drafts } from "../sessions/index.ts";
import { draftSchema, saveDraftInputSchema, savedDraftSchema } from "../wire/drafts.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule, RouteServer } from "./route-server.ts";

const places = [
  {
    url: "/api/coding/sessions/:sessionId/draft",
    params: z.strictObject({ sessionId: textSchema(200) }),
    of: "",
    what: "a session",
  },
  { url: "/api/coding/draft", params: z.strictObject({}), of: "NewSession", what: "a new session" },
] as const;

/** Unsent prompts of the caller's account, shared between the account's devices. */
export function draftRoutes({ drafts }: { readonly drafts: Drafts }): RouteModule {
  return (server) => {
    for (const place of places) registerDraft(server, { ...place, drafts });
  };
}

function registerDraft(
  { app, principalOf }: RouteServer,
  { url, params, of, what, drafts }: (typeof places)[number] & { readonly drafts: Drafts },
): void {
  const config = { access: "coding:write" } as const;
  const sessionOf = (given: unknown): string | null =>
    z.object({ sessionId: z.string() }).safeParse(given).data?.sessionId ?? null;
  const caller = (request: Parameters<typeof principalOf>[0]): Principal => principalOf(request);
  app.route({
    method: "GET",
    url,
    config,
    schema: {
      operationId: `read${of}Draft`,
      tags: ["coding"],
      summary: `Returns the account's unsent prompt for ${what}.`,
      params,
      response: { 200: draftSchema },
    },
    handler: async (request) => drafts.read(sessionOf(request.params), caller(request)),
  });
  app.route({
    method: "PUT",
    url,
    config,
    schema: {
      operationId: `save${of}Draft`,
      tags: ["coding"],
      summary: `Saves the account's unsent prompt for ${what}, unless another device changed it.`,
      params,
      body: saveDraftInputSchema,
      response: { 200: savedDraftSchema },
    },
    handler: async (request) => drafts.save(sessionOf(request.params), request.body, caller(request)),
  });
  app.route({
    method: "DELETE",
    url,
    config,
    schema: {
      operationId: `clear${of}Draft`,
      tags: ["coding"],
      summary: `Deletes the account's unsent prompt for ${what}.`,
      params,
      response: { 200: draftSchema },
    },
    handler: async (request) => drafts.clear(sessionOf(request.params), caller(request)),
  });
}
