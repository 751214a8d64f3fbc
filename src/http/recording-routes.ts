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

// A client that reads nothing for this long is disconnected.
const stuckMs = 60_000;
// Maximum recordings played at once: each reads a file and holds less than 1 MB. Past screens need more memory and are built one at a time.
const maxPlaying = 20;

const params = z.object({ sessionId: textSchema(200) });
const tags = ["coding"];

const description = `An asciicast, version 2: a JSON header line, then a line \`[seconds, "o", text]\` for each output and
\`[seconds, "r", "COLSxROWS"]\` for each resize, in seconds since the start of the recording. With \`from\`, it starts with the screen at
that moment. Each resume of the agent starts with an empty terminal. Sequences that reach outside the terminal (clipboard, files, queries)
are removed. For a live session, it ends with the latest output.`;

const forgetDescription = `Deletes the recordings of its terminals, hook data, title, queued prompts, queued chat messages and search text. With SQLite, no text
of the session remains in the state folder afterwards, except in memory (delete that with \`DELETE /api/v1/logs?sessionId=\`). If
\`pending\` is true, erasing finishes automatically: when a file is no longer read, when there is disk space, or after the next start. With
PostgreSQL, only the rows are deleted. The session is still listed without a title, because the agent's transcript is kept: its existing text is not indexed again, but new text is. If you resume the session, the agent shows the old conversation in its terminal, which is recorded.`;

/** `/api/coding/sessions/{id}/recording` and `/traces` */
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
        summary: "Returns the recording of a session's terminals.",
        description,
        params,
        querystring: recordingQuerySchema,
        answerType: "application/x-asciicast",
        response: { 200: z.string() },
      },
      handler: async (request, reply) => {
        if (playing >= maxPlaying) {
          throw new PosternError("rate_limited", `The maximum of ${maxPlaying} recordings is being read. Try again.`);
        }
        playing += 1;
        try {
          const { sessionId } = request.params;
          const { from } = request.query;
          const signal = signalOf(reply);
          const lines = await recordings.play(sessionId, { from, signal }, principalOf(request));
          const first = await lines.next(); // earlier errors can still set a status
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
          // Cut off, so that the client notices that the recording is incomplete.
          log.warn({ requestId: request.id, reason: messageOf(error) }, "recording failed");
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
        summary: "Returns which parts of a session's terminals are recorded.",
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
          "Deletes the data that Postern stored about a session. The agent's transcript and the session are kept.",
        description: forgetDescription,
        params,
        response: { 200: forgottenTracesSchema },
      },
      handler: async (request) => recordings.forget(request.params.sessionId, principalOf(request)),
    });
  };
}
