import type { TerminalTickets } from "../accounts/index.ts";
import { terminalTicketInputSchema, terminalTicketSchema } from "../wire/terminal.ts";
import type { RouteModule } from "./route-server.ts";

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
        summary: "A ticket for the WebSocket of a terminal, for clients that cannot send a header with it.",
        description:
          "`mode: drive` needs the scope `coding:drive`. Without `mode`: drive if the caller may, else observe.",
        body: terminalTicketInputSchema,
        response: { 200: terminalTicketSchema },
      },
      handler: async (request) => deps.tickets.create(principalOf(request), request.body),
    });
}
