import type { Principal } from "../accounts/index.ts";
import type { Queue } from "../sessions/index.ts";
import {
  cancelledPromptSchema,
  changedPromptSchema,
  changePromptInputSchema,
  promptParamsSchema,
  promptQueueSchema,
  queueParamsSchema,
} from "../wire/queue.ts";
import type { RouteModule } from "./route-server.ts";

const tags = ["coding"];
const url = "/api/coding/sessions/:sessionId/prompts";

/** `/api/coding/sessions/{id}/prompts`: the prompts that wait for their agent. */
export function queueRoutes(queue: Queue): RouteModule {
  return ({ app, principalOf, signalOf }) => {
    app.route({
      method: "GET",
      url,
      config: { access: "coding:read" },
      schema: {
        operationId: "listQueuedPrompts",
        tags,
        summary: "Lists a session's queued prompts.",
        description:
          "In the order they will be sent. A session can have at most 20 queued prompts. Their text is untrusted.",
        params: queueParamsSchema,
        response: { 200: promptQueueSchema },
      },
      handler: async (request) => queue.list(request.params.sessionId, principalOf(request)),
    });

    app.route({
      method: "PATCH",
      url: `${url}/:promptId`,
      config: { access: "coding:write" },
      schema: {
        operationId: "changeQueuedPrompt",
        tags,
        summary: "Edits or moves a queued prompt, or sends it now.",
        description:
          "`text` is checked like a new prompt. `sendNow` stops the running turn and sends the prompt first; a stopped session is resumed in " +
          "its own permission mode. A prompt that has already been sent is not changed: `prompt_already_sent`.",
        params: promptParamsSchema,
        body: changePromptInputSchema,
        response: { 200: changedPromptSchema },
      },
      handler: async (request, reply) => {
        const principal: Principal = principalOf(request);
        return queue.change({ ...request.params, ...request.body }, principal, signalOf(reply));
      },
    });

    app.route({
      method: "DELETE",
      url: `${url}/:promptId`,
      config: { access: "coding:write" },
      schema: {
        operationId: "cancelQueuedPrompt",
        tags,
        summary: "Cancels a queued prompt, and returns it.",
        params: promptParamsSchema,
        response: { 200: cancelledPromptSchema },
      },
      handler: async (request) => queue.cancel(request.params, principalOf(request)),
    });
  };
}
