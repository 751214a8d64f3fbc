import { z } from "zod";
import { textSchema } from "./text.ts";

/**
 * The subprotocol of `WS /api/coding/coding_xterm_session`.
 *
 * Without it, the gateway sends output as text frames and {@link exitFrameSchema} as the last one. The client sends input as text, or
 * {@link clientFrameSchema} as JSON.
 *
 * With it, output arrives in binary frames (see {@link outputFrameHeadBytes}), and text frames from the gateway are always
 * {@link serverFrameSchema}. Binary frames from the client are input.
 */
export const terminalProtocol = "postern.terminal.v1";

/** Drivers can type; observers are read-only. */
export const terminalModeSchema = z.enum(["drive", "observe"]);

/** The program has exited and all output was sent. Close code 1000 follows. */
export const exitFrameSchema = z.object({
  kind: z.literal("exit"),
  exitCode: z.int().describe("128 plus the signal number after a signal."),
  signal: z.string().nullable(),
});

/** From a client. Any other text, including other JSON, is input. */
export const clientFrameSchema = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("input"), data: z.string() }),
  z.object({ kind: z.literal("resize"), cols: z.int(), rows: z.int() }).describe("Clamped to 2 to 1000, 1 to 500."),
]);

/** The first frame with the subprotocol: identifies the terminal and the position of the output. */
export const helloFrameSchema = z.object({
  kind: z.literal("hello"),
  terminalId: z.string().describe("Changes when the agent is resumed; offsets then restart at 0."),
  mode: terminalModeSchema,
  cols: z.int(),
  rows: z.int(),
  offset: z.int().describe("Bytes of output from the start of the terminal to the first frame."),
  continued: z
    .boolean()
    .describe("True if output continues where the viewer left off. False if the first frame is a screen."),
});

/** With the subprotocol: the terminal's new size, in order with the output. */
export const sizeFrameSchema = z.object({ kind: z.literal("size"), cols: z.int(), rows: z.int() });

/** With the subprotocol: the number of viewers, sent on every change. */
export const viewersFrameSchema = z.object({
  kind: z.literal("viewers"),
  drivers: z.int(),
  observers: z.int(),
  sizer: z.boolean().describe("Whether this viewer determines the terminal's size."),
});

/** Sent every 20 seconds with the subprotocol, because pages cannot see pings and need it to detect half-open connections. */
export const aliveFrameSchema = z.object({ kind: z.literal("alive") });

/** Every text frame from the gateway with the subprotocol. */
export const serverFrameSchema = z.discriminatedUnion("kind", [
  helloFrameSchema,
  sizeFrameSchema,
  viewersFrameSchema,
  aliveFrameSchema,
  exitFrameSchema,
]);

/**
 * The header of a binary frame from the gateway: one byte of {@link binaryFrameKinds}, then an offset (8 bytes, big-endian). For `output`,
 * it is the offset of the first byte; raw output can start inside a character. For `screen`, it is the offset of the output that
 * follows: clear the terminal, then write the rest of the frame (UTF-8).
 */
export const outputFrameHeadBytes = 9;
export const binaryFrameKinds = { output: 0, screen: 1 } as const;

/** Close codes of the terminal WebSocket. Do not reconnect after `ended`. */
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
 * The query of the WebSocket. A viewer that reconnects sends `terminal` and `from` to continue where it left off. If the agent has exited
 * in the meantime, it is not restarted: the viewer receives the last screen and the exit.
 */
export const terminalQuerySchema = z.strictObject({
  session_id: textSchema(200),
  mode: terminalModeSchema.optional().describe("Defaults to `drive` if allowed, otherwise `observe`."),
  cols: z.coerce.number().int().min(1).max(100_000).optional(),
  rows: z.coerce.number().int().min(1).max(100_000).optional(),
  ticket: z.string().max(200).optional(),
  terminal: textSchema(64).optional(),
  from: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  permissions: z
    .enum(["terminal"])
    .optional()
    .describe(
      "`terminal`: while this driver is connected, the agent asks for permission in the terminal instead of through the gateway.",
    ),
});

/** `POST /api/coding/terminal-ticket`: for a client that cannot send a header with its WebSocket. */
export const terminalTicketInputSchema = z
  .strictObject({ sessionId: textSchema(200), mode: terminalModeSchema.optional() })
  .meta({ id: "TerminalTicketInput" });

export const terminalTicketSchema = z
  .object({
    ticket: z.string().describe("Valid for 30 seconds and one connection, for this session and mode."),
    mode: terminalModeSchema,
    expiresAt: z.string(),
  })
  .meta({ id: "TerminalTicket" });

/** `GET /api/coding/sessions/{id}/recording` */
export const recordingQuerySchema = z.strictObject({
  from: z
    .union([z.iso.datetime({ offset: true }), z.coerce.number().min(0)])
    .optional()
    .describe(
      "Date-time, or seconds since the start of the recording. Playback starts with the screen at that moment.",
    ),
});

/** `GET /api/coding/sessions/{id}/recording/info` */
export const recordingInfoSchema = z
  .object({
    terminals: z
      .array(
        z.object({
          terminalId: z.string(),
          startedAt: z.string(),
          beginsAt: z.string().describe("Start of the retained recording. The oldest output is dropped first."),
          endsAt: z.string().describe("Time of the last output."),
          live: z.boolean(),
          sizeBytes: z.int(),
        }),
      )
      .describe("One for each start or resume of the agent, oldest first."),
  })
  .meta({ id: "RecordingInfo" });

/** `DELETE /api/coding/sessions/{id}/traces`: the data that Postern stored about a session. The agent's transcript is kept. */
export const forgottenTracesSchema = z
  .object({
    sessionId: z.string(),
    recordings: z.int(),
    recordingBytes: z.int(),
    hookInboxes: z.int(),
    chatMessages: z.int().describe("Chat messages that were queued, or stored to be edited later."),
    attachments: z.int().describe("Files that were sent with its prompts."),
    kept: z
      .int()
      .describe(
        "Recordings and hook inboxes kept because a later session of the same terminal uses them. They are deleted with that session.",
      ),
    transcript: z.string().nullable().describe("The agent's own file, which is kept. Null if there is none."),
    pending: z
      .boolean()
      .describe(
        "True if files in the state folder can still contain text of the session. It is erased automatically, at the latest after the next start.",
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
