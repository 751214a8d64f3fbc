import type { Principal } from "../accounts/index.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { StreamMessage, StreamOptions } from "../events/index.ts";
import { eventsQuerySchema, sessionEventSchema } from "../wire/events.ts";
import type { RouteModule } from "./route-server.ts";
import { beginStream, writePiece } from "./streamed-answer.ts";

export interface EventRoutesDeps {
  readonly stream: (options: StreamOptions) => AsyncGenerator<StreamMessage, void>;
  /** Every id of a session that the caller may see. @throws PosternError `session_not_found` */
  readonly sessionIdsOf: (sessionId: string, principal: Principal, signal: AbortSignal) => Promise<readonly string[]>;
  readonly log: Log;
  readonly clock?: Clock;
  readonly maxStreams?: number;
}

// A reader that takes nothing for so long is gone, or as good as; it reads on from its last event when it comes back.
const stuckMs = 30_000;
// Ours. Far more than a person's tools open, few enough to leave memory for others.
const defaultMaxStreams = 100;
const retryMs = 1_000;

const description = `Server-sent events: \`event\` is the kind, \`id\` the event's id, \`data\` the event as JSON. Send the last id as \`Last-Event-ID\` to
go on from there: nothing is left out and nothing comes twice. When that event is no longer kept, \`event: reset\` comes first: read the
state anew. An \`id\` alone is a place to go on from. Lines that begin with a colon keep the connection alive.`;

/** `GET /api/coding/events`: what happens to sessions, as it happens. */
export function eventRoutes(deps: EventRoutesDeps): RouteModule {
  const { clock = systemClock, maxStreams = defaultMaxStreams } = deps;
  let open = 0;
  return ({ app, principalOf, signalOf }) => {
    app.route({
      method: "GET",
      url: "/api/coding/events",
      exposeHeadRoute: false, // its answer would never end, and has no body that could begin
      config: { access: "coding:read" },
      schema: {
        operationId: "streamEvents",
        tags: ["events"],
        summary: "What happens to sessions, as a stream of server-sent events.",
        description,
        querystring: eventsQuerySchema,
        answerType: "text/event-stream",
        response: { 200: sessionEventSchema },
      },
      handler: async (request, reply) => {
        const principal = principalOf(request);
        const { sessionId, lastEventId } = request.query;
        const header = request.headers["last-event-id"];
        const after = (typeof header === "string" && header !== "" ? header : lastEventId) ?? null;
        const signal = signalOf(reply);
        const sessionIds = sessionId === undefined ? null : await deps.sessionIdsOf(sessionId, principal, signal);
        if (open >= maxStreams) {
          throw new PosternError("rate_limited", `${maxStreams} event streams are open, the most allowed. Close one.`);
        }
        open += 1;
        try {
          const raw = beginStream(reply, "text/event-stream; charset=utf-8");
          raw.write(`retry: ${retryMs}\n\n`);
          const messages = deps.stream({ after, sessionIds, within: principal.folders, signal });
          for await (const message of messages) {
            if (!(await writePiece(raw, textOf(message), { signal, clock, stuckMs }))) break;
          }
          raw.end();
        } catch (error) {
          // The answer has begun, so it ends here. The reader reconnects with its last event.
          deps.log.warn({ requestId: request.id, reason: messageOf(error) }, "an event stream broke off");
          reply.raw.destroy();
        } finally {
          open -= 1;
        }
      },
    });
  };
}

/** @see https://html.spec.whatwg.org/multipage/server-sent-events.html section 9.2.6: an `id` without data is remembered, and dispatches no event */
function textOf(message: StreamMessage): string {
  if (message.kind === "position") return `: still here\nid: ${message.id}\n\n`;
  const sent = message.kind === "event" ? message.event : message.reset;
  return `id: ${sent.id}\nevent: ${sent.kind}\ndata: ${JSON.stringify(sent)}\n\n`;
}
