import type { AgentTemplate, Environment } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { messageOf } from "../core/errors.ts";
import type { Log } from "../core/log.ts";
import type { Caller } from "../wire/caller.ts";
import type { ScriptRun } from "../wire/folder-scripts.ts";
import type { WorktreeRecord, Worktrees } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { FolderScripts } from "./folder-scripts.ts";
import type { SessionLocator } from "./locate.ts";
import type { FolderScript, StartProfile } from "./ports.ts";
import type { ProfileOf } from "./start-defaults.ts";

/** Called when a setup script begins and, with null, when it has ended. */
export type OnSetup = (run: ScriptRun | null) => void;

export interface SetUpDeps {
  readonly scripts: FolderScripts;
  readonly worktrees: Pick<Worktrees, "ofSession">;
  readonly profileOf: ProfileOf;
  readonly environmentOf: (template: AgentTemplate) => Environment;
}

interface SetUpRequest {
  readonly sessionId: string;
  readonly template: AgentTemplate;
  readonly profile: StartProfile;
  readonly onSetup: OnSetup | undefined;
}

/**
 * Runs the folder's setup script in the session's worktree, to its end. Does nothing if there is no script or no worktree. @throws PosternError `setup_failed` | `terminal_host_unavailable`
 */
export async function setUp(deps: SetUpDeps, { sessionId, template, profile, onSetup }: SetUpRequest): Promise<void> {
  const worktree = await deps.worktrees.ofSession(sessionId);
  if (worktree === null || profile.setup === null) return;
  const started = await beginScript(deps, { kind: "setup", script: profile.setup, worktree, template, profile });
  onSetup?.(started.run);
  const { run, lastScreen } = await started.ended;
  onSetup?.(null);
  if (run.state === "succeeded") return;
  const { scriptId, exitCode } = run;
  const how =
    run.state === "timed_out"
      ? `did not end within ${profile.setup.timeoutMs / 1_000} s`
      : exitCode === null
        ? "was ended"
        : `failed (exit code ${exitCode})`;
  throw sessionError(
    "setup_failed",
    `The setup script ${how} in ${worktree.path}, so no agent was started. The worktree is kept. Send a prompt to session ${sessionId} to run it again.`,
    { details: { sessionId, scriptId, exitCode, worktree: worktree.path, lastScreen } },
  );
}

function beginScript(
  { scripts, environmentOf }: SetUpDeps,
  request: {
    readonly kind: ScriptRun["kind"];
    readonly script: FolderScript;
    readonly worktree: WorktreeRecord;
    readonly template: AgentTemplate;
    readonly profile: StartProfile;
  },
) {
  const { kind, script, worktree, template, profile } = request;
  const { sessionId, path, repository, branch } = worktree;
  const env = {
    ...environmentOf(template),
    ...profile.env,
    POSTERN_SESSION_ID: sessionId,
    POSTERN_WORKTREE: path,
    POSTERN_REPOSITORY: repository,
    POSTERN_BRANCH: branch,
  };
  return scripts.begin({ kind, sessionId, dir: path, script, env });
}

/** How a teardown ended, for the response to a close. */
export type Teardown = Pick<ScriptRun, "scriptId" | "state" | "exitCode">;

/** Runs the folder's teardown script before a worktree is removed; null if there is none. The worktree is removed even after a failure. */
export async function tearDown(
  deps: SetUpDeps & { readonly log: Log },
  { sessionId, template }: { readonly sessionId: string; readonly template: AgentTemplate },
): Promise<Teardown | null> {
  const worktree = await deps.worktrees.ofSession(sessionId);
  if (worktree?.state !== "ready") return null;
  try {
    const profile = await deps.profileOf(worktree.path);
    if (profile.teardown === null) return null;
    const script = profile.teardown;
    const started = await beginScript(deps, { kind: "teardown", script, worktree, template, profile });
    const { scriptId, state, exitCode } = (await started.ended).run;
    return { scriptId, state, exitCode };
  } catch (error) {
    deps.log.warn({ sessionId, error: messageOf(error) }, "cannot run a teardown script");
    return null;
  }
}

/** `POST /api/coding/sessions/{sessionId}/setup`: runs the setup script again. */
export function createRerun(
  deps: SetUpDeps & { readonly locator: Pick<SessionLocator, "locate"> },
): (sessionId: string, caller: Caller) => Promise<ScriptRun> {
  return async (given, caller) => {
    const { record, template } = await deps.locator.locate(given, caller);
    const worktree = await deps.worktrees.ofSession(record.sessionId);
    if (worktree?.state !== "ready") {
      throw sessionError(
        "invalid_request",
        `Session ${record.sessionId} has no worktree, so there is nothing to set up.`,
      );
    }
    const profile = await deps.profileOf(worktree.path);
    if (profile.setup === null) {
      throw sessionError("invalid_request", `The folder of session ${record.sessionId} has no setup script.`);
    }
    const { run } = await beginScript(deps, { kind: "setup", script: profile.setup, worktree, template, profile });
    return run;
  };
}

/** The web application waits for two minutes, and other clients often for less than five minutes. */
const maxSetupWaitMs = 90_000;

/** Bounds how long a call waits for a setup script: until its own deadline, at most 90 seconds. The start continues without it. */
export function createSetupWait(
  clock: Clock,
  deadline: number,
  /** Returns the setup script of another call, if this call waits for it. */
  others: () => ScriptRun | null = () => null,
) {
  const over = Promise.withResolvers<never>();
  over.promise.catch(() => undefined); // raced below
  let running: ScriptRun | null = null;
  let isLate = false;

  function check(): void {
    const run = running ?? others();
    if (!isLate || run?.state !== "running") return;
    const { sessionId, scriptId } = run;
    over.reject(
      sessionError(
        "setup_running",
        `The setup script is still running. Session ${sessionId} starts when it has ended, with this prompt.`,
        { details: { sessionId, scriptId } },
      ),
    );
  }

  return {
    onSetup(run: ScriptRun | null): void {
      running = run;
      check();
    },
    /** @throws PosternError `setup_running` */
    async race<T>(work: Promise<T>): Promise<T> {
      work.catch(() => undefined); // after the deadline, its session shows the failure
      const cancel = clock.after(Math.min(Math.max(0, deadline - clock.now()), maxSetupWaitMs), () => {
        isLate = true;
        check();
      });
      try {
        return await Promise.race([work, over.promise]);
      } finally {
        cancel();
      }
    },
  };
}
