import { z } from "zod";
import { textSchema } from "./text.ts";

/**
 * What travels over `WS /api/coding/coding_xterm_session`.
 *
 * Without a subprotocol, as the seed has it: text frames of output, a last JSON frame of {@link exitFrameSchema}; from the client
 * text as input, or a JSON frame of {@link clientFrameSchema}.
 *
 * With {@link terminalProtocol} (ours) output comes in binary frames (see {@link outputFrameHeadBytes}), and text frames from the gateway
 * are always JSON of {@link serverFrameSchema}. What the client sends is the same; a binary frame of it is input.
 */
export const terminalProtocol = "postern.terminal.v1";

/** Drivers type; observers only look. */
export const terminalModeSchema = z.enum(["drive", "observe"]);

/** The program has ended and all its output was sent; close 1000 follows. @see the seed, "WebSocket" */
export const exitFrameSchema = z.object({
  kind: z.literal("exit"),
  exitCode: z.int().describe("128 + the signal's number after a signal."),
  signal: z.string().nullable(),
});

/** From a client. A JSON object of another form is input, as all other text is. @see the seed, "WebSocket" */
export const clientFrameSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("input"), data: z.string() }),
  z.object({ kind: z.literal("resize"), cols: z.int(), rows: z.int() }).describe("Clamped to 2 to 1000, 1 to 500."),
]);

/** With the subprotocol, the first frame: which terminal this is, and where output goes on. */
export const helloFrameSchema = z.object({
  kind: z.literal("hello"),
  terminalId: z.string().describe("Another one after the agent was resumed: then offsets begin anew."),
  mode: terminalModeSchema,
  cols: z.int(),
  rows: z.int(),
  offset: z
    .int()
    .describe("Bytes of output since the terminal's start that the viewer has when the first frame was taken."),
  continued: z.boolean().describe("True: output goes on where the viewer was. False: a screen comes first."),
});

/** With the subprotocol: the terminal has this size from here on, in the order of the output. */
export const sizeFrameSchema = z.object({ kind: z.literal("size"), cols: z.int(), rows: z.int() });

/** With the subprotocol: who looks on, told at each change. */
export const viewersFrameSchema = z.object({
  kind: z.literal("viewers"),
  drivers: z.int(),
  observers: z.int(),
  sizer: z.boolean().describe("Whether the terminal has this viewer's size."),
});

/** With the subprotocol, every 20 seconds: a page sees no pings, and so knows a connection that is half open. */
export const aliveFrameSchema = z.object({ kind: z.literal("alive") });

/** With the subprotocol, every text frame from the gateway. */
export const serverFrameSchema = z.discriminatedUnion("kind", [
  helloFrameSchema,
  sizeFrameSchema,
  viewersFrameSchema,
  aliveFrameSchema,
  exitFrameSchema,
]);

/**
 * The head of a binary frame from the gateway: one byte of {@link binaryFrameKinds}, then an offset (8 bytes, big-endian). Of `output`
 * it is that of the frame's first byte, which is raw and may begin inside a character. Of `screen` it is that of the output which comes
 * next: empty the terminal, then write the rest of the frame (UTF-8).
 */
export const outputFrameHeadBytes = 9;
export const binaryFrameKinds = { output: 0, screen: 1 } as const;

/** Why a terminal's socket is closed. After `ended` no client connects again. */
export const terminalCloseCodes = {
  ended: 1000,
  restarting: 1012,
  tooMany: 1013,
  badRequest: 4400,
  notSignedIn: 4401,
  notAllowed: 4403,
  noSuchSession: 4404,
  busyElsewhere: 4409,
} as const;

/**
 * The query of the WebSocket. `terminal` and `from`, ours, are of a viewer that connects again by itself: where it was. With `from`,
 * output goes on there. An agent that has ended meanwhile is not started again for it: it gets the last screen and the exit.
 */
export const terminalQuerySchema = z.strictObject({
  session_id: textSchema(200),
  mode: terminalModeSchema.optional().describe("Drive if allowed, else observe, when left out."),
  cols: z.coerce.number().int().min(1).max(100_000).optional(),
  rows: z.coerce.number().int().min(1).max(100_000).optional(),
  ticket: z.string().max(200).optional(),
  terminal: textSchema(64).optional(),
  from: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  permissions: z
    .enum(["terminal"])
    .optional()
    .describe(
      "`terminal`: while this driver is there, permissions are asked in the terminal and not by way of the gateway.",
    ),
});

/** `POST /api/coding/terminal-ticket`: for a client that cannot send a header with its WebSocket. */
export const terminalTicketInputSchema = z
  .strictObject({ sessionId: textSchema(200), mode: terminalModeSchema.optional() })
  .meta({ id: "TerminalTicketInput" });

export const terminalTicketSchema = z
  .object({
    ticket: z.string().describe("Good for one connection within 30 seconds, to this session in this mode."),
    mode: terminalModeSchema,
    expiresAt: z.string(),
  })
  .meta({ id: "TerminalTicket" });

/** `GET /api/coding/sessions/{id}/recording` */
export const recordingQuerySchema = z.strictObject({
  from: z
    .union([z.iso.datetime({ offset: true }), z.coerce.number().min(0)])
    .optional()
    .describe("A date-time, or seconds since the first that is recorded. The screen of that moment comes first."),
});

/** `GET /api/coding/sessions/{id}/recording/info` */
export const recordingInfoSchema = z
  .object({
    terminals: z
      .array(
        z.object({
          terminalId: z.string(),
          startedAt: z.string(),
          beginsAt: z.string().describe("The first moment that is still there: the oldest output is dropped first."),
          endsAt: z.string().describe("The last output."),
          live: z.boolean(),
          sizeBytes: z.int(),
        }),
      )
      .describe("One for each time that the agent was started or resumed, oldest first."),
  })
  .meta({ id: "RecordingInfo" });

/** `DELETE /api/coding/sessions/{id}/traces`: what Postern itself kept of a session. The agent's transcript stays. */
export const forgottenTracesSchema = z
  .object({
    sessionId: z.string(),
    recordings: z.int(),
    recordingBytes: z.int(),
    hookInboxes: z.int(),
    chatMessages: z.int().describe("What waited in chats, or was kept to be changed there."),
    kept: z
      .int()
      .describe(
        "Recordings and hook inboxes that stay for another session, with which the agent went on there: they go when that one is forgotten.",
      ),
    transcript: z.string().nullable().describe("The agent's own file, which stays. Null when there is none."),
    pending: z
      .boolean()
      .describe(
        "Text of it may still be in files of the state folder, because something reads them or the catalog is large. It is erased by itself, at the latest after the next start.",
      ),
    message: z.string(),
  })
  .meta({ id: "ForgottenTraces" });

export type TerminalMode = z.infer<typeof terminalModeSchema>;
export type ExitFrame = z.infer<typeof exitFrameSchema>;
export type ClientFrame = z.infer<typeof clientFrameSchema>;
export type ServerFrame = z.infer<typeof serverFrameSchema>;
export type TerminalQuery = z.infer<typeof terminalQuerySchema>;
export type TerminalCloseCode = (typeof terminalCloseCodes)[keyof typeof terminalCloseCodes];
export type TerminalTicketInput = z.infer<typeof terminalTicketInputSchema>;
export type TerminalTicket = z.infer<typeof terminalTicketSchema>;
export type RecordingInfo = z.infer<typeof recordingInfoSchema>;
export type ForgottenTraces = z.infer<typeof forgottenTracesSchema>;
