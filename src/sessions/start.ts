import type { AgentTemplate, Environment } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { newUuid } from "../core/ids.ts";
import type { AllowedDir } from "../wire/caller.ts";
import type { PermissionMode } from "../wire/coding.ts";
import type { NewWorktree, Worktrees } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { LiveSession } from "./live-session.ts";
import { AgentEndedUnfollowed, type LaunchNames, type LiveSessions } from "./live-sessions.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import type { IdempotencyClaim, PromptQueue } from "./prompt-queue.ts";
import { maxArgumentPromptBytes } from "./prompt-text.ts";
import type { SessionRecord, SessionStore } from "./session-store.ts";

/** A prompt with the id under which it is followed. */
export interface NewPrompt {
  readonly promptId: string;
  readonly text: string;
  readonly idempotency: IdempotencyClaim | null;
  /**
   * Whether the agent can be given it in this directory: a worktree has files only once it stands.
   * @throws PosternError `prompt_not_text`
   */
  readonly checkIn: (dir: string) => Promise<void>;
  /**
   * Whether the agent can be given it together with this draft, which is in its composer.
   * @throws PosternError `prompt_not_text`
   */
  readonly checkBehind: (draft: string) => Promise<void>;
}

/** How an agent is to run. */
export interface RunOptions {
  readonly place: AllowedDir;
  readonly model: string | null;
  readonly permissionMode: PermissionMode;
  readonly size: { readonly cols: number; readonly rows: number };
}

/** How a new session is to run. */
export interface NewRunOptions extends RunOptions {
  readonly systemPrompt: string | null;
  /** Null to work in `place` itself. */
  readonly worktree: WantedWorktree | null;
}

/** A worktree to be made for a new session. */
export interface WantedWorktree extends Pick<NewWorktree, "baseBranch" | "branch"> {
  /** The folder rule for the caller. */
  readonly mayUse: (dir: string) => Promise<boolean>;
}

/** Starts agents and resumes their sessions: the only two ways to a new process. */
export interface Starter {
  /**
   * @throws PosternError `agent_binary_missing` | `model_not_supported` | `too_many_sessions` | `agent_start_failed`, and what the
   *   making of a worktree throws
   */
  start(
    agent: { readonly template: AgentTemplate; readonly binary: string },
    options: NewRunOptions,
    prompt: NewPrompt | null,
  ): Promise<LiveSession>;
  /**
   * Goes on with a session whose process is gone, with the oldest waiting prompt first. Never a fresh start in its place.
   * @throws PosternError `session_not_found` (no transcript) | `session_busy` (runs elsewhere) and those of `start`
   */
  resume(session: LocatedSession, options: RunOptions, prompt: NewPrompt | null): Promise<LiveSession>;
}

/** The usual terminal size until a viewer says its own: wide enough that agents do not fold their lines. */
export const defaultSize = { cols: 120, rows: 40 } as const;

/** What {@link createStarter} needs. */
export interface StarterDeps {
  readonly store: SessionStore;
  readonly queue: PromptQueue;
  readonly live: LiveSessions;
  readonly locator: SessionLocator;
  readonly clock: Clock;
  readonly environmentOf: (template: AgentTemplate) => Environment;
  /** @throws PosternError `agent_not_configured` | `agent_binary_missing` */
  readonly binaryOf: (template: AgentTemplate) => Promise<string>;
  /** Whether no prompt and no system prompt may be on a command line, where other users of the machine can read it. */
  readonly privatePrompts: boolean;
  readonly worktrees: Worktrees;
}

/** A {@link Starter} over the live sessions of this gateway. */
export function createStarter(deps: StarterDeps): Starter {
  function fitsArgv(template: AgentTemplate, text: string): boolean {
    return template.accepts.prompt && !deps.privatePrompts && Buffer.byteLength(text) <= maxArgumentPromptBytes;
  }

  /** In the directory itself, or in a worktree that is made for the session. */
  async function placed(sessionId: string, options: NewRunOptions, prompt: NewPrompt | null): Promise<NewRunOptions> {
    const { worktree, place } = options;
    if (worktree === null) {
      await deps.worktrees.requireNotAnothers(place.dir, sessionId);
      return options;
    }
    const { mayUse, ...named } = worktree;
    const dir = await deps.worktrees.make({ ...named, sessionId, dir: place.dir }, mayUse);
    try {
      await prompt?.checkIn(dir);
    } catch (error) {
      await deps.worktrees.takeBack(sessionId);
      throw error;
    }
    return { ...options, place: { ...place, dir } };
  }

  return {
    async start(agent, wanted, prompt) {
      requireAccepted(agent.template, wanted, deps);
      const sessionId = newUuid();
      const options = await placed(sessionId, wanted, prompt);
      const now = deps.clock.now();
      const inArgv = prompt !== null && fitsArgv(agent.template, prompt.text);
      const launching = deps.live.launch(
        {
          kind: "start",
          sessionId,
          ...agent,
          ...launchOptions(options),
          env: deps.environmentOf(agent.template),
          prompt: inArgv ? prompt.text : null,
          systemPrompt: options.systemPrompt,
        },
        async (names) => {
          const record = newRecord({ sessionId, agent: agent.template.name, options, prompt, now }, names);
          if (prompt === null) await deps.store.insert(record);
          else {
            const entry = { ...entryOf(sessionId, prompt), state: inArgv ? "sent" : "queued", started: "new" } as const;
            await deps.store.insert(record, (transaction) => deps.queue.add(entry, transaction));
          }
          return record;
        },
      );
      return launching.catch(async (error: unknown) => {
        if (prompt !== null) await deps.queue.mark(prompt.promptId, fateAfter(error));
        const runs = await deps.live.findAlive(sessionId);
        if (wanted.worktree !== null && runs === null) await deps.worktrees.takeBack(sessionId);
        throw error;
      });
    },

    async resume(session, options, prompt) {
      const { record, template, env } = session;
      requireAccepted(template, { ...options, systemPrompt: null }, deps);
      const transcript = await deps.locator.transcriptOf(session);
      if (transcript === null || (await template.canResume?.(transcript.path)) === false) {
        await deps.queue.loseAll(record.sessionId); // no later resume can send what waits
        throw sessionError(
          "session_not_found",
          `Session ${record.sessionId} has no running process and no conversation to resume. Start a new session.`,
        );
      }
      const holder = await deps.locator.holderOf(session);
      if (holder !== null) {
        throw sessionError(
          "session_busy",
          `Session ${record.sessionId} is held by process ${holder.pid}. End that one first, or go on there.`,
        );
      }
      const binary = await deps.binaryOf(template);
      await deps.worktrees.requireNotAnothers(record.dir, record.sessionId);
      await deps.worktrees.revive(record.sessionId);
      await prompt?.checkIn(record.dir);
      if (!session.stored) await deps.store.insert(record);
      if (prompt !== null) {
        await deps.queue.add({ ...entryOf(record.sessionId, prompt), state: "queued", started: "resumed" });
      }
      const first = await firstWaiting(deps.queue, record.sessionId);
      const inArgv = first !== null && fitsArgv(template, first.prompt);
      const launching = deps.live.launch(
        {
          kind: "resume",
          sessionId: record.sessionId,
          template,
          binary,
          ...launchOptions(options),
          env,
          prompt: inArgv ? first.prompt : null,
          systemPrompt: null,
        },
        async (names) => {
          if (inArgv) await deps.queue.mark(first.promptId, "sent");
          const patch = {
            ...names,
            transcriptPath: record.transcriptPath,
            permissionMode: options.permissionMode,
            updatedAt: deps.clock.now(),
            closedAt: null,
            exitCode: null,
            signal: null,
            lastScreen: null,
          };
          await deps.store.update(record.sessionId, patch);
          return { ...record, ...patch };
        },
      );
      return launching.catch(async (error: unknown) => {
        // Nothing ran: the caller is told, and what others wait for waits on.
        if (inArgv && fateAfter(error) === "unknown") await deps.queue.mark(first.promptId, "unknown");
        else if (inArgv && first.promptId !== prompt?.promptId) await deps.queue.putBack(first.promptId);
        if (prompt !== null) await deps.queue.mark(prompt.promptId, "lost");
        const { closedAt, exitCode, signal, lastScreen } = record;
        await deps.store.update(record.sessionId, { closedAt, exitCode, signal, lastScreen });
        throw error;
      });
    },
  };
}

function entryOf(sessionId: string, { promptId, text, idempotency }: NewPrompt) {
  return { promptId, sessionId, prompt: text, idempotency };
}

function launchOptions({ place, model, permissionMode, size }: RunOptions) {
  return { dir: place.dir, trustDir: place.trusted, model, permissionMode, size };
}

function requireAccepted(
  template: AgentTemplate,
  options: { readonly model: string | null; readonly systemPrompt: string | null },
  { privatePrompts }: Pick<StarterDeps, "privatePrompts">,
): void {
  if (options.model !== null && !template.accepts.model) {
    throw sessionError("model_not_supported", `${template.name} takes no model at its start. Leave "model" out.`);
  }
  if (options.systemPrompt !== null && !template.accepts.systemPrompt) {
    throw sessionError(
      "model_not_supported",
      `${template.name} takes no system prompt at its start. Leave "systemPrompt" out.`,
    );
  }
  if (options.systemPrompt !== null && privatePrompts && template.accepts.systemPrompt === "argument") {
    throw sessionError(
      "invalid_request",
      `${template.name} takes a system prompt on its command line only, which privatePrompts rules out. Leave "systemPrompt" out.`,
    );
  }
}

/** What becomes of the prompt of a launch that failed with this error. */
function fateAfter(error: unknown): "lost" | "unknown" {
  return error instanceof AgentEndedUnfollowed ? "unknown" : "lost";
}

/** The oldest prompt that waits; of one that was sent to a process that nothing followed to its end, nothing is known. */
async function firstWaiting(queue: PromptQueue, sessionId: string) {
  const open = await queue.open(sessionId);
  for (const prompt of open) if (prompt.state === "sent") await queue.mark(prompt.promptId, "unknown");
  return open.find((prompt) => prompt.state === "queued") ?? null;
}

// A title until the agent gives one.
const titleLength = 200;

function newRecord(
  made: {
    readonly sessionId: string;
    readonly agent: string;
    readonly options: RunOptions;
    readonly prompt: NewPrompt | null;
    readonly now: number;
  },
  names: LaunchNames,
): SessionRecord {
  return {
    sessionId: made.sessionId,
    aliases: [],
    agent: made.agent,
    dir: made.options.place.dir,
    title: made.prompt?.text.slice(0, titleLength).toWellFormed() ?? null,
    model: made.options.model,
    permissionMode: made.options.permissionMode,
    transcriptPath: null,
    launchId: names.launchId,
    terminalId: names.terminalId,
    createdAt: made.now,
    updatedAt: made.now,
    closedAt: null,
    exitCode: null,
    signal: null,
    lastScreen: null,
    continuedBy: null,
  };
}
