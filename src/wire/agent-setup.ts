import { z } from "zod";
import { agentEntrySchema } from "./coding.ts";

/** How a person logs in: on the gateway's own machine, or from anywhere with a code. */
export const loginMethodSchema = z.enum(["browser", "code"]);

/** What runs for an agent beside its sessions. */
export const agentSetupJobKindSchema = z.enum(["login", "install"]);

/** A log-in or an installation, in a terminal of its own. */
export const agentSetupJobSchema = z
  .object({
    kind: agentSetupJobKindSchema,
    sessionId: z.string().describe("Attach to it as to a session: only who holds `admin` can."),
    state: z
      .enum(["waiting", "running", "ended"])
      .describe("An installation waits while another agent is installed. One that ended is told for a minute."),
    ahead: z.int().describe("While it waits: so many installations come first. Else 0."),
    exitCode: z.int().nullable().describe("Null while it runs, and after a signal."),
  })
  .meta({ id: "AgentSetupJob" });

/** `GET /api/agents/setup`: every agent that Postern knows, found or not, and what is to be done for it. */
export const agentSetupSchema = z
  .object({
    agents: z.array(
      agentEntrySchema
        .extend({
          title: z.string().describe("As its vendor calls it."),
          isConfigured: z.boolean(),
          installCommand: z
            .string()
            .nullable()
            .describe("What `install` runs; null for an agent that npm does not have."),
          loginMethods: z.array(loginMethodSchema).describe("Empty for an agent without a log-in of its own."),
          keyVariable: z
            .string()
            .nullable()
            .describe("The vendor's key variable that is set for the gateway: no log-in is needed."),
          errands: z.array(agentSetupJobSchema),
        })
        .meta({ id: "AgentSetup" }),
    ),
  })
  .meta({ id: "AgentSetups" });

/** `POST /api/agents/{name}/login` */
export const agentLoginInputSchema = z
  .strictObject({
    method: loginMethodSchema
      .optional()
      .describe("`code` works from another machine or a phone too. Without it, the agent's first."),
  })
  .meta({ id: "AgentLoginInput" });

/** The answer to a log-in and to an installation: a terminal, which is attached to like a session's. */
export const agentTerminalSchema = z
  .object({
    sessionId: z.string(),
    began: z.boolean().describe("False when one was under way: that one is meant."),
  })
  .meta({ id: "AgentTerminal" });

/** `DELETE /api/agents/{name}/login` and `/install` */
export const cancelSetupJobQuerySchema = z.strictObject({
  unlessWatched: z
    .literal("true")
    .optional()
    .describe("For a page that is left: it ends a few seconds later, and not while somebody watches it elsewhere."),
});

export type LoginMethod = z.infer<typeof loginMethodSchema>;
export type AgentSetupJobKind = z.infer<typeof agentSetupJobKindSchema>;
export type AgentSetupJob = z.infer<typeof agentSetupJobSchema>;
export type AgentSetups = z.infer<typeof agentSetupSchema>;
export type AgentSetup = AgentSetups["agents"][number];
