import { z } from "zod";
import { type AgentTemplate, type AttachedFile, handOver } from "../agents/index.ts";
import type { Clock } from "../core/clock.ts";
import { hasCode } from "../core/errors.ts";
import { newUuid } from "../core/ids.ts";
import { promptTitle } from "../transcripts/index.ts";
import type { NewWorktree, WorktreeRecord, Worktrees } from "../worktrees/index.ts";
import { sessionError } from "./errors.ts";
import type { LaunchNames, LaunchOrder } from "./launch.ts";
import type { LiveSession } from "./live-session.ts";
import { AgentEndedUnfollowed, type LiveSessions } from "./live-sessions.ts";
import type { LocatedSession, SessionLocator } from "./locate.ts";
import type { IdempotencyClaim, PromptQueue, QueueEntry } from "./prompt-queue.ts";
import { commandIn, maxArgumentPromptBytes } from "./prompt-text.ts";
import { notEnded, type SessionRecord, type SessionStore } from "./session-store.ts";
import { type OnSetup, type SetUpDeps, setUp } from "./set-up.ts";

/** A prompt with the id under which it is followed. */
export interface NewPrompt {
  readonly promptId: string;
  readonly text: string;
  /** For one of the agent's commands: whether it starts a turn. */
  readonly startsTurn?: boolean;
  /** Its attachments. */
  readonly files: readonly AttachedFile[];
  /** Assigns the attachments to the session, in the transaction that stores the prompt. */
  readonly claimFiles: QueueEntry["claimFiles"];
  readonly idempotency: IdempotencyClaim | null;
  /** Whether it comes from a caller without `coding:drive`. */
  readonly undriven: boolean;
  /** Its caller's key. */
  readonly askedBy: string;
  /**
   * Checks that the agent may receive it in this directory; a worktree has no files until it exists.
   * @throws PosternError `prompt_not_text`
   */
  readonly checkIn: (dir: string) => Promise<void>;
  /**
   * Checks that the agent may receive it together with this draft, which is in its composer.
   * @throws PosternError `prompt_not_text`
   */
  readonly checkBehind: (draft: string) => Promise<void>;
}

/** The options of an agent's launch that the caller decides. */
export interface RunOptions extends Pick<LaunchOrder, "dir" | "trustDir" | "model" | "permissionMode" | "size"> {
  readonly onSetup?: OnSetup;
}

/** A new session: its first prompt, and the worktree to create for it. */
export interface NewSession {
  readonly prompt: NewPrompt | null;
  /** Null to work in the directory itself. */
  readonly worktree: WantedWorktree | null;
}

/** A worktree to create for a new session. */
export interface WantedWorktree extends Pick<NewWorktree, "baseBranch" | "baseCommit" | "branch" | "branchPrefix"> {
  /** The folder rule for the caller. */
  readonly mayUse: (dir: string) => Promise<boolean>;
}

/** Starts agents and resumes their sessions. There is no other way to create a process. */
export interface Starter {
  /**
   * @throws PosternError `agent_binary_missing` | `model_not_supported` | `too_many_sessions` | `agent_start_failed`, and the errors of
   *   creating a worktree
   */
  start(
    agent: Pick<LaunchOrder, "template" | "binary">,
    options: RunOptions & Pick<LaunchOrder, "systemPrompt">,
    session: NewSession,
  ): Promise<LiveSession>;
  /**
   * Resumes a session whose process is gone, with the oldest waiting prompt first. Never starts a fresh conversation instead.
   * @throws PosternError `session_not_found` (no transcript) | `session_busy` (runs elsewhere) and the errors of `start`
   */
  resume(session: LocatedSession, options: RunOptions, prompt: NewPrompt | null): Promise<LiveSession>;
}

/** The terminal's size until a viewer sets another: wide enough that agents do not wrap their lines. */
export const defaultSize = { cols: 120, rows: 40 } as const;
export interface StarterDeps extends SetUpDeps {
  readonly store: SessionStore;
  readonly queue: PromptQueue;
  readonly live: LiveSessions;
  readonly locator: SessionLocator;
  readonly clock: Clock;
  /** @throws PosternError `agent_not_configured` | `agent_binary_missing` */
  readonly binaryOf: (template: AgentTemplate) => Promise<string>;
  /** Whether prompts and system prompts must stay off command lines, which other users of the machine can read. */
  readonly privatePrompts: boolean;
  readonly worktrees: Worktrees;
}

/** A {@link Starter} over the live sessions of this gateway. */
export function createStarter(deps: StarterDeps): Starter {
  const { store, queue, live, worktrees, clock } = deps;

  /** The command-line arguments for this prompt; null if the prompt is typed later. */
  function inArguments(
    template: AgentTemplate,
    { text, files }: { readonly text: string; readonly files: readonly AttachedFile[] },
  ): { readonly prompt: string; readonly files: readonly string[] } | null {
    const handed = handOver(template, text, files);
    return fitsArgv(template, handed.text) ? { prompt: handed.text, files: handed.beside } : null;
  }

  function fitsArgv(template: AgentTemplate, text: string): boolean {
    const isCommand = commandIn(text, template) !== null; // an agent does not run all of its commands from the command line
    return (
      template.accepts.prompt && !deps.privatePrompts && !isCommand && Buffer.byteLength(text) <= maxArgumentPromptBytes
    );
  }

  /** The directory itself, or the worktree that is created for the session. */
  async function dirFor(sessionId: string, dir: string, { worktree, prompt }: NewSession): Promise<string> {
    if (worktree === null) {
      await worktrees.requireNotAnothers(dir, sessionId);
      return dir;
    }
    const { mayUse, ...named } = worktree;
    const made = await worktrees.make({ ...named, sessionId, dir, ...(prompt && { prompt: prompt.text }) }, mayUse);
    try {
      await prompt?.checkIn(made);
    } catch (error) {
      await worktrees.takeBack(sessionId);
      throw error;
    }
    return made;
  }

  /** Stores a session without an agent, so that its worktree can be used or closed. A worktree without a session would be removed. */
  async function keepUnstarted(order: LaunchOrder, { prompt }: NewSession, error: unknown): Promise<void> {
    if (!hasCode(error, "setup_failed")) return worktrees.takeBack(order.sessionId);
    const { exitCode, lastScreen } = setupFailureSchema.parse(error.details);
    const names = { launchId: "", terminalId: "" };
    const record = newRecord(order, names, { title: promptTitle(prompt?.text ?? ""), now: clock.now() });
    return store.insert({ ...record, launchId: null, terminalId: null, exitCode, lastScreen });
  }

  /** Whether no process of the session ever ran, because its setup failed. */
  async function neverRan(session: LocatedSession, worktree: WorktreeRecord | null): Promise<boolean> {
    const { record, stored } = session;
    if (!stored || worktree === null || record.launchId !== null) return false;
    return (await deps.locator.transcriptOf(session)) === null;
  }

  return {
    async start(agent, { onSetup, ...options }, session) {
      requireAccepted(agent.template, options, deps);
      const { prompt } = session;
      const sessionId = newUuid();
      const inArgv = prompt === null ? null : inArguments(agent.template, prompt);
      const dir = await dirFor(sessionId, options.dir, session);
      const profile = await deps.profileOf(dir);
      const order: LaunchOrder = {
        kind: "start",
        sessionId,
        ...agent,
        ...options,
        dir,
        env: { ...deps.environmentOf(agent.template), ...profile.env },
        prompt: null,
        ...inArgv,
      };
      if (session.worktree !== null) {
        const { template } = agent;
        await setUp(deps, { sessionId, template, profile, onSetup }).catch(async (error: unknown) => {
          await keepUnstarted(order, session, error);
          throw error;
        });
      }
      const launching = live.launch(order, async (names) => {
        const record = newRecord(order, names, { title: promptTitle(prompt?.text ?? ""), now: clock.now() });
        const entry =
          prompt &&
          ({ ...entryOf(sessionId, prompt), state: inArgv === null ? "queued" : "sent", started: "new" } as const);
        await store.insert(record, entry === null ? undefined : (transaction) => queue.add(entry, transaction));
        return record;
      });
      return launching.catch(async (error: unknown) => {
        if (prompt !== null) await queue.mark(prompt.promptId, fateAfter(error));
        const runs = await live.findAlive(sessionId);
        if (session.worktree !== null && runs === null) await worktrees.takeBack(sessionId);
        throw error;
      });
    },

    async resume(session, { onSetup, ...options }, prompt) {
      const { record, template } = session;
      const { sessionId } = record;
      requireAccepted(template, { ...options, systemPrompt: null }, deps);
      const before = await worktrees.ofSession(sessionId);
      const isFirst = await neverRan(session, before);
      if (!isFirst) await requireResumable(deps, session);
      const binary = await deps.binaryOf(template);
      await worktrees.requireNotAnothers(record.dir, sessionId);
      await worktrees.revive(sessionId);
      await prompt?.checkIn(record.dir);
      const profile = await deps.profileOf(record.dir);
      const env = { ...session.env, ...profile.env };
      const isRemade = (await worktrees.ofSession(sessionId))?.inode !== before?.inode;
      const last = deps.scripts.latest(sessionId, "setup")?.state;
      if (isFirst || isRemade || last === "failed" || last === "timed_out") {
        await setUp(deps, { sessionId, template, profile, onSetup });
      }
      if (!session.stored) await store.insert(record);
      if (prompt !== null) await queue.add({ ...entryOf(sessionId, prompt), state: "queued", started: "resumed" });
      const first = await firstWaiting(queue, sessionId);
      const inArgv = first === null ? null : inArguments(template, { text: first.prompt, files: first.files ?? [] });
      /** The prompt on the command line. */
      const sent = inArgv === null ? null : first;
      const order: LaunchOrder = {
        ...{ kind: isFirst ? "start" : "resume", sessionId, template, binary, env, ...options },
        model: options.model ?? (isFirst ? record.model : null),
        prompt: null,
        ...inArgv,
        systemPrompt: null,
      };
      const launching = live.launch(order, async (names) => {
        if (sent !== null) await queue.mark(sent.promptId, "sent");
        const { transcriptPath } = record;
        const { permissionMode } = options;
        const patch = { ...names, ...notEnded, transcriptPath, permissionMode, updatedAt: clock.now() };
        await store.update(sessionId, patch);
        return { ...record, ...patch };
      });
      return launching.catch(async (error: unknown) => {
        // Nothing ran: the caller receives the error, and the other prompts keep waiting.
        if (sent !== null && fateAfter(error) === "unknown") await queue.mark(sent.promptId, "unknown");
        else if (sent !== null && sent.promptId !== prompt?.promptId) await queue.putBack(sent.promptId);
        if (prompt !== null) await queue.mark(prompt.promptId, "lost");
        const { closedAt, exitCode, signal, lastScreen, endedAfterIdleMs } = record;
        await store.update(sessionId, { closedAt, exitCode, signal, lastScreen, endedAfterIdleMs });
        throw error;
      });
    },
  };
}

const setupFailureSchema = z.object({ exitCode: z.int().nullable(), lastScreen: z.string() });

/** A prompt as its session's queue keeps it. */
export function entryOf(
  sessionId: string,
  { promptId, text, idempotency, claimFiles, undriven, askedBy, startsTurn }: NewPrompt,
) {
  return { promptId, sessionId, prompt: text, idempotency, claimFiles, undriven, askedBy, startsTurn };
}

/** @throws PosternError `session_not_found` | `session_busy` */
async function requireResumable({ locator, queue }: StarterDeps, session: LocatedSession): Promise<void> {
  const { sessionId } = session.record;
  const transcript = await locator.transcriptOf(session);
  if (transcript === null || (await session.template.canResume?.(transcript.path)) === false) {
    await queue.loseAll(sessionId); // no later resume can send what waits
    throw sessionError(
      "session_not_found",
      `Session ${sessionId} has no running process and no conversation to resume. Start a new session.`,
    );
  }
  const holder = await locator.holderOf(session);
  if (holder === null) return;
  throw sessionError(
    "session_busy",
    `Session ${sessionId} is in use by process ${holder.pid}. End that process first, or continue there.`,
  );
}

function requireAccepted(
  template: AgentTemplate,
  options: { readonly model: string | null; readonly systemPrompt: string | null },
  { privatePrompts }: Pick<StarterDeps, "privatePrompts">,
): void {
  if (options.model !== null && !template.accepts.model) {
    throw sessionError("model_not_supported", `${template.name} does not accept a model. Omit "model".`);
  }
  if (options.systemPrompt !== null && !template.accepts.systemPrompt) {
    throw sessionError("model_not_supported", `${template.name} does not accept a system prompt. Omit "systemPrompt".`);
  }
  if (options.systemPrompt !== null && privatePrompts && template.accepts.systemPrompt === "argument") {
    throw sessionError(
      "invalid_request",
      `${template.name} accepts a system prompt only on its command line, which privatePrompts forbids. Omit "systemPrompt".`,
    );
  }
}

/** The outcome for the prompt of a launch that failed with this error. */
function fateAfter(error: unknown): "lost" | "unknown" {
  return error instanceof AgentEndedUnfollowed ? "unknown" : "lost";
}

/** The oldest queued prompt. A prompt that was sent to a process whose end was not seen becomes `unknown`. */
async function firstWaiting(queue: PromptQueue, sessionId: string) {
  const open = await queue.open(sessionId);
  for (const prompt of open) if (prompt.state === "sent") await queue.mark(prompt.promptId, "unknown");
  return open.find((prompt) => prompt.state === "queued") ?? null;
}

function newRecord(
  { sessionId, template, dir, model, permissionMode }: LaunchOrder,
  { launchId, terminalId }: LaunchNames,
  { title, now }: { readonly title: string | null; readonly now: number },
): SessionRecord {
  return {
    ...{ sessionId, aliases: [], agent: template.name, dir, model, permissionMode, launchId, terminalId },
    title,
    transcriptPath: null,
    createdAt: now,
    updatedAt: now,
    ...notEnded,
    continuedBy: null,
    keepRunning: false,
  };
}
