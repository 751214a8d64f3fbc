import { z } from "zod";
import { textSchema } from "./text.ts";
import { turnSchema } from "./turn.ts";

/** The seed's four states, by facts alone. */
export const sessionStatusSchema = z.enum(["initializing", "running", "completed", "failed"]);

/** What the agent is doing; null when no process runs or nothing is known. Ours. */
export const activitySchema = z.enum([
  "starting",
  "working",
  "idle",
  "needs_permission",
  "needs_answer",
  "needs_attention",
  "needs_login",
  "limited",
]);

/** How freely the agent may act without asking: `ask` before anything of weight, `edits` to files alone, `all`. Ours. */
export const permissionModeSchema = z.enum(["ask", "edits", "all"]);

/** A permission, or an answer, that the agent waits for. */
export const pendingPermissionSchema = z.object({
  permissionId: z.string(),
  kind: z
    .enum(["permission", "question", "plan", "dialog"])
    .describe("A tool's use, a question to the user, a plan, or a dialog of the agent's own, such as one about trust."),
  tool: z.string().describe("The tool's name; what a dialog is about."),
  input: z.unknown(),
  askedAt: z.string(),
  answerable: z.boolean().describe("False: it can be answered in the agent's terminal only."),
  choices: z
    .array(z.object({ choiceId: z.string(), label: z.string().describe("From the agent's screen. Untrusted.") }))
    .optional()
    .describe("What a dialog offers, in its order."),
});

/** The git worktree that was made for a session. */
export const worktreeSchema = z.object({
  repository: z.string().describe("The directory of the project that it is a worktree of."),
  path: z.string(),
  branch: z.string(),
  baseBranch: z.string(),
  removed: z
    .boolean()
    .describe("It went when the session was closed; going on with the session makes it anew from its branch."),
  rescue: z
    .object({ ref: z.string(), commit: z.string() })
    .nullable()
    .describe("Work that was in it when it was removed, kept as a commit. `postern rescue restore` puts it back."),
});

/** A session as every answer shows it. */
export const sessionSummarySchema = z
  .object({
    sessionId: z.string(),
    sessionAliases: z.array(z.string()).describe("Other ids that find this session, such as a provisional one."),
    agent: z.string(),
    dir: z.string(),
    title: z.string().nullable(),
    status: sessionStatusSchema,
    activity: activitySchema.nullable(),
    owner: z.enum(["gateway", "external"]).nullable().describe("Who runs the live process, if one lives."),
    pid: z.int().nullable(),
    createdAt: z.string(),
    updatedAt: z.string(),
    turnCount: z.int(),
    queuedPrompts: z.int(),
    draft: z
      .boolean()
      .describe("True: the next queued prompt waits because the agent's composer holds text typed in the terminal."),
    model: z.string().nullable(),
    branch: z.string().nullable(),
    worktree: worktreeSchema.nullable(),
    permissions: z.array(pendingPermissionSchema),
    screen: z
      .string()
      .nullable()
      .describe("While `activity` is `needs_attention`: what the agent's terminal shows. Untrusted."),
    resetsAt: z.string().nullable(),
    sizeBytes: z.int().describe("Size of the transcript."),
    exitCode: z.int().nullable().describe("128 + the signal's number after a signal."),
    signal: z.string().nullable(),
    failure: z
      .object({ exitCode: z.int().nullable(), signal: z.string().nullable(), lastScreen: z.string() })
      .nullable(),
    turnFailure: z
      .string()
      .nullable()
      .describe("Why the last turn ended without an answer, in the words of the agent or its vendor. Untrusted."),
    warnings: z
      .array(z.string())
      .describe("What does not work around the live agent, such as its sandbox, and how to fix it. Untrusted."),
    continuedBy: z.string().nullable(),
    closedAt: z.string().nullable(),
  })
  .meta({ id: "SessionSummary" });

/** Longest wait of a call, in milliseconds. */
export const maxWaitMs = 600_000;
const waitMsSchema = z.int().min(0).max(maxWaitMs);
const sessionIdSchema = textSchema(200);
export const agentSchema = z.string().min(1).max(100).describe("Agent name or alias; the default agent when left out.");
export const dirSchema = z.string().min(1).max(4096).describe("Absolute path of the directory to work in.");

/** What to do with text that is in the agent's composer already. */
export const onDraftSchema = z.enum(["clear", "append"]);

export const askInputSchema = z
  .strictObject({
    agent: agentSchema.optional(),
    dir: dirSchema,
    prompt: z.string().min(1).describe("What to tell the agent, as plain text."),
    sessionId: sessionIdSchema.optional().describe("Continues this session; a new one starts when left out."),
    model: textSchema(200).optional(),
    systemPrompt: textSchema().optional().describe("Only for new sessions."),
    worktree: z.boolean().optional().describe("True makes an isolated git worktree for `branch` from `baseBranch`."),
    baseBranch: textSchema(250).optional(),
    branch: textSchema(250).optional(),
    permissionMode: permissionModeSchema.optional(),
    waitMs: waitMsSchema.optional().describe("Wait until the turn ends or somebody is needed, at most this long."),
    idempotencyKey: textSchema(200).optional(),
    onDraft: onDraftSchema
      .optional()
      .describe(
        "What to do when the agent's composer holds text typed in the terminal: remove it, or send it with the prompt. Left out: `composer_not_empty`.",
      ),
    allowCommands: z.boolean().optional().describe("Let a first `/` or `!` be the agent's command."),
  })
  .meta({ id: "AskInput" });

export const startedSchema = z.enum(["new", "reconnect", "resumed"]);

/** How far a prompt has come. */
export const deliveryStateSchema = z
  .enum(["queued", "sent", "received", "delivered", "lost", "unknown"])
  .describe(
    "`queued`: waits for the agent. `sent`: on its way. `received`: the agent reported it and has not written it to its transcript yet. `delivered`: in the transcript. `lost`: the agent did not take it and will not. `unknown`: it cannot be determined.",
  );

export const askOutputSchema = sessionSummarySchema
  .extend({
    started: startedSchema,
    delivered: z
      .boolean()
      .nullable()
      .describe(
        "True: in the agent's transcript. False: the agent did not take it and will not; it is safe to send again. Null: not known, or not yet.",
      ),
    deliveryState: deliveryStateSchema,
    ignored: z.array(z.string()).describe("Request fields that had no effect."),
    turns: z.array(turnSchema).optional().describe("With `waitMs`: the turns since this prompt."),
  })
  .meta({ id: "AskOutput" });

export const readInputSchema = z
  .strictObject({
    sessionId: sessionIdSchema,
    after: z.int().min(-1).optional().describe("Turns with a larger index only."),
    before: z.int().min(0).optional().describe("Turns with a smaller index only: to page back from the newest."),
    last: z.int().min(1).max(1000).optional().describe("The newest so many turns."),
    limit: z.int().min(1).max(1000).optional().describe("100 by default, newest first to be kept."),
    waitMs: waitMsSchema.optional().describe("Wait for something new, at most this long."),
    blocks: z.boolean().optional().describe("False leaves out the blocks and keeps the text."),
    images: z.boolean().optional().describe("True adds the pictures in prompts, as base64."),
  })
  .meta({ id: "ReadInput" });

export const readOutputSchema = sessionSummarySchema
  .extend({
    turns: z.array(turnSchema),
    nextAfter: z.int().describe("Pass as `after` to get what comes next, the unfinished last turn included."),
    skippedLines: z.int().describe("Lines of the transcript that could not be read."),
  })
  .meta({ id: "ReadOutput" });

export const closeInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, discardWorktree: z.boolean().optional() })
  .meta({ id: "CloseInput" });

/** What became of a closed session's worktree; null when it had none. */
export const closedWorktreeSchema = z
  .object({
    path: z.string(),
    removed: z.boolean(),
    reason: z.string().nullable(),
    rescue: z.object({ ref: z.string(), commit: z.string(), files: z.int() }).nullable(),
    ignoredLost: z.object({ count: z.int(), bytes: z.int(), first20: z.array(z.string()) }),
    branchKept: z.string().nullable(),
  })
  .nullable();

export const closeOutputSchema = sessionSummarySchema
  .omit({ worktree: true })
  .extend({ worktree: closedWorktreeSchema })
  .meta({ id: "CloseOutput" });

export const closeAllOutputSchema = z
  .object({
    closed: z.array(closeOutputSchema),
    failed: z.array(z.object({ sessionId: z.string(), code: z.string(), detail: z.string() })),
  })
  .meta({ id: "CloseAllOutput" });

export const agentEntrySchema = z
  .object({
    name: z.string(),
    aliases: z.array(z.string()),
    isDefault: z.boolean(),
    binary: z.string().nullable().describe("Absolute path, or null when it was not found."),
    version: z.string().nullable(),
    login: z.enum(["logged_in", "logged_out", "key_variable", "unknown"]),
  })
  .meta({ id: "AgentEntry" });

export const listAgentsOutputSchema = z
  .object({
    agents: z.array(agentEntrySchema).describe("Configured."),
    availableAgents: z.array(agentEntrySchema).describe("Found on the machine, not configured."),
    default: z.string().nullable(),
  })
  .meta({ id: "ListAgentsOutput" });

export const emptyInputSchema = z.strictObject({});

export const interruptInputSchema = z.strictObject({ sessionId: sessionIdSchema }).meta({ id: "InterruptInput" });

export const interruptOutputSchema = sessionSummarySchema
  .extend({ interrupted: z.boolean().describe("False: no turn was running.") })
  .meta({ id: "InterruptOutput" });

export const answerPermissionInputSchema = z
  .strictObject({
    sessionId: sessionIdSchema,
    permissionId: z.string().min(1).max(200),
    decision: z.enum(["allow", "deny"]).optional().describe("Needed for all but a dialog."),
    choice: textSchema(200).optional().describe("For a dialog: the `choiceId` to pick."),
    message: z.string().min(1).max(10_000).optional().describe("Told to the agent with a denial."),
    answers: z
      .record(z.string(), z.string())
      .optional()
      .describe("For a question of the agent: the answer to each, by the question's text."),
  })
  .meta({ id: "AnswerPermissionInput" });

export const answerPermissionOutputSchema = sessionSummarySchema.meta({ id: "AnswerPermissionOutput" });

const colsSchema = z.int().min(1).max(100_000);
export const spawnInputSchema = z
  .strictObject({
    sessionId: sessionIdSchema.optional(),
    agent: agentSchema.optional(),
    dir: dirSchema.optional().describe("Needed without `sessionId`."),
    model: textSchema(200).optional(),
    systemPrompt: textSchema().optional(),
    cols: colsSchema.optional().describe("Clamped to 2 to 1000."),
    rows: colsSchema.optional().describe("Clamped to 1 to 500."),
    worktree: z.boolean().optional(),
    baseBranch: textSchema(250).optional(),
    branch: textSchema(250).optional(),
  })
  .meta({ id: "SpawnInput" });

export const spawnOutputSchema = z
  .object({ sessionId: z.string(), pid: z.int(), status: startedSchema })
  .meta({ id: "SpawnOutput" });

export type SessionStatus = z.infer<typeof sessionStatusSchema>;
export type Activity = z.infer<typeof activitySchema>;
export type PermissionMode = z.infer<typeof permissionModeSchema>;
export type PendingPermission = z.infer<typeof pendingPermissionSchema>;
export type SessionSummary = z.infer<typeof sessionSummarySchema>;
export type OnDraft = z.infer<typeof onDraftSchema>;
export type Started = z.infer<typeof startedSchema>;
export type AskInput = z.infer<typeof askInputSchema>;
export type AskOutput = z.infer<typeof askOutputSchema>;
export type ReadInput = z.infer<typeof readInputSchema>;
export type ReadOutput = z.infer<typeof readOutputSchema>;
export type CloseInput = z.infer<typeof closeInputSchema>;
export type CloseOutput = z.infer<typeof closeOutputSchema>;
export type CloseAllOutput = z.infer<typeof closeAllOutputSchema>;
export type AgentEntry = z.infer<typeof agentEntrySchema>;
export type ListAgentsOutput = z.infer<typeof listAgentsOutputSchema>;
export type InterruptInput = z.infer<typeof interruptInputSchema>;
export type InterruptOutput = z.infer<typeof interruptOutputSchema>;
export type AnswerPermissionInput = z.infer<typeof answerPermissionInputSchema>;
export type AnswerPermissionOutput = z.infer<typeof answerPermissionOutputSchema>;
export type SpawnInput = z.infer<typeof spawnInputSchema>;
export type SpawnOutput = z.infer<typeof spawnOutputSchema>;
