import { z } from "zod";
import type { Principal } from "../accounts/index.ts";
import {
  type EditSessionInput,
  type EditSessionOutput,
  editSessionOutputSchema,
  type LabelList,
  labelListSchema,
  type Seen,
  seenSchema,
  sessionEditsSchema,
} from "../wire/session-notes.ts";
import { textSchema } from "../wire/text.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["coding"];
const params = z.strictObject({ sessionId: textSchema(200) });

/** People's notes about sessions, and what they have seen. */
export function sessionNoteRoutes(deps: {
  readonly edit: (input: EditSessionInput, principal: Principal) => Promise<EditSessionOutput>;
  readonly see: (sessionId: string, principal: Principal) => Promise<Seen>;
  readonly labels: (principal: Principal) => Promise<LabelList>;
}): RouteModule {
  return ({ app, principalOf }) => {
    app.route({
      method: "PATCH",
      url: "/api/coding/sessions/:sessionId",
      config: { access: "coding:write" },
      schema: {
        operationId: "editSession",
        tags,
        summary: "Changes a session's title or labels, or pins or archives it.",
        description: "Same as `coding_edit_session`. Only the given fields change; concurrent changes are all kept.",
        params,
        body: sessionEditsSchema,
        response: { 200: editSessionOutputSchema },
      },
      handler: async (request) =>
        deps.edit({ ...request.body, sessionId: request.params.sessionId }, principalOf(request)),
    });

    app.route({
      method: "POST",
      url: "/api/coding/sessions/:sessionId/seen",
      config: { access: "coding:read" },
      schema: {
        operationId: "seeSession",
        tags,
        summary: "Marks a session as read for the caller's account.",
        description: "Its `unread` is false until it changes again. Repeated calls have no effect.",
        params,
        response: { 200: seenSchema },
      },
      handler: async (request) => deps.see(request.params.sessionId, principalOf(request)),
    });

    app.route({
      method: "GET",
      url: "/api/coding/labels",
      config: { access: "coding:read" },
      schema: {
        operationId: "listLabels",
        tags,
        summary: "Lists the labels of the sessions that the caller can see.",
        response: { 200: labelListSchema },
      },
      handler: async (request) => deps.labels(principalOf(request)),
    });
  };
}
