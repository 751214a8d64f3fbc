import { z } from "zod";
import { type Clock, systemClock } from "../core/clock.ts";
import { messageOf, PosternError } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Recordings } from "../terminals/index.ts";
import { forgottenTracesSchema, recordingInfoSchema, recordingQuerySchema } from "../wire/terminal.ts";
import { textSchema } from "../wire/text.ts";
import { beginStream, writePiece } from "./answers.ts";
import type { RouteModule } from "./route-server.ts";

export interface RecordingRoutesDeps {
  readonly recordings: Recordings;
  readonly log: Log;
  readonly clock?: Clock;
}

// A reader that takes nothing for so long is gone, or as good as.
const stuckMs = 60_000;
// Ours. Each reads a file and holds less than a megabyte; a screen of the past takes more, one after the other.
const maxPlaying = 20;

const params = z.object({ sessionId: textSchema(200) });
const tags = ["coding"];

const description = `An asciicast, version 2: a line of JSON as its head, then a line \`[seconds, "o", text]\` for each output and
\`[seconds, "r", "COLSxROWS"]\` for each new size of the terminal, with the seconds since the first moment that is recorded. \`from\` begins
later, with the screen of that moment. Each time that the agent was resumed begins with an empty terminal. What reaches out of a terminal
(clipboard, files, questions to it) is left out. Of a live session it ends with what came until now.`;

const forgetDescription = `Recordings of its terminals, what its hooks told, its title, prompts that waited, what waited in chats, and
the text by which it was found. With the embedded store nothing that was said in the session is in any file of the state folder afterwards, but for what the
memory recorded (\`DELETE /api/v1/logs?sessionId=\` deletes that), or \`pending\` says that it will be so by itself: when a reader of a file
lets go of it, when there is room, or after the next start. PostgreSQL promises only that the rows are gone. The session is still listed,
without a title, for the agent's own transcript stays: what was said until now is not read from it into the search again, what is said
after that is. When it is resumed, its agent shows the old conversation in its terminal, which is recorded: forget it again afterwards.`;

/** `/api/coding/sessions/{id}/recording` and `/traces`: what the terminals of a session showed. */
export function recordingRoutes({ recordings, log, clock = systemClock }: RecordingRoutesDeps): RouteModule {
  let playing = 0;
  return ({ app, principalOf, signalOf }) => {
    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/recording",
      config: { access: "coding:read" },
      schema: {
        operationId: "getRecording",
        tags,
        summary: "What a session's terminals showed, to be played back.",
        description,
        params,
        querystring: recordingQuerySchema,
        answerType: "application/x-asciicast",
        response: { 200: z.string() },
      },
      handler: async (request, reply) => {
        if (playing >= maxPlaying) {
          throw new PosternError(
            "rate_limited",
            `${maxPlaying} recordings are being read, the most allowed. Try again.`,
          );
        }
        playing += 1;
        try {
          const { sessionId } = request.params;
          const { from } = request.query;
          const signal = signalOf(reply);
          const lines = await recordings.play(sessionId, { from, signal }, principalOf(request));
          const first = await lines.next(); // an error before it is still an answer of its own
          const raw = beginStream(reply, "application/x-asciicast");
          const reading = { signal, clock, stuckMs };
          if (first.done !== true && (await writePiece(raw, first.value, reading))) {
            for await (const text of lines) if (!(await writePiece(raw, text, reading))) break;
          }
          await lines.return();
          if (signal.aborted) reply.raw.destroy();
          else reply.raw.end();
        } catch (error) {
          if (!reply.raw.headersSent) throw error;
          // Cut off, so that it is not taken for the whole.
          log.warn({ requestId: request.id, reason: messageOf(error) }, "a recording broke off");
          reply.raw.destroy();
        } finally {
          playing -= 1;
        }
      },
    });

    app.route({
      method: "GET",
      url: "/api/coding/sessions/:sessionId/recording/info",
      config: { access: "coding:read" },
      schema: {
        operationId: "getRecordingInfo",
        tags,
        summary: "What is recorded of a session's terminals.",
        params,
        response: { 200: recordingInfoSchema },
      },
      handler: async (request) => recordings.info(request.params.sessionId, principalOf(request)),
    });

    app.route({
      method: "DELETE",
      url: "/api/coding/sessions/:sessionId/traces",
      config: { access: "coding:drive" },
      schema: {
        operationId: "forgetSession",
        tags,
        summary:
          "Removes what Postern itself kept of a session. The agent's transcript stays, and with it the session.",
        description: forgetDescription,
        params,
        response: { 200: forgottenTracesSchema },
      },
      handler: async (request) => recordings.forget(request.params.sessionId, principalOf(request)),
    });
  };
}
