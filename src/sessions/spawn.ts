import { clampSize } from "../core/terminal-size.ts";
import type { AllowedDir, Caller } from "../wire/caller.ts";
import type { SpawnInput, SpawnOutput, Started } from "../wire/coding.ts";
import type { AskDeps } from "./ask.ts";
import { requireSameWorktree, wantedWorktree } from "./ask-rules.ts";
import { sessionError } from "./errors.ts";
import type { LiveSession } from "./live-session.ts";
import type { LocatedSession } from "./locate.ts";
import { createSetupWait, type OnSetup } from "./set-up.ts";
import { defaultSize, type RunOptions } from "./start.ts";
import { agentAndModel } from "./start-defaults.ts";
import { untilNamed } from "./wait.ts";

/**
 * `POST /api/coding/spawn`: allocates or resumes a terminal without sending a prompt.
 * @see the specification, "Webapp terminal routes"
 */
export function createSpawn(
  deps: AskDeps,
): (input: SpawnInput, caller: Caller, signal: AbortSignal) => Promise<SpawnOutput> {
  return async (input, caller, signal) => {
    wantedWorktree(input);
    const { onSetup, race } = createSetupWait(deps.clock, Number.POSITIVE_INFINITY);
    const { sessionId: known } = input;
    const { live, status } = await race(
      known === undefined
        ? spawnNew(deps, { input, onSetup }, caller)
        : spawnExisting(deps, { input: { ...input, sessionId: known }, onSetup }, caller),
    );
    await untilNamed(live, signal);
    if (live.exit !== null) {
      const { sessionId, exitCode, lastScreen } = live.record;
      throw sessionError(
        "agent_start_failed",
        `${live.template.name} ended during startup (exit code ${exitCode ?? "unknown"}).`,
        {
          details: { sessionId, exitCode, signal: live.record.signal, lastScreen: lastScreen ?? "" },
        },
      );
    }
    return { sessionId: live.record.sessionId, pid: live.pid, status };
  };
}

function runOptions({ dir, trusted }: AllowedDir, { model, cols, rows }: SpawnInput): RunOptions {
  const size = clampSize({ cols: cols ?? defaultSize.cols, rows: rows ?? defaultSize.rows });
  return { dir, trustDir: trusted, model: model ?? null, permissionMode: "ask", size };
}

interface Wanted<T extends SpawnInput> {
  readonly input: T;
  readonly onSetup: OnSetup;
}

async function spawnNew(
  deps: AskDeps,
  { input, onSetup }: Wanted<SpawnInput>,
  caller: Caller,
): Promise<{ readonly live: LiveSession; readonly status: Started }> {
  if (input.dir === undefined) {
    throw sessionError("invalid_request", `Set "dir" to start a session, or "sessionId" to resume one.`);
  }
  const rule = { scope: "coding", caller } as const;
  const place = await deps.resolveAllowedDir(input.dir, rule);
  const profile = await deps.profileOf(place.dir);
  const { agent, model } = await agentAndModel(input, profile, deps.resolveAgent);
  const wanted = wantedWorktree(input);
  const options = { ...runOptions(place, input), onSetup, model, systemPrompt: input.systemPrompt ?? null };
  const { branchPrefix } = profile;
  const worktree = wanted && { ...wanted, branchPrefix, mayUse: (dir: string) => deps.isVisibleDir(dir, rule) };
  return { live: await deps.starter.start(agent, options, { prompt: null, worktree }), status: "new" };
}

/** Options that an existing session does not support are refused, not ignored. */
function requireSpawnable(
  { sessionId, agent, model, systemPrompt }: SpawnInput,
  { template, live }: LocatedSession,
): void {
  if (agent !== undefined && agent !== template.name && !template.aliases.includes(agent)) {
    throw sessionError("session_mismatch", `Session ${sessionId} belongs to ${template.name}, not to ${agent}.`);
  }
  if (model !== undefined && live !== null) {
    throw sessionError("model_not_supported", `Session ${sessionId} is running, so its model cannot be changed.`);
  }
  if (systemPrompt !== undefined) {
    throw sessionError("model_not_supported", `"systemPrompt" is for new sessions. Omit it.`);
  }
}

async function spawnExisting(
  deps: AskDeps,
  { input, onSetup }: Wanted<SpawnInput & { readonly sessionId: string }>,
  caller: Caller,
): Promise<{ readonly live: LiveSession; readonly status: Started }> {
  const { sessionId } = input;
  return deps.locator.withSession(sessionId, caller, async (session) => {
    const place = await deps.resolveAllowedDir(input.dir ?? session.record.dir, { scope: "coding", caller });
    if (place.dir !== session.record.dir) {
      throw sessionError(
        "session_mismatch",
        `Session ${sessionId} works in ${session.record.dir}, not in ${place.dir}.`,
      );
    }
    requireSpawnable(input, session);
    requireSameWorktree(sessionId, wantedWorktree(input), await deps.worktrees.ofSession(session.record.sessionId));
    if (session.live !== null) return { live: session.live, status: "reconnect" };
    const options = { ...runOptions(place, input), onSetup };
    return { live: await deps.starter.resume(session, options, null), status: "resumed" };
  });
}
