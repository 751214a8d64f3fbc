import { z } from "zod";
import { textSchema } from "./text.ts";

/** Kinds of tool calls that a standing rule can answer, the same for all agents. */
export const ruleToolSchema = z
  .enum(["command", "edit", "read"])
  .describe("`command`: shell commands. `edit`: creates or changes a file. `read`: reads a file.");

export const ruleEffectSchema = z.enum(["allow", "deny"]);

/** Maximum length of a pattern. */
export const maxPatternLength = 1_000;
const patternSchema = textSchema(maxPatternLength).describe(
  "For commands: the first words of each command that the rule covers, such as `git status`. For files: a path below the folder, with " +
    "`*` for any name and `**` for any folders.",
);
const pathSchema = z.string().min(1).max(4096);
const timeSchema = z.iso.datetime({ offset: true });

/** The account and credential that a rule was created with. */
const ruleCreatorSchema = z.object({
  accountId: z.string(),
  name: z.string().describe("The account's name."),
  kind: z.enum(["socket", "token", "browser", "app", "jwt", "open"]),
  credential: z.string().nullable().describe("Id of the token or app. Null for a browser and the command line."),
});

/** A standing rule: an answer that applies to more than one permission request. */
export const permissionRuleSchema = z
  .object({
    ruleId: z.string(),
    effect: ruleEffectSchema,
    agent: z.string().nullable().describe("Null: every agent."),
    folder: z
      .string()
      .nullable()
      .describe("Sessions in this folder, or in its worktrees. Null for a rule of one session."),
    sessionId: z.string().nullable(),
    dir: z.string().describe("The folder, or the directory of the session. Path patterns are relative to it."),
    tool: ruleToolSchema,
    pattern: z.string(),
    words: z.string().describe("The rule as a sentence."),
    undriven: z
      .boolean()
      .describe(
        "Whether it also answers in sessions that received a prompt from a caller without the scope `coding:drive`.",
      ),
    expiresAt: z.string().nullable(),
    createdAt: z.string(),
    createdBy: ruleCreatorSchema,
    active: z
      .boolean()
      .describe(
        "False if its creator no longer holds `coding:drive`, or its token or app was revoked. The rule then has no effect.",
      ),
    uses: z.int().describe("Number of answers that agents accepted."),
    lastUsedAt: z.string().nullable(),
  })
  .meta({ id: "PermissionRule" });

/** `POST /api/permission-rules` */
export const addPermissionRuleInputSchema = z
  .strictObject({
    effect: ruleEffectSchema,
    agent: z.string().min(1).max(100).optional().describe("Defaults to every agent."),
    folder: pathSchema.optional().describe("Absolute path. Either this or `sessionId` is required."),
    sessionId: textSchema(200).optional(),
    tool: ruleToolSchema,
    pattern: patternSchema,
    undriven: z
      .boolean()
      .optional()
      .describe(
        "True: also answers in sessions that received a prompt from a caller without the scope `coding:drive`.",
      ),
    expiresAt: timeSchema.optional().describe("Defaults to never."),
    confirm: textSchema(maxPatternLength)
      .optional()
      .describe("The same pattern again, if it was refused with `rule_too_broad`."),
  })
  .meta({ id: "AddPermissionRuleInput" });

/** Sent with the answer to a permission request: applies the answer to later requests like it. */
export const rememberSchema = z
  .strictObject({
    for: z.enum(["session", "folder"]).describe("For this session only, or for all sessions in its folder."),
    until: timeSchema.optional().describe("Defaults to the end of the session, or never for a folder."),
    patterns: z
      .array(patternSchema)
      .min(1)
      .max(10)
      .optional()
      .describe("One rule is added for each. Defaults to the proposal of `POST /api/permission-rules/preview`."),
    undriven: z.boolean().optional().describe("As in `POST /api/permission-rules`."),
    confirm: z
      .array(textSchema(maxPatternLength))
      .max(10)
      .optional()
      .describe("Broad patterns, repeated as a confirmation."),
  })
  .meta({ id: "RememberPermission" });

/** `POST /api/permission-rules/preview` */
export const previewPermissionRulesInputSchema = z
  .strictObject({
    sessionId: textSchema(200),
    permissionId: z.string().min(1).max(200),
    effect: ruleEffectSchema.optional().describe("Defaults to `allow`."),
    remember: rememberSchema,
  })
  .meta({ id: "PreviewPermissionRulesInput" });

/** The rules that an answer would add. Nothing is stored. */
export const permissionRulesPreviewSchema = z
  .object({
    rules: z.array(
      z.object({
        tool: ruleToolSchema,
        pattern: z.string(),
        words: z.string(),
        tooBroad: z
          .string()
          .nullable()
          .describe("Why the pattern must be repeated in `confirm`. Null if that is not necessary."),
      }),
    ),
    undriven: z
      .boolean()
      .describe("Whether the session received a prompt from a caller without the scope `coding:drive`."),
    covers: z.boolean().describe("Whether these rules would answer this request."),
    refusal: z
      .string()
      .nullable()
      .describe("Why no rule can cover this request; `rules` is then empty. Null if one can."),
  })
  .meta({ id: "PermissionRulesPreview" });

export const permissionRulesSchema = z.object({ rules: z.array(permissionRuleSchema) });

export type RuleTool = z.infer<typeof ruleToolSchema>;
export type RuleEffect = z.infer<typeof ruleEffectSchema>;
export type PermissionRule = z.infer<typeof permissionRuleSchema>;
export type AddPermissionRuleInput = z.infer<typeof addPermissionRuleInputSchema>;
export type RememberPermission = z.infer<typeof rememberSchema>;
export type PreviewPermissionRulesInput = z.infer<typeof previewPermissionRulesInputSchema>;
export type PermissionRulesPreview = z.infer<typeof permissionRulesPreviewSchema>;

/** A permission request, as rules see it. */
export interface RuledRequest {
  readonly agent: string;
  /** Every id that the session ever had, the current one first. */
  readonly sessionIds: readonly string[];
  /** Where the call happens: its real path and, if it is in one of our worktrees, the path of the same folder in the repository. */
  readonly dir: string;
  readonly counted: string;
  readonly action:
    | { readonly tool: "command"; readonly line: string }
    /** Resolved; a path in a worktree is replaced by the path of the same file in the repository. */
    | { readonly tool: "edit" | "read"; readonly paths: readonly string[] };
}

/** The rules' answer to a request, and the matching rules. */
export interface RuleVerdict {
  readonly effect: RuleEffect;
  readonly ruleIds: readonly string[];
  /** The message to the agent, if the answer is a denial. */
  readonly message: string | null;
}

/** What a tool call would do, as an agent's template reads it. A template returns null for a call with a field it does not know. */
export type ToolAction =
  /** A line for bash, zsh or another POSIX shell. */
  | { readonly tool: "command"; readonly line: string }
  /** Absolute paths, or relative to where the call happens; not resolved. */
  | { readonly tool: "edit" | "read"; readonly paths: readonly string[] };
