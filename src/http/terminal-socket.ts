import { type Principal, requireScope, type TerminalTickets } from "../accounts/index.ts";
import { hasCode } from "../core/errors.ts";
import type { Viewer, ViewerLink, ViewRequest, ViewTerminal } from "../terminals/index.ts";
import {
  type TerminalMode,
  terminalCloseCodes,
  terminalProtocol,
  terminalQuerySchema,
  terminalTicketInputSchema,
  terminalTicketSchema,
} from "../wire/terminal.ts";
import type { RouteModule } from "./route-server.ts";
import type { OpenedSocket } from "./upgrades.ts";

export const terminalSocketPath = "/api/coding/coding_xterm_session";

/** RFC 6455 section 5.5. */
const maxReasonBytes = 123;

/** `WS /api/coding/coding_xterm_session`: the live terminal of a session. */
export function terminalSocket(deps: { readonly viewTerminal: ViewTerminal }): RouteModule {
  return ({ onUpgrade }) => onUpgrade(terminalSocketPath, (opened) => serve(opened, deps.viewTerminal));
}

function serve(opened: OpenedSocket, viewTerminal: ViewTerminal): void {
  const { connection, principal } = opened;
  const link = linkOf(opened);
  const request = requestOf(opened);
  if (request === null)
    return link.close(terminalCloseCodes.badRequest, "Invalid query: check `session_id` and the other parameters.");
  if (opened.ticket !== null && opened.ticket.sessionId !== request.sessionId) {
    return link.close(terminalCloseCodes.notAllowed, "The ticket is for another session.");
  }
  const mode = modeOf(opened, request.mode);
  if (mode === null) return link.close(terminalCloseCodes.notAllowed, "Missing the scope for this mode.");
  const viewer: Viewer = viewTerminal({ ...request, mode }, principal, link);
  opened.onMessage((data, isBinary) => {
    if (data instanceof Buffer) viewer.receive(data, isBinary);
  });
  connection.on("drain", () => viewer.drained());
  opened.onEnd(() => viewer.leave());
}

function linkOf({ ws, connection }: OpenedSocket): ViewerLink {
  return {
    sendText: (text) => ws.readyState === ws.OPEN && ws.send(text, { binary: false }),
    sendBinary(data) {
      if (ws.readyState !== ws.OPEN) return;
      if (data.byteLength <= maxShortBytes) connection.write(shortFrame(data));
      else ws.send(data, { binary: true });
    },
    unsentBytes: () => ws.bufferedAmount,
    close(code, reason) {
      ws.close(
        code,
        Buffer.from(reason)
          .subarray(0, maxReasonBytes)
          .toString()
          .replace(/\ufffd+$/, ""),
      );
    },
  };
}

/** The longest payload whose length fits in one byte (RFC 6455 section 5.2). */
const maxShortBytes = 125;
const finalBinaryFrame = 0x82;

/** A binary frame for one write. The library writes header and payload separately, with which an echo took 50% longer. */
function shortFrame(data: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(2 + data.byteLength);
  frame[0] = finalBinaryFrame;
  frame[1] = data.byteLength;
  frame.set(data, 2);
  return frame;
}

function requestOf({ ws, query }: OpenedSocket): ViewRequest | null {
  const names = [...query.keys()];
  if (new Set(names).size < names.length) return null; // ambiguous
  const parsed = terminalQuerySchema.safeParse(Object.fromEntries(query));
  if (!parsed.success) return null;
  const { session_id: sessionId, mode, cols, rows, terminal, from, permissions } = parsed.data;
  return {
    sessionId,
    mode,
    size: cols === undefined || rows === undefined ? undefined : { cols, rows },
    protocol: ws.protocol === terminalProtocol ? "v1" : "plain",
    continueAt: terminal === undefined ? undefined : { terminalId: terminal, offset: from },
    permissionsInTerminal: permissions === "terminal",
  };
}

/** The viewer's mode, limited by the caller's scopes and the ticket; null if the requested mode is not allowed. */
function modeOf({ principal, ticket }: OpenedSocket, wanted: TerminalMode | undefined): TerminalMode | null {
  const most = ticket?.mode ?? (principal.scopes.has("coding:drive") ? "drive" : "observe");
  if (wanted === "drive" && most === "observe") return null;
  const mode = wanted ?? most;
  try {
    requireMode(principal, mode);
    return mode;
  } catch (error) {
    if (hasCode(error, "insufficient_scope")) return null;
    throw error;
  }
}

function requireMode(principal: Principal, mode: TerminalMode): void {
  requireScope(principal, "coding:read"); // drivers also see output
  if (mode === "drive") requireScope(principal, "coding:drive");
}

/** `POST /api/coding/terminal-ticket` */
export function ticketRoutes(deps: { readonly tickets: TerminalTickets }): RouteModule {
  return ({ app, principalOf }) =>
    app.route({
      method: "POST",
      url: "/api/coding/terminal-ticket",
      config: { access: "coding:read" },
      schema: {
        operationId: "createTerminalTicket",
        tags: ["coding"],
        summary: "Creates a ticket for a terminal's WebSocket, for clients that cannot send headers with it.",
        description:
          "`mode: drive` needs the scope `coding:drive`. `mode` defaults to `drive` if allowed, otherwise `observe`.",
        body: terminalTicketInputSchema,
        response: { 200: terminalTicketSchema },
      },
      handler: async (request) => deps.tickets.create(principalOf(request), request.body),
    });
}
