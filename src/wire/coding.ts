import { z } from "zod";
import { attachmentIdSchema, maxPromptAttachments } from "./attachments.ts";
import { scriptRunSchema } from "./folder-scripts.ts";
import { rememberSchema } from "./permission-rules.ts";
import { askKindSchema } from "./prompt-kind.ts";
import { textSchema } from "./text.ts";
import { turnSchema } from "./turn.ts";

export const sessionStatusSchema = z.enum(["initializing", "running", "completed", "failed"]);

/** What the agent is doing; null if no process runs or it is unknown. */
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

/** What the agent can do without asking: nothing significant (`ask`), edit files (`edits`), or everything (`all`). */
export const permissionModeSchema = z.enum(["ask", "edits", "all"]);

/** A permission request or question that the agent is waiting on. */
export const pendingPermissionSchema = z.object({
  permissionId: z.string(),
  kind: z
    .enum(["permission", "question", "plan", "dialog"])
    .describe(
      "Use of a tool, a question to the user, a plan, or a dialog of the agent itself, such as a trust prompt.",
    ),
  tool: z.string().describe("Tool name, or the subject of a dialog."),
  input: z.unknown(),
  askedAt: z.string(),
  answerable: z.boolean().describe("False if it can only be answered in the agent's terminal."),
  choices: z
    .array(z.object({ choiceId: z.string(), label: z.string().describe("Text on the agent's screen. Untrusted.") }))
    .optional()
    .describe("Options of a dialog, in order."),
});

const branchSchema = textSchema(250);

/** A request for a worktree: `true` with `baseBranch` and `branch`, as in the specification, or an object in which both are optional. */
const worktreeInputSchema = z
  .union([
    z.boolean(),
    z.strictObject({
      baseBranch: branchSchema.optional().describe("Defaults to the repository's default branch."),
      branch: branchSchema.optional().describe("The new branch. Defaults to an unused name from the prompt."),
    }),
  ])
  .describe(
    "True creates an isolated Git worktree for `branch` from `baseBranch`. An object also creates one; both fields are optional in it.",
  );

/** The Git worktree created for a session. */
export const worktreeSchema = z.object({
  repository: z.string().describe("Directory of the main project."),
  path: z.string(),
  branch: z.string(),
  baseBranch: z.string(),
  removed: z
    .boolean()
    .describe("Removed when the session was closed. Resuming the session recreates it from its branch."),
  rescue: z
    .object({ ref: z.string(), commit: z.string() })
    .nullable()
    .describe(
      "Uncommitted work saved as a commit when the worktree was removed. `postern rescue restore` restores it.",
    ),
});

/** A session as returned by every tool. */
export const sessionSummarySchema = z
  .object({
    sessionId: z.string(),
    sessionAliases: z.array(z.string()).describe("Other ids of this session, such as a provisional one."),
    agent: z.string(),
    dir: z.string(),
    title: z.string().nullable(),
    status: sessionStatusSchema,
    activity: activitySchema.nullable(),
    owner: z
      .enum(["gateway", "external"])
      .nullable()
      .describe("Where the live process was started. Null if there is none."),
    pid: z.int().nullable(),
    createdAt: z.string(),
    updatedAt: z.string(),
    turnCount: z.int(),
    queuedPrompts: z.int(),
    draft: z
      .boolean()
      .describe("True if the next queued prompt waits because the agent's composer holds text typed in the terminal."),
    model: z.string().nullable(),
    branch: z.string().nullable(),
    worktree: worktreeSchema.nullable(),
    permissions: z.array(pendingPermissionSchema),
    screen: z.string().nullable().describe("Terminal screen while `activity` is `needs_attention`. Untrusted."),
    resetsAt: z.string().nullable(),
    sizeBytes: z.int().describe("Transcript size."),
    exitCode: z.int().nullable().describe("128 plus the signal number after a signal."),
    signal: z.string().nullable(),
    failure: z
      .object({ exitCode: z.int().nullable(), signal: z.string().nullable(), lastScreen: z.string() })
      .nullable(),
    turnFailure: z
      .string()
      .nullable()
      .describe("Why the last turn ended without an answer, as reported by the agent or vendor. Untrusted."),
    warnings: z
      .array(z.string())
      .describe("Problems of the live agent's environment, such as its sandbox, with fixes. Untrusted."),
    continuedBy: z.string().nullable(),
    closedAt: z.string().nullable(),
    pinned: z.boolean(),
    archived: z.boolean().describe("Hidden from lists, unless it needs an answer."),
    labels: z.array(z.string()).describe("In alphabetical order."),
    unread: z.boolean().describe("True if the session changed since this account last viewed it."),
    keepRunning: z.boolean().describe("True if the agent is never ended for being idle."),
    idleEndsAt: z
      .string()
      .nullable()
      .describe(
        "When the idle agent will be ended if it stays unused. Null while it is in use, or if it is kept running.",
      ),
    endedAfterIdleMs: z
      .int()
      .nullable()
      .describe(
        "How long the agent was idle before the gateway ended it. Null if it is running, or ended for another reason.",
      ),
  })
  .meta({ id: "SessionSummary" });

/** Longest wait of a call. */
export const maxWaitMs = 600_000;
const waitMsSchema = z.int().min(0).max(maxWaitMs);
const sessionIdSchema = textSchema(200);
export const agentSchema = z.string().min(1).max(100).describe("Agent name or alias. Defaults to the default agent.");
export const dirSchema = z.string().min(1).max(4096).describe("Absolute path of the directory to work in.");

/** What to do with text already in the agent's composer. */
export const onDraftSchema = z.enum(["clear", "append"]);

export const askInputSchema = z
  .strictObject({
    agent: agentSchema.optional(),
    dir: dirSchema,
    prompt: z.string().min(1).describe("Plain-text prompt for the agent, or a command with `kind`."),
    kind: askKindSchema.optional(),
    sessionId: sessionIdSchema.optional().describe("Session to continue. If omitted, a new one starts."),
    model: textSchema(200).optional(),
    systemPrompt: textSchema().optional().describe("New sessions only."),
    worktree: worktreeInputSchema.optional(),
    baseBranch: branchSchema.optional().describe("Required when `worktree` is true."),
    branch: branchSchema.optional().describe("Required when `worktree` is true."),
    permissionMode: permissionModeSchema.optional(),
    waitMs: waitMsSchema.optional().describe("Maximum wait until the turn ends or the agent needs input."),
    idempotencyKey: textSchema(200).optional(),
    onDraft: onDraftSchema
      .optional()
      .describe(
        "If the agent's composer holds text typed in the terminal: remove it, or send it with the prompt. If omitted, the request fails with `composer_not_empty`.",
      ),
    attachments: z
      .array(attachmentIdSchema)
      .max(maxPromptAttachments)
      .optional()
      .describe("Ids of uploaded files (`POST /api/coding/attachments`) to send with the prompt."),
    allowCommands: z.boolean().optional().describe("Allow prompts that start with `/` or `!` (agent commands)."),
  })
  .meta({ id: "AskInput" });

export const startedSchema = z.enum(["new", "reconnect", "resumed"]);

/** Delivery state of a prompt. */
export const deliveryStateSchema = z
  .enum(["queued", "sent", "received", "delivered", "lost", "unknown"])
  .describe(
    "`queued`: waiting for the agent. `sent`: typed. `received`: confirmed by the agent, not in the transcript yet. `delivered`: in the transcript. `lost`: the agent will not process it. `unknown`: cannot be determined.",
  );

export const askOutputSchema = sessionSummarySchema
  .extend({
    started: startedSchema,
    delivered: z
      .boolean()
      .nullable()
      .describe(
        "True: in the agent's transcript. False: the agent will not process it; safe to send again. Null: unknown or pending.",
      ),
    deliveryState: deliveryStateSchema,
    promptId: z.string().describe("Id of the prompt in the session's queue, while it is queued."),
    ignored: z.array(z.string()).describe("Request fields that had no effect."),
    turns: z.array(turnSchema).optional().describe("With `waitMs`: turns since this prompt."),
  })
  .meta({ id: "AskOutput" });

export const readInputSchema = z
  .strictObject({
    sessionId: sessionIdSchema,
    after: z.int().min(-1).optional().describe("Only turns with a larger index."),
    before: z.int().min(0).optional().describe("Only turns with a smaller index, to page backward."),
    last: z.int().min(1).max(1000).optional().describe("Return only this many newest turns."),
    limit: z.int().min(1).max(1000).optional().describe("Defaults to 100. If there are more, the newest are returned."),
    waitMs: waitMsSchema.optional().describe("Maximum wait for something new."),
    activity: activitySchema
      .nullable()
      .optional()
      .describe(
        "The last activity you received. If the session's activity already differs, the call returns without waiting.",
      ),
    blocks: z.boolean().optional().describe("False omits blocks and keeps text."),
    images: z.boolean().optional().describe("True includes the images of prompts, as base64."),
  })
  .meta({ id: "ReadInput" });

export const readOutputSchema = sessionSummarySchema
  .extend({
    turns: z.array(turnSchema),
    nextAfter: z.int().describe("Pass as `after` to continue. An unfinished last turn is then returned again."),
    skippedLines: z.int().describe("Unreadable transcript lines."),
  })
  .meta({ id: "ReadOutput" });

export const closeInputSchema = z
  .strictObject({ sessionId: sessionIdSchema, discardWorktree: z.boolean().optional() })
  .meta({ id: "CloseInput" });

/** The result for a closed session's worktree; null if it had none. */
export const closedWorktreeSchema = z
  .object({
    path: z.string(),
    removed: z.boolean(),
    reason: z.string().nullable(),
    rescue: z.object({ ref: z.string(), commit: z.string(), files: z.int() }).nullable(),
    ignoredLost: z.object({ count: z.int(), bytes: z.int(), first20: z.array(z.string()) }),
    branchKept: z.string().nullable(),
    teardown: scriptRunSchema
      .pick({ scriptId: true, state: true, exitCode: true })
      .optional()
      .describe("How the folder's teardown script ended. Missing without one. A failure does not keep the worktree."),
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
    binary: z.string().nullable().describe("Absolute path. Null if not found."),
    version: z.string().nullable(),
    login: z.enum(["logged_in", "logged_out", "key_variable", "unknown"]),
  })
  .meta({ id: "AgentEntry" });

export const listAgentsOutputSchema = z
  .object({
    agents: z.array(agentEntrySchema).describe("Configured agents."),
    availableAgents: z.array(agentEntrySchema).describe("Installed but not configured."),
    default: z.string().nullable(),
  })
  .meta({ id: "ListAgentsOutput" });

export const emptyInputSchema = z.strictObject({});

export const interruptInputSchema = z.strictObject({ sessionId: sessionIdSchema }).meta({ id: "InterruptInput" });

export const interruptOutputSchema = sessionSummarySchema
  .extend({ interrupted: z.boolean().describe("False if no turn was running.") })
  .meta({ id: "InterruptOutput" });

export const answerPermissionInputSchema = z
  .strictObject({
    sessionId: sessionIdSchema,
    permissionId: z.string().min(1).max(200),
    decision: z.enum(["allow", "deny"]).optional().describe("Required except for dialogs."),
    choice: textSchema(200).optional().describe("For dialogs: the `choiceId` to select."),
    message: z.string().min(1).max(10_000).optional().describe("Sent to the agent with a denial."),
    answers: z.record(z.string(), z.string()).optional().describe("For questions: answers keyed by question text."),
    remember: rememberSchema
      .optional()
      .describe("Adds standing rules, so that later requests like this one get the same answer."),
  })
  .meta({ id: "AnswerPermissionInput" });

export const answerPermissionOutputSchema = sessionSummarySchema.meta({ id: "AnswerPermissionOutput" });

export const keepInputSchema = z
  .strictObject({
    sessionId: sessionIdSchema,
    keepRunning: z.boolean().describe("False: the agent is ended when it has been idle for `idleTimeout`."),
  })
  .meta({ id: "KeepInput" });

export const keepOutputSchema = sessionSummarySchema.meta({ id: "KeepOutput" });

const colsSchema = z.int().min(1).max(100_000);
export const spawnInputSchema = z
  .strictObject({
    sessionId: sessionIdSchema.optional(),
    agent: agentSchema.optional(),
    dir: dirSchema.optional().describe("Required without `sessionId`."),
    model: textSchema(200).optional(),
    systemPrompt: textSchema().optional(),
    cols: colsSchema.optional().describe("Clamped to 2 to 1000."),
    rows: colsSchema.optional().describe("Clamped to 1 to 500."),
    worktree: worktreeInputSchema.optional(),
    baseBranch: branchSchema.optional().describe("Required when `worktree` is true."),
    branch: branchSchema.optional().describe("Required when `worktree` is true."),
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
export type KeepInput = z.infer<typeof keepInputSchema>;
export type KeepOutput = z.infer<typeof keepOutputSchema>;
export type SpawnInput = z.infer<typeof spawnInputSchema>;
export type SpawnOutput = z.infer<typeof spawnOutputSchema>;
