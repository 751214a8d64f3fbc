import { PosternClientError } from "../../src/client/index.ts";
import { askOutputSchema, type PermissionMode, spawnOutputSchema } from "../../src/wire/coding.ts";
import { fieldError, messageOf } from "../api/api-error.ts";
import { acting } from "../api/client.ts";
import { useAct } from "../api/query.ts";

export interface NewSession {
  readonly agent: string;
  readonly dir: string;
  readonly model: string;
  readonly permissionMode: PermissionMode;
  readonly worktree: boolean;
  readonly baseBranch: string;
  /** The new branch; if empty, its name is derived from the prompt. */
  readonly branch: string;
  readonly prompt: string;
}

export type NewSessionField = "agent" | "dir" | "model" | "permissionMode" | "baseBranch" | "branch" | "prompt";

/** The field of the form that an error is about. */
const fieldOfCode: Partial<Readonly<Record<string, NewSessionField>>> = {
  dir_not_found: "dir",
  dir_not_allowed: "dir",
  not_a_git_repository: "dir",
  agent_unknown: "agent",
  agent_not_configured: "agent",
  agent_binary_missing: "agent",
  agent_version_unsupported: "agent",
  model_not_supported: "model",
  insufficient_scope: "permissionMode",
  base_branch_not_found: "baseBranch",
  branch_exists: "branch",
  branch_checked_out: "branch",
  worktree_exists: "branch",
  worktree_conflict: "branch",
  prompt_not_text: "prompt",
  command_not_sendable: "prompt",
  too_large: "prompt",
};

const fields: readonly NewSessionField[] = [
  "agent",
  "dir",
  "model",
  "permissionMode",
  "baseBranch",
  "branch",
  "prompt",
];

export interface NewSessionErrors {
  readonly byField: Partial<Readonly<Record<NewSessionField, string>>>;
  readonly general: unknown;
}

export function newSessionErrors(error: unknown): NewSessionErrors {
  if (!(error instanceof PosternClientError)) return { byField: {}, general: error };
  const named = fields.flatMap((field) => {
    const message = fieldError(error, field);
    return message === undefined ? [] : [[field, message] as const];
  });
  if (named.length > 0) return { byField: Object.fromEntries(named), general: null };
  const field = fieldOfCode[error.code];
  return field === undefined
    ? { byField: {}, general: error }
    : { byField: { [field]: messageOf(error) }, general: null };
}

/** Sends the prompt, or opens a terminal without one. @returns the session's id */
export async function startSession(
  form: NewSession,
  {
    idempotencyKey,
    attachments,
    isCommand,
  }: { readonly idempotencyKey: string; readonly attachments: readonly string[]; readonly isCommand: boolean },
): Promise<string> {
  const where = placeOf(form);
  if (form.prompt.trim() === "") return (await acting.spawn(where, { output: spawnOutputSchema })).sessionId;
  const { permissionMode } = form; // always: without it, the folder's profile chooses
  const input = { ...where, permissionMode, prompt: form.prompt, idempotencyKey };
  const files = attachments.length === 0 ? {} : { attachments: [...attachments] };
  const kind = isCommand ? { kind: "command" as const } : {};
  return (await acting.codingAsk({ ...input, ...files, ...kind }, { output: askOutputSchema })).sessionId;
}

/** The request fields for where and how a session starts. The gateway fills in empty ones. */
export function placeOf(form: Omit<NewSession, "permissionMode" | "prompt">) {
  const [model, branch] = [form.model.trim(), form.branch.trim()];
  return {
    dir: form.dir.trim(),
    ...(form.agent === "" ? {} : { agent: form.agent }),
    ...(model === "" ? {} : { model }),
    ...(form.worktree ? { worktree: { baseBranch: form.baseBranch, ...(branch === "" ? {} : { branch }) } } : {}),
  };
}

/** Starts only one session, even if the request is repeated after a lost connection. */
export function useStartSession() {
  return useAct({
    mutationFn: ({ form, ...request }: { readonly form: NewSession } & Parameters<typeof startSession>[1]) =>
      startSession(form, request),
  });
}
