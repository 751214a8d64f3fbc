import { z } from "zod";
import { agentEntrySchema } from "./coding.ts";

/** How the user logs in: in a browser on the gateway's machine, or with a code from any device. */
export const loginMethodSchema = z.enum(["browser", "code"]);

/** Setup jobs that run for an agent besides its sessions. */
export const agentSetupJobKindSchema = z.enum(["login", "install"]);

/** A login or an installation in its own terminal. */
export const agentSetupJobSchema = z
  .object({
    kind: agentSetupJobKindSchema,
    sessionId: z.string().describe("Attach to it like a session. Requires the scope `admin`."),
    state: z
      .enum(["waiting", "running", "ended"])
      .describe("An installation waits while another agent is being installed. Ended jobs are listed for one minute."),
    ahead: z.int().describe("Number of installations ahead in the queue."),
    exitCode: z.int().nullable().describe("Null while running or after a signal."),
  })
  .meta({ id: "AgentSetupJob" });

/** `GET /api/agents/setup`: every supported agent, installed or not, with its setup state. */
export const agentSetupSchema = z
  .object({
    agents: z.array(
      agentEntrySchema
        .extend({
          title: z.string().describe("The vendor's product name."),
          isConfigured: z.boolean(),
          installCommand: z
            .string()
            .nullable()
            .describe("The command that `install` runs. Null if the agent is not on npm."),
          loginMethods: z.array(loginMethodSchema).describe("Empty if the agent has no login."),
          keyVariable: z
            .string()
            .nullable()
            .describe("API key variable set for the gateway, which replaces the login. Null if none is set."),
          setupJobs: z.array(agentSetupJobSchema),
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
      .describe("`code` also works from another machine or a phone. Defaults to the agent's first method."),
  })
  .meta({ id: "AgentLoginInput" });

/** The terminal of a login or an installation. Attach to it like a session's. */
export const agentTerminalSchema = z
  .object({
    sessionId: z.string(),
    began: z.boolean().describe("False if one was already running; its id is returned."),
  })
  .meta({ id: "AgentTerminal" });

/** `DELETE /api/agents/{name}/login` and `/install` */
export const cancelSetupJobQuerySchema = z.strictObject({
  unlessWatched: z
    .literal("true")
    .optional()
    .describe("For pages that close: cancels after a few seconds, unless another viewer is attached."),
});

export type LoginMethod = z.infer<typeof loginMethodSchema>;
export type AgentSetupJobKind = z.infer<typeof agentSetupJobKindSchema>;
export type AgentSetupJob = z.infer<typeof agentSetupJobSchema>;
export type AgentSetups = z.infer<typeof agentSetupSchema>;
export type AgentSetup = AgentSetups["agents"][number];
